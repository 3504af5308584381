"""After downtime, on Telegram and on Feishu: what one person wrote meanwhile is asked about once, with the number."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.model.surface import Surface
from clew.surfaces.feishu.settings import FeishuConfig
from clew.surfaces.telegram.settings import TelegramConfig
from tests.helpers.rig import Rig
from tests.surfaces.feishu.apps import ANN, App, labels, words
from tests.surfaces.telegram.bots import Bot

LONG_AGO = 3600  # seconds
COUNT = 15
Look = Callable[[dict[str, Any]], list[tuple[str, list[str]]]]


async def backlog(
    surface: Surface, settings: object, folder: Path, until: Callable[..., Awaitable[dict[str, Any]]], look: Look
) -> list[tuple[str, list[str]]]:
    """Start clew, wait for the number, and return all that the person sees."""
    config = Config(threads=ThreadsConfig(runtime="scripted"), surfaces={surface.name: settings})
    async with Rig(folder, config=config, surfaces={surface.name: surface}) as rig:
        try:
            await rig.until(lambda entry: rig.kinds().count("message.accepted") == COUNT)
            state = await until(lambda state: any(str(COUNT) in text for text, _ in look(state)))
        finally:
            await surface.close()
    return look(state)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("!text number", "clew was away, and 15 messages waited here."),
        ("做第", "clew 离开了一段时间，这里有 15 条消息在等。"),
    ],
)
async def test_on_telegram(bot: Bot, tmp_path: Path, text: str, told: str) -> None:
    for number in range(COUNT):
        await bot.say(f"{text} {number}", more={"date": int(time.time()) - LONG_AGO})

    def look(state: dict[str, Any]) -> list[tuple[str, list[str]]]:
        sent = [each for each in state["messages"] if "edits" in each]
        return [(each["text"], [button["text"] for button in each["buttons"]]) for each in sent]

    surface = bot.surface(tmp_path / "files")
    [(shown, buttons)] = await backlog(surface, TelegramConfig(allow=("42",)), tmp_path, bot.until, look)
    assert shown.startswith(told) and len(buttons) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("!text number", "clew was away, and 15 messages waited here."),
        ("做第", "clew 离开了一段时间，这里有 15 条消息在等。"),
    ],
)
async def test_on_feishu(app: App, tmp_path: Path, text: str, told: str) -> None:
    for number in range(COUNT):
        await app.say(f"{text} {number}", create_time=str((int(time.time()) - LONG_AGO) * 1000))

    def look(state: dict[str, Any]) -> list[tuple[str, list[str]]]:
        sent = [each for each in state["messages"] if each["sender"]["id"] == app.id]
        return [(words(each), labels(each)) for each in sent]

    surface = app.surface(tmp_path / "files")
    [(shown, buttons)] = await backlog(surface, FeishuConfig(app_id="cli_1", allow=(ANN,)), tmp_path, app.until, look)
    assert shown.startswith(told) and len(buttons) == 3
