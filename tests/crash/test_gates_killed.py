"""Promise 6 with the real Codex: SIGKILL of the daemon, or of Codex alone, in every state of a gate. It always ends in
a visible state that can be acted on, and a command that appends to a file adds at most one line per yes. test_outlives
has only what differs with a kept Codex."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import TRANSPORTS, System, open_system
from tests.crash.outside import wait_sent
from tests.helpers.daemons import Clew

BEFORE = ("gate.asked-not-stored", "gate.stored-not-shown")
AFTER = ("gate.answered-not-sent", "gate.sending-not-sent", "gate.sent-not-taken", "gate.taken-not-recorded")


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def desk(tmp_path: Path, transport: str) -> Iterator[System]:
    with open_system(tmp_path, transport=transport) as made:
        yield made


def start(desk: System, folder: Path, more: str = "") -> tuple[str, Path]:
    log = folder / "runs"
    prompt = f"!shell echo ran >> {log}\n{more}!text the end"
    accepted = desk.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder))
    return str(accepted["thread"]), log


def open_gate(clew: Clew, thread: str) -> Any:
    """Return the first gate of the thread in its current state."""
    return clew.json("gates", clew.wait_for(thread, "gate.opened").data["data"]["gate"])


def say_yes_until_done(clew: Clew, thread: str) -> list[Any]:
    """Accept all gates until the task is completed, and return them."""
    answered = []
    for event in clew.events(thread):
        if event.kind == "gate.opened":
            gate = clew.json("gates", event.data["data"]["gate"])
            # A gate of an earlier daemon may become void just now.
            if gate["state"] == "open" and clew.run("approve", gate["code"]).code == 0:
                answered.append(gate)
        if event.kind == "thread.status" and event.data["data"]["status"] == "completed":
            return answered
    raise AssertionError("it never ends")


def runs(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def check(desk: Desk, thread: str) -> list[Any]:
    """Assert that no gate is open and one answer arrived. Return the gates, oldest first."""
    gates = list(reversed(desk.clew.json("gates", "--thread", thread)))
    assert {gate["state"] for gate in gates} <= {"taken", "void"}
    assert all(gate["why"] for gate in gates if gate["state"] == "void")
    assert desk.clew.json("gates") == []
    desk.clew.wait_for(thread, "delivery.sent", delivery=f"{desk.clew.json('show', thread)['turn']}:final")
    finals = [delivery for delivery in desk.hook.deliveries if delivery.json["kind"] == "final"]
    assert [delivery.json["text"] for delivery in finals] == ["the end"]
    desk.clew("down")
    assert desk.clew.children() == []
    return gates


@pytest.mark.parametrize("point", BEFORE)
def test_killed_before_the_gate_was_shown_it_is_asked_again(desk: System, tmp_path: Path, point: str) -> None:
    pid = desk.clew.up(env={"CLEW_CRASH": point})
    thread, log = start(desk, tmp_path)
    desk.clew.wait_gone(pid)
    desk.clew.up()
    assert say_yes_until_done(desk.clew, thread)
    check(desk, thread)
    assert runs(log) == 1


@pytest.mark.parametrize("transport", ["stdio"])
def test_killed_while_a_gate_is_shown_it_is_void_and_asked_again(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    thread, log = start(desk, tmp_path)
    shown = open_gate(desk.clew, thread)
    [asked] = desk.hook.wait_for(1)
    assert shown["code"] in asked.json["text"] and "echo ran" in asked.json["text"]
    desk.clew.kill()
    desk.clew.up()
    desk.clew.wait_for(thread, "gate.void", gate=shown["id"])
    [again] = say_yes_until_done(desk.clew, thread)
    first, second = check(desk, thread)
    assert (first["id"], first["state"]) == (shown["id"], "void") and second["id"] == again["id"]
    assert again["title"] == shown["title"] and again["warning"] == "" and runs(log) == 1
    told = [delivery.json["text"] for delivery in desk.hook.deliveries]
    assert any(shown["code"] in text and "void" in text for text in told)


@pytest.mark.parametrize("point", AFTER)
def test_killed_after_the_yes_it_runs_at_most_once(desk: System, tmp_path: Path, point: str) -> None:
    pid = desk.clew.up(env={"CLEW_CRASH": point})
    thread, log = start(desk, tmp_path)
    gate = open_gate(desk.clew, thread)
    desk.clew.run("approve", gate["code"])  # the daemon may die before its response
    desk.clew.wait_gone(pid)
    desk.clew.up()
    again = say_yes_until_done(desk.clew, thread)
    gates = check(desk, thread)
    assert runs(log) <= 1 + len(again)
    if point == "gate.answered-not-sent":
        assert (len(again), runs(log)) == (0, 1), "a yes that never left counts for the same request, once"
        assert gates[-1]["answered_by"] == gates[0]["answered_by"]
    elif desk.transport == "stdio":
        assert all("may already have run" in each["warning"] for each in again)
    elif again:  # Codex itself reports that it has no answer, so it did not run
        assert all("did not reach" in each["warning"] for each in again)


@pytest.mark.parametrize("transport", ["stdio"])
def test_a_yes_in_transit_is_asked_again_with_a_warning(desk: System, tmp_path: Path) -> None:
    pid = desk.clew.up(env={"CLEW_CRASH": "gate.sending-not-sent"})
    thread, log = start(desk, tmp_path)
    desk.clew.run("approve", open_gate(desk.clew, thread)["code"])
    desk.clew.wait_gone(pid)
    desk.clew.up()
    [again] = say_yes_until_done(desk.clew, thread)
    assert "may already have run" in again["warning"] and runs(log) == 1
    check(desk, thread)


def codex(clew: Clew) -> int:
    return next(process.pid for process in clew.children() if "codex" in process.command)


def test_codex_killed_at_an_open_gate_makes_it_void_and_asks_again(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    thread, log = start(desk, tmp_path)
    shown = open_gate(desk.clew, thread)
    os.kill(codex(desk.clew), signal.SIGKILL)
    desk.clew.wait_for(thread, "gate.void", gate=shown["id"])
    [again] = say_yes_until_done(desk.clew, thread)
    assert again["id"] != shown["id"] and runs(log) == 1
    check(desk, thread)


@pytest.mark.parametrize("point", [*(pytest.param(each, marks=pytest.mark.heavy) for each in AFTER[:2]), AFTER[2]])
def test_codex_killed_after_the_yes_runs_it_at_most_once(desk: System, tmp_path: Path, point: str) -> None:
    desk.clew.up(env={"CLEW_CRASH": f"{point}@children"})
    thread, log = start(desk, tmp_path)
    gate = open_gate(desk.clew, thread)
    pid = codex(desk.clew)
    desk.clew("approve", gate["code"])
    desk.clew.wait_gone(pid)
    again = say_yes_until_done(desk.clew, thread)
    again = [each for each in again if each["id"] != gate["id"]]
    check(desk, thread)
    assert runs(log) <= 1 + len(again)


def test_a_yes_to_a_frozen_codex_is_not_shown_as_allowed(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    thread, log = start(desk, tmp_path)
    gate = open_gate(desk.clew, thread)
    pid = codex(desk.clew)
    os.kill(pid, signal.SIGSTOP)
    desk.clew("approve", gate["code"])
    wait_sent(desk.clew.home.database, gate["id"])
    assert desk.clew.json("gates", gate["id"])["state"] == "answered" and runs(log) == 0
    os.kill(pid, signal.SIGKILL)
    [again] = [each for each in say_yes_until_done(desk.clew, thread) if each["id"] != gate["id"]]
    assert "may already have run" in again["warning"] and runs(log) == 1
    check(desk, thread)


def test_a_stop_at_an_open_gate_closes_it_and_runs_nothing(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    thread, log = start(desk, tmp_path)
    gate = open_gate(desk.clew, thread)
    desk.clew("stop", thread)
    desk.clew.wait_for(thread, "turn.ended")
    late = desk.clew.run("approve", gate["code"])
    assert late.code == 1 and "answered by" in late.err and runs(log) == 0
    assert desk.clew.json("gates") == []
