"""The surface kit for Telegram, with the fake platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.model.messages import Conversation
from clew.model.surface import Surface
from clew.support.clock import Clock
from clew.testing import surface_kit
from clew.testing.surface_kit import Check
from clew.testing.surface_stage import Shown
from tests.surfaces.telegram.bots import ANN, BOB, Bot, number_of


class TelegramStage:
    """Ann's private chat with the bot, with topics."""

    person = str(ANN["id"])
    target = person

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._updates: dict[str, dict[str, object]] = {}

    def surface(self, clock: Clock, files: Path) -> Surface:
        return self._bot.surface(files, clock)

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
        user = BOB if stranger else ANN
        await self._bot.do("chat", id=user["id"], is_forum=True)
        topic = int(where.address.partition("/")[2]) if where else None
        topic = (await self._bot.do("topic", chat=user["id"], name="fresh"))["message_thread_id"] if fresh else topic
        message = await self._bot.say(
            text, chat=user["id"], user=user, topic=topic, reply=number_of(quote) if quote else None
        )
        name = self._bot.named(message["message_id"])
        self._updates[name] = message
        return name

    async def change(self, message: str, text: str) -> bool:
        await self._bot.do("edit", chat=ANN["id"], message_id=number_of(message), text=text)
        return True

    async def delete(self, message: str) -> bool:
        return False

    async def press(self, message: str, label: str) -> str:
        return await self._bot.press(number_of(message), label)

    async def wait_shown(self, condition: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        state = await self._bot.until(lambda state: condition(self._shown(state["messages"])))
        return self._shown(state["messages"])

    async def is_acknowledged(self, message: str) -> bool:
        return number_of(message) not in (await self._bot.state())["waiting"]

    async def wait_acknowledged(self, message: str) -> None:
        await self._bot.until(lambda state: number_of(message) not in state["waiting"])

    async def redeliver(self, message: str) -> None:
        await self._bot.do("inject", message=self._updates[message])

    async def disconnect(self) -> None:
        await self._bot.do("cut")

    async def reconnect(self) -> None:
        await self._bot.do("mend")

    async def rate_limit_once(self, seconds: float) -> None:
        await self._bot.refuse("sendMessage", 429, "Too Many Requests", retry_after=seconds)

    async def lose_response_once(self) -> None:
        await self._bot.fault("sendMessage", "cut_after")

    async def delete_thread(self, where: Conversation) -> None:
        chat, _, topic = where.address.partition("/")
        await self._bot.do("delete_topic", chat=int(chat), topic=int(topic))

    def _shown(self, messages: Sequence[dict[str, Any]]) -> list[Shown]:
        return [self._one(each) for each in messages if "edits" in each]

    def _one(self, message: dict[str, Any]) -> Shown:
        replied = message.get("reply_to_message")
        shown = _one(self._bot.named(message["message_id"]), message)
        return replace(shown, replies_to=self._bot.named(replied["message_id"]) if replied else "")


def _one(name: str, message: dict[str, Any]) -> Shown:
    buttons = message["buttons"]
    assert isinstance(buttons, list)
    text = str(message.get("text") or message.get("caption") or "")
    attached = "image" if "photo" in message else "file" if "document" in message else ""
    return Shown(name, text, tuple(button["text"] for button in buttons), attached)


@pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
async def test_telegram_conforms(check: Check, bot: Bot, folder: Path) -> None:
    await check(TelegramStage(bot), folder)
