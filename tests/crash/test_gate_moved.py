"""A command of the real Codex, asked locally and accepted on the phone: the thread is handed off while it waits, the
command runs once, and its answer arrives there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import open_system
from tests.crash.phone import open_bot, rest, settings, shown

pytestmark = pytest.mark.process


def test_a_turn_that_waits_is_handed_over_allowed_there_and_runs_once(tmp_path: Path) -> None:
    with open_bot() as bot:
        asyncio.run(bot.do("chat", id=42, is_forum=True))
        with open_system(tmp_path, more=settings(bot, 'home = "42"\n')) as system:
            prompt = f"!shell echo ran >> {tmp_path}/runs\n!text all done"
            started = system.clew.json("start", prompt, "--workspace", str(tmp_path), "--title", "a deed")
            system.clew.wait_for(started["thread"], "gate.opened")
            done = system.clew.json("handoff", started["thread"], "telegram")
            topic = int(done["conversation"].removeprefix("telegram:42/"))

            def there(state: dict[str, Any], text: str) -> list[dict[str, Any]]:
                return [m for m in shown(state) if text in m["text"] and m.get("message_thread_id") == topic]

            asked = asyncio.run(bot.until(lambda state: there(state, f"{tmp_path}/runs")))
            [card] = there(asked, f"{tmp_path}/runs")
            assert "Allow" in card["buttons"][0]["text"] and not (tmp_path / "runs").exists()
            asyncio.run(bot.press(card["message_id"], card["buttons"][0]["text"]))
            assert system.clew.wait_ended(started)["state"] == "completed"
            rest(system.clew)
            state = asyncio.run(bot.state())
            assert (tmp_path / "runs").read_text() == "ran\n"
            assert [m["text"].split("\n")[0] for m in there(state, "all done")] == ["all done"]
            assert there(state, "allowed by Ann Lee") and not there(state, "Working on it")
