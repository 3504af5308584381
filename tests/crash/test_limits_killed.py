"""A thread at a usage limit whose daemon is killed by SIGKILL, with the real Codex: it is parked, goes on once, and its
answer arrives once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.conftest import System, open_system

pytestmark = pytest.mark.process

REFUSED_ONCE = "!error insufficient_quota 1\n!text done"


def start(system: System, folder: Path, prompt: str = REFUSED_ONCE) -> tuple[str, str]:
    started = system.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder))
    return started["thread"], started["turn"]


def finals(system: System) -> list[str]:
    return [delivery.json["text"] for delivery in system.hook.deliveries if delivery.json["kind"] == "final"]


@pytest.mark.parametrize("point", ["limits.parked"])
def test_killed_while_it_is_parked_a_thread_waits_on_and_goes_on_once(
    system: System, tmp_path: Path, point: str
) -> None:
    clew = system.clew
    pid = clew.up(env={"CLEW_CRASH": point})
    thread, turn = start(system, tmp_path)
    clew.wait_gone(pid)
    clew.up()
    clew.wait_for(thread, "thread.status", status="suspended")
    view = clew.json("show", thread)
    assert view["suspended_by"] == "limit" and view["wake_at"] and view["queued"] == 1
    clew.json("resume", thread, "--now")
    clew.wait_for(thread, "delivery.sent", delivery=f"{turn}:final")
    assert finals(system) == ["done"] and system.model.count("done") == 2, "refused once, and asked once more"


@pytest.mark.parametrize("point", ["limits.woken"])
def test_killed_while_it_wakes_a_thread_goes_on_once(system: System, tmp_path: Path, point: str) -> None:
    clew = system.clew
    pid = clew.up(env={"CLEW_CRASH": point})
    thread, turn = start(system, tmp_path)
    clew.wait_for(thread, "thread.status", status="suspended")
    clew.run("resume", thread, "--now")  # kills the daemon
    clew.wait_gone(pid)
    clew.up()
    if clew.json("show", thread)["suspended_by"] == "limit":  # else the command has tried again by itself
        clew.json("resume", thread, "--now")
    clew.wait_for(thread, "delivery.sent", delivery=f"{turn}:final")
    assert finals(system) == ["done"] and system.model.count("done") == 2, "refused once, and asked once more"


@pytest.mark.parametrize("point", ["limits.woken", "limits.probed"])
def test_killed_while_the_timer_wakes_it_a_thread_goes_on_once(system: System, tmp_path: Path, point: str) -> None:
    """The wait is over while no daemon runs. The next one lets the thread ask its account, and dies at that."""
    clew = system.clew
    clew.up()
    thread, turn = start(system, tmp_path)
    clew.wait_for(thread, "thread.status", status="suspended")
    clew("down")
    with closing(sqlite3.connect(clew.home.database)) as raw, raw:
        raw.execute("UPDATE threads SET wake_at = wake_at - 7200000 WHERE wake_at IS NOT NULL")
        raw.execute("UPDATE limits SET resets_at = resets_at - 7200000, seen_at = seen_at - 7200000")
    clew.run("up", env={"CLEW_CRASH": point})
    while clew.run("wait", thread).code != 0:
        clew.up()
    clew.wait_for(thread, "delivery.sent", delivery=f"{turn}:final")
    assert finals(system) == ["done"] and system.model.count("done") == 2, "refused once, and asked once more"


@pytest.mark.parametrize("point", ["fallback.moved"])
def test_killed_while_another_agent_takes_over_the_answer_comes_once(tmp_path: Path, point: str) -> None:
    more = '[runtimes.scripted]\nenabled = true\n[threads]\nfallback = ["codex", "scripted"]'
    with open_system(tmp_path, more=more) as system:
        clew = system.clew
        pid = clew.up(env={"CLEW_CRASH": point})
        thread, _ = start(system, tmp_path, "!error insufficient_quota\n!text done")
        clew.wait_gone(pid)
        clew.up()
        clew.wait_for(thread, "thread.status", status="suspended")
        view = clew.json("show", thread)
        assert view["suspended_by"] == "limit" and view["runtime"] == "codex", "both refused it"
        assert finals(system) == []
