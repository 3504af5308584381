"""The real daemon with the real Codex, killed by SIGKILL between one side effect and the next while it talks on
Telegram. There no key makes a repeat harmless and nothing can be read back, so what was in doubt is marked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import Desk, open_desk
from tests.crash.flows import Flow
from tests.crash.outside import died, unfinished
from tests.surfaces.bots import Bot
from tests.surfaces.fakes.process import Fake

MARKED = re.compile("may be a repeat|Recovered")
CHAT = Flow(lambda desk, folder: None, (("hello",),))
ALWAYS = ("inbox.accepted-not-acknowledged", "outbox.sent-not-recorded:2")
POINTS = (
    "turn.claimed-not-sent",
    "turn.sent-not-recorded",
    "turn.text-not-stored",
    "turn.ended-not-owed",
    "outbox.claimed-not-sent",
    "outbox.sent-not-recorded",
    "outbox.claimed-not-sent:2",
    "store.written-not-committed:6",
    "store.committed-not-told:6",
)


@pytest.fixture
def bot() -> Iterator[Bot]:
    with Fake("telegram") as fake:
        bot = asyncio.run(Bot(fake).open())
        yield bot
        asyncio.run(bot.close())


def killed(folder: Path, bot: Bot, point: str) -> None:
    settings = f'[surfaces.telegram]\ntoken = "{bot.token}"\nbase_url = "{bot.base_url}"\nallow = ["42"]\n'
    with open_desk(folder, more=settings) as desk:
        asyncio.run(bot.say("!text hello"))
        _play(desk, point)
        shown = [message for message in asyncio.run(bot.shown()) if message["text"].startswith("hello")]
        _check(desk, shown)


def _play(desk: Desk, point: str) -> None:
    desk.clew.run("up", env={"CLEW_CRASH": point})  # it may die before it can say that it is up
    CHAT.finish(desk)
    desk.clew("down")


def _check(desk: Desk, shown: list[dict[str, Any]]) -> None:
    plain = [message for message in shown if not MARKED.search(message["text"])]
    assert shown and len(plain) <= 1, shown
    assert (died(desk), unfinished(desk.clew.home.database)) == (1, [])
    assert (desk.clew.children(), desk.clew.alive()) == ([], []), "something is left"


@pytest.mark.parametrize("point", ALWAYS)
def test_killed_there_one_answer_is_in_the_chat(tmp_path: Path, bot: Bot, point: str) -> None:
    killed(tmp_path, bot, point)


@pytest.mark.heavy
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_one_answer_is_in_the_chat(tmp_path: Path, bot: Bot, point: str) -> None:
    killed(tmp_path, bot, point)
