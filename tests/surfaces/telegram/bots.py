"""Controls a bot on the fake Telegram: what people do, faults, and what people see."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.support.clock import Clock, SystemClock
from clew.surfaces.telegram.settings import TelegramConfig
from clew.surfaces.telegram.surface import TelegramSurface
from tests.surfaces.fakes.process import Driven, Fake, calls

ANN: dict[str, Any] = {"id": 42, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "username": "ann"}
BOB: dict[str, Any] = {"id": 43, "is_bot": False, "first_name": "Bob"}
GROUP = -1001


class Bot(Driven):
    """One world of the fake. Ann's private chat with the bot has Ann's number."""

    def __init__(self, fake: Fake, number: int = 7000) -> None:
        self.number = number
        self.token = f"{number}:{uuid4().hex}"
        super().__init__(fake, self.token)
        self.base_url = ""

    async def open(self) -> Bot:
        port = (await self.do("open"))["port"]
        self.base_url = f"http://127.0.0.1:{port}"
        return self

    def surface(self, files: Path, clock: Clock | None = None, **settings: Any) -> TelegramSurface:
        config = TelegramConfig(token=self.token, base_url=self.base_url, **settings)
        return TelegramSurface(config, self.token, clock or SystemClock(), files)

    def named(self, message: int) -> str:
        """Return clew's id of a message in a private chat."""
        return f"{self.number}:{message}"

    async def say(self, text: str | None, *, chat: int = 42, user: dict[str, Any] = ANN, **more: Any) -> dict[str, Any]:
        """Write a message, with `topic`, `reply` (a message number), `files` and `more` (added as it is)."""
        message: dict[str, Any] = await self.do("say", chat=chat, user=user, text=text, **more)
        return message

    async def press(self, message: int, label: str, *, chat: int = 42, user: dict[str, Any] = ANN) -> str:
        """Press a button, and return what the person is shown."""
        id = (await self.do("press", chat=chat, message_id=message, label=label, user=user))["id"]
        state = await self.until(lambda state: state["toasts"][id]["answered"])
        return str(state["toasts"][id]["text"])

    async def refuse(self, method: str, code: int, description: str, times: int = 1, **parameters: Any) -> None:
        more = {"code": code, "description": description, "parameters": parameters}
        await self.fault(method, "error", times=times, **more)

    async def shown(self, count: int = 0, chat: int = 42) -> list[dict[str, Any]]:
        """Wait for so many messages of the bot in a chat."""
        state = await self.until(lambda state: len(_said(state, chat)) >= count)
        return _said(state, chat)

    async def called(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        return calls(await self.until(lambda state: len(calls(state, method)) >= count), method)


def file(data: bytes, **more: Any) -> dict[str, Any]:
    return {"data": base64.b64encode(data).decode(), **more}


def number_of(name: str) -> int:
    """Return Telegram's number from clew's id of a message."""
    return int(name.rpartition(":")[2])


def mention(text: str, name: str = "@clew_bot") -> dict[str, Any]:
    """Return fields for `more` that mention the bot."""
    at = len(text[: text.index(name)].encode("utf-16-le")) // 2
    return {"entities": [{"type": "mention", "offset": at, "length": len(name)}]}


def _said(state: dict[str, Any], chat: int) -> list[dict[str, Any]]:
    return [m for m in state["messages"] if m["from"]["is_bot"] and m["chat"]["id"] == chat and "edits" in m]
