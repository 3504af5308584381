"""`clew connect` with the real daemon, a terminal and the fakes, until the person is greeted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.helpers.daemons import SCRIPTED, Clew
from tests.surfaces.feishu.apps import App
from tests.surfaces.telegram.bots import Bot

pytestmark = pytest.mark.process


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


async def test_connect_asks_checks_saves_waits_and_pairs(bot: Bot, clew: Clew) -> None:
    args = ["connect", "telegram", "--set", f"base_url={bot.base_url}"]
    with Terminal(clew, args) as terminal:
        await asyncio.to_thread(terminal.read_until, "token of your bot")
        terminal.type(f"{bot.token}\r")
        await asyncio.to_thread(terminal.read_until, "@clew_bot answers")
        await asyncio.to_thread(terminal.read_until, "Write anything to @clew_bot")
        await bot.say("hello")
        await asyncio.to_thread(terminal.read_until, "Ann Lee (telegram:42), whose code is")
        terminal.type("y\r")
        assert await asyncio.to_thread(terminal.wait) == 0
        assert bot.token not in terminal.shown and "telegram is connected as @clew_bot" in terminal.shown
    said = [message["text"] for message in await bot.shown(2)]
    assert "I do not know you yet" in said[0] and said[1].startswith("You are in.")
    await bot.say("!text hi there")
    await bot.until(lambda state: any(_is_answer(message) for message in state["messages"]))
    rows = await asyncio.to_thread(clew.json, "surfaces")
    assert {row["name"]: row["delivery"] for row in rows}["telegram"] == "editable"
    [thread] = await asyncio.to_thread(clew.json, "threads")
    assert (await asyncio.to_thread(clew.json, "away", "telegram"))["conversation"] == "telegram:42"
    there = await asyncio.to_thread(clew.run, "handoff", thread["id"], "telegram")
    assert there.code == 1 and "The thread is there already: telegram:42" in there.err


def _is_answer(message: dict[str, Any]) -> bool:
    return bool(message["from"]["is_bot"]) and str(message.get("text")).startswith("hi there")


async def test_an_invalid_token_is_reported_and_nothing_is_written(bot: Bot, clew: Clew) -> None:
    before = clew.home.config.read_text() if clew.home.config.exists() else None
    for token, words in (("nonsense", "looks like"), ("1234567:" + "A" * 35, "does not know this token")):
        given = ["--set", f"token={token}", "--set", f"base_url={bot.base_url}"]
        result = await asyncio.to_thread(clew.run, "connect", "telegram", *given)
        assert result.code == 2 and words in result.err
    result = await asyncio.to_thread(clew.run, "connect", "pigeon")
    assert result.code == 2 and "these can: " in result.err
    assert (clew.home.config.read_text() if clew.home.config.exists() else None) == before


async def test_connect_feishu_checks_the_app_and_writes_it_down(app: App, clew: Clew) -> None:
    given = ["--set", f"app_id={app.id}", "--set", f"base_url={app.base_url}"]
    wrong = await asyncio.to_thread(clew.run, "connect", "feishu", *given, "--set", "app_secret=wrong")
    assert wrong.code == 2 and "refuses the app" in wrong.err and "app secret invalid" in wrong.err
    odd = await asyncio.to_thread(clew.run, "connect", "feishu", "--set", "app_id=x", "--set", "app_secret=y")
    assert odd.code == 2 and "looks like cli_" in odd.err
    done = await asyncio.to_thread(clew.run, "connect", "feishu", *given, "--set", f"app_secret={app.secret}")
    assert done.code == 0 and "feishu is connected as clew" in done.out + done.err, done
    await app.connected()
    rows = await asyncio.to_thread(clew.json, "surfaces")
    assert {row["name"]: row["delivery"] for row in rows}["feishu"] == "idempotent"


def test_connect_alone_lists_what_can_be_connected_and_what_it_needs(tmp_path: Path) -> None:
    token = '[surfaces.telegram]\ntoken = "123456:abcdefghijklmnopqrstuvwxyz"\n'
    with Clew(tmp_path / "home", f"{SCRIPTED}{token}") as clew:
        rows = {row["surface"]: row for row in clew.json("connect")}
        assert {name: row["connected"] for name, row in rows.items()} == {"feishu": False, "telegram": True}
        assert [need["name"] for need in rows["feishu"]["needs"]] == ["app_id", "app_secret"]
        out = clew("connect")
        assert "@BotFather" in out and "App Secret" in out and "not connected" in out


def test_a_target_that_is_not_connected_names_the_command_that_connects_it(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        thread = clew.json("run", "!text hello")["thread"]
        for words in (["start", "!text hello", "--notify", "telegram"], ["handoff", thread, "telegram"]):
            refused = clew.run(*words)
            assert refused.code == 2 and "`clew connect telegram` sets it up" in refused.err
        odd = clew.run("start", "!text hello", "--notify", "pigeon")
        assert odd.code == 2 and "clew connect pigeon" not in odd.err
