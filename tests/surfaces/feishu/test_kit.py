"""The surface kit for Feishu, with the fake platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.model.messages import Conversation
from clew.model.surface import Surface
from clew.support.clock import Clock
from clew.testing import surface_kit
from clew.testing.surface_kit import Check
from clew.testing.surface_stage import Shown
from tests.surfaces.feishu.apps import ALONE, ANN, BOB, App, labels, words


class FeishuStage:
    """Ann's private chat with the bot."""

    person = ANN
    target = ALONE

    def __init__(self, app: App) -> None:
        self._app = app
        self._events: dict[str, str] = {}

    def surface(self, clock: Clock, files: Path) -> Surface:
        return self._app.surface(files, clock)

    async def wait_listening(self) -> None:
        return

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
        beside: str | None = None,
    ) -> str:
        hung = {"parent_id": quote, "root_id": quote} if quote else {}
        if fresh:
            hung["thread_id"] = f"omt_{len(self._events)}"
        if where is not None:
            hung |= await self._within(where.address.partition("/")[2])
        chat, user = ("oc_bob", BOB) if stranger else (ALONE, ANN)
        said = await self._app.say(text, chat=chat, user=user, **hung)
        self._events[said["message_id"]] = said["event"]
        return str(said["message_id"])

    async def _within(self, thread: str) -> dict[str, str]:
        messages = (await self._app.state())["messages"]
        root = next(message["message_id"] for message in messages if message.get("thread_id") == thread)
        return {"thread_id": thread, "parent_id": root, "root_id": root}

    async def change(self, message: str, text: str) -> bool:
        return False

    async def delete(self, message: str) -> bool:
        await self._app.do("recall", message=message)
        return True

    async def press(self, message: str, label: str) -> str:
        return str((await self._app.press(message, label)).get("toast", {}).get("content", ""))

    async def wait_shown(self, condition: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        return self._shown(await self._app.until(lambda state: condition(self._shown(state))))

    async def is_acknowledged(self, message: str) -> bool:
        return self._events[message] not in (await self._app.state())["pending"]

    async def wait_acknowledged(self, message: str) -> None:
        await self._app.until(lambda state: self._events[message] not in state["pending"])

    async def redeliver(self, message: str) -> None:
        await self._app.do("again", event=self._events[message])

    async def disconnect(self) -> None:
        await self._app.do("cut")

    async def reconnect(self) -> None:
        await self._app.do("mend")

    async def rate_limit_once(self, seconds: float) -> None:
        await self._app.refuse("reply", 99991400, headers={"x-ogw-ratelimit-reset": str(seconds)})

    async def lose_response_once(self) -> None:
        await self._app.fault("reply", "cut_after")  # an answer is a reply

    async def delete_thread(self, where: Conversation) -> None:
        thread = where.address.partition("/")[2]
        for message in (await self._app.state())["messages"]:
            if message.get("thread_id") == thread:
                await self._app.do("delete", message=message["message_id"])

    def _shown(self, state: dict[str, Any]) -> list[Shown]:
        return [_one(message) for message in state["messages"] if message["sender"]["id"] == self._app.id]


def _one(message: dict[str, Any]) -> Shown:
    buttons = tuple(labels(message)) if message["msg_type"] == "interactive" else ()
    attached = message["msg_type"] if message["msg_type"] in ("image", "file") else ""
    replied = str(message.get("parent_id", ""))
    return Shown(str(message["message_id"]), words(message), buttons, attached, replied)


@pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
async def test_feishu_conforms(check: Check, app: App, folder: Path) -> None:
    await check(FeishuStage(app), folder)
