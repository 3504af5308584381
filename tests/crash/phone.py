"""Ann on the fake Telegram, with a daemon that may die at any moment: she presses the first button of every question,
and waits for the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.texts.chat_messages import POSSIBLE_REPEAT, RECOVERED, STOP_BUTTON
from tests.crash.outside import unfinished
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.surfaces.fakes.process import Fake
from tests.surfaces.telegram.bots import ANN, Bot


@contextmanager
def open_bot() -> Iterator[Bot]:
    with Fake("telegram") as fake:
        yield asyncio.run(Bot(fake).open())


def settings(bot: Bot, more: str = "") -> str:
    return f'[surfaces.telegram]\ntoken = "{bot.token}"\nbase_url = "{bot.base_url}"\nallow = ["42"]\n{more}'


def daemon(folder: Path, bot: Bot, more: str = "") -> Clew:
    return Clew(folder / "clew", SCRIPTED + settings(bot, more))


def shown(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the bot's messages in their current form."""
    return [message for message in state["messages"] if "edits" in message]


def count_copies(said: list[dict[str, Any]], answer: str) -> int:
    """Return how often the text is shown as a line; a possible repeat must be marked."""
    copies = [message["text"] for message in said if answer in message["text"].splitlines()]
    plain = [text for text in copies if RECOVERED not in text and POSSIBLE_REPEAT not in text]
    assert len(plain) <= 1 and len(copies) <= 2, copies
    return len(copies)


async def until_shown(bot: Bot, text: str, pressed: set[tuple[int, str]], topic: int | None = None) -> dict[str, Any]:
    """Wait for the first message there with this text."""
    async with asyncio.timeout(2 * TIMEOUT):
        revision = -1
        while True:
            state = await bot.state(revision)
            revision, said = state["revision"], shown(state)
            if found := [each for each in said if text in each["text"] and each.get("message_thread_id") == topic]:
                return found[0]
            for message in said:
                await press(bot, message, pressed)


async def press(bot: Bot, message: dict[str, Any], pressed: set[tuple[int, str]]) -> None:
    """Press the first button of a question; that of a placeholder would stop the turn."""
    labels = [button["text"] for button in message["buttons"] if button["text"] != STOP_BUTTON]
    if labels and (key := (message["message_id"], labels[0])) not in pressed:
        pressed.add(key)
        await bot.do("press", chat=message["chat"]["id"], message_id=key[0], label=key[1], user=ANN)


def rest(clew: Clew) -> None:
    """Wait until everything has ended. Not every end is an event, so poll the store."""
    deadline = time.monotonic() + TIMEOUT
    while left := unfinished(clew.home.database):
        assert time.monotonic() < deadline, left
