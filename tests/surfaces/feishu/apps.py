"""Controls an app on the fake Feishu: what people do, faults, and what people see."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.support.clock import Clock, SystemClock
from clew.surfaces.feishu.settings import FeishuConfig
from clew.surfaces.feishu.surface import FeishuSurface
from tests.surfaces.fakes.process import Driven, Fake

ANN, BOB, BOT = "ou_ann", "ou_bob", "ou_clew"
ALONE, GROUP = "oc_ann", "oc_group"


class App(Driven):
    """One world of the fake: Ann's private chat with the bot, and a group."""

    def __init__(self, fake: Fake) -> None:
        self.id = f"cli_{uuid4().hex[:16]}"
        super().__init__(fake, self.id)
        self.base_url = self.secret = ""

    async def open(self) -> App:
        made = await self.do("open")
        self.base_url, self.secret = f"http://127.0.0.1:{made['port']}", made["secret"]
        await self.do("chat", id=ALONE, type="p2p")
        await self.do("chat", id=GROUP, type="group")
        return self

    def surface(self, files: Path, clock: Clock | None = None, **settings: Any) -> FeishuSurface:
        config = FeishuConfig(app_id=self.id, app_secret=self.secret, base_url=self.base_url, **settings)
        return FeishuSurface(config, self.secret, clock or SystemClock(), files)

    async def say(self, text: str, *, chat: str = ALONE, user: str = ANN, **more: Any) -> dict[str, Any]:
        """Write a message; `more`, such as `parent_id` or `mentions`, is added as it is."""
        return await self.post("text", {"text": text}, chat=chat, user=user, **more)

    async def post(
        self, kind: str, content: object, *, chat: str = ALONE, user: str = ANN, sender_type: str = "user", **more: Any
    ) -> dict[str, Any]:
        """Write a message of any kind."""
        given = {"kind": kind, "content": content, "chat": chat, "user": user, "sender_type": sender_type}
        said: dict[str, Any] = await self.do("say", **given, more=more)
        return said

    async def press(self, message: str, label: str, *, user: str = ANN) -> dict[str, Any]:
        """Press a button, and return what the person is shown."""
        event = (await self.do("press", message=message, label=label, user=user))["event"]
        return (await self.answer(event))["data"] or {}

    async def react(self, message: str, emoji: str, *, user: str = ANN) -> dict[str, Any]:
        return await self.answer((await self.do("react", message=message, emoji=emoji, user=user))["event"])

    async def answer(self, event: str) -> dict[str, Any]:
        """Wait for the answer to an event."""
        state = await self.until(lambda state: [each for each in state["answers"] if each["event"] == event])
        found: dict[str, Any] = [each for each in state["answers"] if each["event"] == event][-1]
        return found

    async def refuse(self, method: str, code: int, msg: str = "no", **more: Any) -> None:
        await self.fault(method, "error", code=code, msg=msg, **more)

    async def keep(self, key: str, data: bytes) -> None:
        await self.do("file", key=key, data=base64.b64encode(data).decode())

    async def connected(self, count: int = 1) -> None:
        await self.until(lambda state: state["lines"] >= count)

    async def shown(self, count: int = 0, chat: str = ALONE) -> list[dict[str, Any]]:
        """Wait for so many messages of the bot in a chat."""
        return self._said(await self.until(lambda state: len(self._said(state, chat)) >= count), chat)

    async def until_shown(self, is_so: Callable[[str], bool], chat: str = ALONE) -> dict[str, Any]:
        """Wait for the first message of the bot whose text meets the condition."""
        found = await self.until(lambda state: [m for m in self._said(state, chat) if is_so(words(m))])
        message: dict[str, Any] = next(m for m in self._said(found, chat) if is_so(words(m)))
        return message

    def _said(self, state: dict[str, Any], chat: str) -> list[dict[str, Any]]:
        return [m for m in state["messages"] if m["sender"]["id"] == self.id and m["chat_id"] == chat]


def words(message: dict[str, Any]) -> str:
    """Return all text of a message that a person reads."""
    content = json.loads(message["content"])
    match message["msg_type"]:
        case "image" | "file":
            return ""
        case "text":
            return str(content["text"])
        case "post":
            return "\n".join(piece["text"] for row in content["zh_cn"]["content"] for piece in row)
        case _:
            return "\n".join(each["content"] for each in content["body"]["elements"] if each["tag"] == "markdown")


def labels(message: dict[str, Any]) -> list[str]:
    elements = json.loads(message["content"])["body"]["elements"]
    columns = [column for each in elements if each["tag"] == "column_set" for column in each["columns"]]
    return [column["elements"][0]["text"]["content"] for column in columns]


def mention(key: str, who: str, name: str) -> dict[str, Any]:
    return {"key": key, "id": {"open_id": who, "union_id": "on_x"}, "name": name, "tenant_key": "k"}
