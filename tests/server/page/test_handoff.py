"""The handoff dialog: it reports how the handoff really ended, also if the daemon dies right after it stored it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from clew.client import requests
from tests.crash.phone import open_bot, settings
from tests.server.page.conftest import Desk, Sit, open_desk

pytestmark = pytest.mark.process


@pytest.fixture
def phone_desk(tmp_path: Path) -> Iterator[Desk]:
    """A clew that can hand a thread to Telegram."""
    with open_bot() as bot:
        asyncio.run(bot.do("chat", id=42, is_forum=True))
        with open_desk(tmp_path, more=settings(bot, 'home = "42"\n')) as desk:
            yield desk


def test_a_handoff_is_asked_for_again_if_its_answer_was_lost(phone_desk: Desk, sit_down: Sit) -> None:
    clew = phone_desk.clew
    begun = phone_desk.start("!text Hello.", kind="chat")
    clew.wait_ended(begun)
    clew("down")
    pid = clew.up(env={"CLEW_CRASH": "handoff.requested-not-told"})
    ann = sit_down(phone_desk, f"#/threads/{begun['thread']}")
    ann.expected = ["net::ERR_", "503"]  # while the daemon is away
    ann.find("button", "Hand off").click()
    ann.page.locator("button.target").first.click()
    expect(ann.page.get_by_text("It is in Telegram now.")).to_be_visible()
    assert [each.state for each in phone_desk.client.ask(requests.handoffs())] == ["completed"]
    assert clew.pid != pid, "no daemon died"
