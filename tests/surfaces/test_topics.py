"""Handoffs to Telegram and Feishu if the platform fails while it makes a topic, and the way back to a topic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.places.targets import HandoffRequest
from clew.model.handoff import HandoffView
from clew.model.surface import Surface
from clew.model.threads import ThreadKind
from tests.helpers.rig import Rig
from tests.surfaces.feishu.apps import ALONE, App
from tests.surfaces.telegram.bots import Bot

CONFIG = Config(threads=ThreadsConfig(runtime="scripted"))


@asynccontextmanager
async def begun(surface: Surface, folder: Path) -> AsyncIterator[tuple[Rig, str]]:
    """A thread of the terminal."""
    surfaces: Mapping[str, Surface] = {surface.name: surface}
    async with Rig(folder, config=CONFIG, surfaces=surfaces) as rig:
        accepted = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(accepted.turn)
        try:
            yield rig, accepted.thread or ""
        finally:
            await surface.close()


async def hand(rig: Rig, thread: str, to: str) -> HandoffView:
    asked = await rig.engine.handoffs.request(HandoffRequest(thread, to, "ann", quiet=True))
    return await rig.engine.handoffs.look(asked.id, 60)


@pytest.mark.parametrize("fault", ["error", "cut_after"])
async def test_on_telegram_the_home_is_taken_if_the_topic_is_in_doubt(bot: Bot, tmp_path: Path, fault: str) -> None:
    await bot.do("chat", id=42, is_forum=True)
    more = {"code": 500, "description": "Internal Server Error"} if fault == "error" else {}
    await bot.fault("createForumTopic", fault, **more)
    async with begun(bot.surface(tmp_path / "files", home="42"), tmp_path) as (rig, thread):
        done = await hand(rig, thread, "telegram")
        assert (done.state, done.conversation) == ("completed", "telegram:42")
        assert len(await bot.called("createForumTopic")) == 1
        [notice] = await bot.shown(1)
        assert "An empty topic of the same name may stand beside this" in notice["text"]


async def test_on_telegram_a_thread_goes_back_to_its_topic(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=42, is_forum=True)
    async with begun(bot.surface(tmp_path / "files", home="42"), tmp_path) as (rig, thread):
        first = await hand(rig, thread, "telegram")
        await rig.ended((await rig.send(thread, "!text two")).turn)
        again = await hand(rig, thread, "telegram")
        assert (again.state, again.conversation) == ("completed", first.conversation)
        assert len(await bot.called("createForumTopic")) == 1


async def test_on_feishu_the_home_is_taken_if_the_thread_is_in_doubt(app: App, tmp_path: Path) -> None:
    await app.fault("send", "cut_after")
    async with begun(app.surface(tmp_path / "files", home=ALONE), tmp_path) as (rig, thread):
        await app.connected()
        done = await hand(rig, thread, "feishu")
        assert (done.state, done.conversation) == ("completed", f"feishu:{ALONE}")


async def test_on_feishu_a_thread_goes_back_to_its_thread(app: App, tmp_path: Path) -> None:
    async with begun(app.surface(tmp_path / "files", home=ALONE), tmp_path) as (rig, thread):
        await app.connected()
        first = await hand(rig, thread, "feishu")
        await rig.ended((await rig.send(thread, "!text two")).turn)
        again = await hand(rig, thread, "feishu")
        assert (again.state, again.conversation) == ("completed", first.conversation)
