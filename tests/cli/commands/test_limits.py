"""`clew limits` prints what agents reported; what the command line says of threads at a limit, and does with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.cli.commands.limits import _row
from clew.cli.view.threads import suspension_words
from clew.model.events.accounts import LimitView
from clew.model.views import ThreadView
from tests.crash.conftest import open_system
from tests.helpers.daemons import Clew


def test_a_window_is_shown_with_what_is_used_and_when_it_resets() -> None:
    row = _row(LimitView("codex", "primary", 0.92, 32_503_680_000_000, "warning", 300, 1_000))
    assert row[:4] == ("codex", "primary", "92 %", "warning") and row[4].startswith(("3000-", "2999-"))


def test_a_reset_that_has_passed_is_not_shown() -> None:
    assert _row(LimitView("codex", "refusal", None, 1_000, "reached", None, 1_000))[2:5] == ("–", "reached", "–")


def view(**more: object) -> ThreadView:
    given = dict.fromkeys(ThreadView.__struct_fields__[:15], "")
    return ThreadView(**{**given, "suspend_message": "Resumes 01:20.", **more})  # type: ignore[arg-type]


def test_a_parked_thread_says_how_long_it_waits() -> None:
    minute = 60_000
    assert suspension_words(view(wake_at=133 * minute), 0.0) == "Resumes 01:20. (in 2 h 13 m)"
    assert suspension_words(view(wake_at=None), 0.0) == "Resumes 01:20."


@pytest.mark.process
def test_a_thread_can_be_told_how_to_wait_and_who_takes_over(clew: Clew) -> None:
    thread = clew.json("run", "!text hello")["thread"]
    clew("set", thread, "fallback=scripted", "on_limit=ask", "limit_waits=2", "quiet_hours=23:00-07:00")
    found = clew.json("show", thread)
    assert (found["fallback"], found["on_limit"], found["limit_waits"]) == (["scripted"], "ask", 2)
    assert "on_limit=ask limit_waits=2 quiet_hours=23:00-07:00" in clew("show", thread)
    clew("set", thread, "fallback=none", "on_limit=default", "quiet_hours=none")
    found = clew.json("show", thread)
    assert (found["fallback"], found["on_limit"], found["quiet_hours"]) == ([], None, "")
    assert "nobody" in clew("show", thread)
    for wrong in ("fallback=gone", "limit_waits=many", "quiet_hours=night"):
        assert clew.run("set", thread, wrong).code != 0
    assert clew.json("show", thread)["limit_waits"] == 2
    assert {row["runtime"] for row in clew.json("where", thread)} == {"scripted"}
    assert " scripted " in clew("where", thread)


@pytest.mark.process
def test_a_parked_thread_can_go_on_with_another_agent(tmp_path: Path) -> None:
    with open_system(tmp_path, more="[runtimes.scripted]\nenabled = true") as system:
        clew = system.clew
        clew.up()
        started = clew.json("start", "!error insufficient_quota\n!text done", "--workspace", str(tmp_path))
        clew.wait_for(started["thread"], "thread.status", status="suspended")
        found = clew.json("show", started["thread"])
        assert (found["suspended_by"], found["other_agent"]) == ("limit", "scripted")
        waited = clew.run("wait", started["thread"], "--timeout", "0.5")
        assert waited.code == 6 and found["suspend_message"] in waited.err, "it says until when"
        assert "Tries again" in clew("show", started["thread"]) and "(in 1" in clew("show", started["thread"])
        listed = clew.run("gates")
        assert "'--on scripted' gives it to scripted" in listed.out + listed.err
        assert "scripted takes it now" in clew("resume", started["thread"], "--on", "scripted")
        clew.wait_for(started["thread"], "account.limit", runtime="scripted")
