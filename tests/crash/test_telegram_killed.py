"""The real daemon on Telegram, killed by SIGKILL at every crash point that a conversation passes: Ann's messages are
answered, and a possible repeat is marked. She presses the first button of every question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.outside import UNASKED
from tests.crash.phone import count_copies, daemon, open_bot, rest, until_shown
from tests.helpers.daemons import Clew
from tests.surfaces.telegram.bots import Bot

pytestmark = pytest.mark.process

STORY = (("!text hello", "hello"), ("!approve make it\n!text all done", "all done"))
PASSED = {
    "inbox.accepted-not-acknowledged",
    "turn.claimed-not-sent",
    "turn.sent-not-recorded",
    "turn.text-not-stored",
    "turn.ended-not-owed",
    "session.opened-not-kept",
    "outbox.claimed-not-sent",
    "outbox.sent-not-recorded",
    "outbox.edited-not-recorded",
    "gate.asked-not-stored",
    "gate.stored-not-shown",
    "gate.answered-not-sent",
    "gate.sending-not-sent",
    "gate.sent-not-taken",
    "gate.taken-not-recorded",
    "store.written-not-committed",
    "store.committed-not-told",
}
MAKING = {"store.made-not-named", "store.migrated-not-committed"}  # of a new database; see test_opening
FIRST = {point: f"{point}:10" for point in PASSED if point.startswith("store.")}  # earlier commits belong to the start
SOME = ("outbox.edited-not-recorded:2",)  # the others with --all
LATER = [f"{point}:{count}" for point in PASSED if point.startswith(("outbox.", "inbox.")) for count in (2, 3)]
REST = sorted({*(FIRST.get(point, point) for point in PASSED), *LATER} - {*SOME})


@pytest.fixture
def bot() -> Iterator[Bot]:
    with open_bot() as bot:
        yield bot


async def live(bot: Bot) -> None:
    """Let Ann write her messages and wait for each answer."""
    pressed: set[tuple[int, str]] = set()
    for words, answer in STORY:
        await bot.say(words)
        await until_shown(bot, answer, pressed)


def play(clew: Clew, bot: Bot, armed: str) -> list[dict[str, Any]]:
    """Run it, and return what is shown in the end."""
    clew.run("up", env={"CLEW_CRASH": armed})  # it may die before it reports that it is ready
    asyncio.run(live(bot))
    rest(clew)
    clew("down")
    assert (clew.children(), clew.alive()) == ([], [])
    return asyncio.run(bot.shown())


def killed(bot: Bot, folder: Path, point: str) -> None:
    with daemon(folder, bot) as clew:
        shown = play(clew, bot, point)
        assert clew.home.log.read_text().count(UNASKED) == 1, "no daemon died"
    for _, answer in STORY:
        assert count_copies(shown, answer), answer


def test_a_conversation_passes_the_crash_points_in_the_table(bot: Bot, tmp_path: Path) -> None:
    passed = tmp_path / "passed"
    with daemon(tmp_path, bot) as clew:
        play(clew, bot, f"record:{passed}")
    assert {*passed.read_text().split()} - MAKING == PASSED


@pytest.mark.parametrize("point", SOME)
def test_killed_there_everything_said_on_telegram_is_answered(bot: Bot, tmp_path: Path, point: str) -> None:
    killed(bot, tmp_path, point)


@pytest.mark.heavy
@pytest.mark.parametrize("point", REST)
def test_killed_anywhere_everything_said_on_telegram_is_answered(bot: Bot, tmp_path: Path, point: str) -> None:
    killed(bot, tmp_path, point)
