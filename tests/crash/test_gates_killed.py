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

pytestmark = pytest.mark.process

BEFORE = ("gate.asked-not-stored", "gate.stored-not-shown")
AFTER = ("gate.answered-not-sent", "gate.sending-not-sent", "gate.sent-not-taken", "gate.taken-not-recorded")


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def system(tmp_path: Path, transport: str) -> Iterator[System]:
    with open_system(tmp_path, transport=transport) as made:
        yield made


def start(system: System, folder: Path, more: str = "") -> tuple[str, Path]:
    log = folder / "runs"
    prompt = f"!shell echo ran >> {log}\n{more}!text the end"
    accepted = system.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder))
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


def check(system: System, thread: str) -> list[Any]:
    """Assert that no gate is open and one answer arrived. Return the gates, oldest first."""
    gates = list(reversed(system.clew.json("gates", "--thread", thread)))
    assert {gate["state"] for gate in gates} <= {"taken", "void"}
    assert all(gate["why"] for gate in gates if gate["state"] == "void")
    assert system.clew.json("gates") == []
    system.clew.wait_for(thread, "delivery.sent", delivery=f"{system.clew.json('show', thread)['turn']}:final")
    finals = [delivery for delivery in system.hook.deliveries if delivery.json["kind"] == "final"]
    assert [delivery.json["text"] for delivery in finals] == ["the end"]
    system.clew("down")
    assert system.clew.children() == []
    return gates


@pytest.mark.parametrize("point", BEFORE)
def test_killed_before_the_gate_was_shown_it_is_asked_again(system: System, tmp_path: Path, point: str) -> None:
    pid = system.clew.up(env={"CLEW_CRASH": point})
    thread, log = start(system, tmp_path)
    system.clew.wait_gone(pid)
    system.clew.up()
    assert say_yes_until_done(system.clew, thread)
    check(system, thread)
    assert runs(log) == 1


@pytest.mark.parametrize("transport", ["stdio"])
def test_killed_while_a_gate_is_shown_it_is_void_and_asked_again(system: System, tmp_path: Path) -> None:
    system.clew.up()
    thread, log = start(system, tmp_path)
    shown = open_gate(system.clew, thread)
    [asked] = system.hook.wait_for(1)
    assert shown["code"] in asked.json["text"] and "echo ran" in asked.json["text"]
    system.clew.kill()
    system.clew.up()
    system.clew.wait_for(thread, "gate.void", gate=shown["id"])
    [again] = say_yes_until_done(system.clew, thread)
    first, second = check(system, thread)
    assert (first["id"], first["state"]) == (shown["id"], "void") and second["id"] == again["id"]
    assert again["title"] == shown["title"] and again["warning"] == "" and runs(log) == 1
    told = [delivery.json["text"] for delivery in system.hook.deliveries]
    assert any(shown["code"] in text and "void" in text for text in told)


@pytest.mark.parametrize("point", AFTER)
def test_killed_after_the_yes_it_runs_at_most_once(system: System, tmp_path: Path, point: str) -> None:
    pid = system.clew.up(env={"CLEW_CRASH": point})
    thread, log = start(system, tmp_path)
    gate = open_gate(system.clew, thread)
    system.clew.run("approve", gate["code"])  # the daemon may die before its response
    system.clew.wait_gone(pid)
    system.clew.up()
    again = say_yes_until_done(system.clew, thread)
    gates = check(system, thread)
    assert runs(log) <= 1 + len(again)
    if point == "gate.answered-not-sent":
        assert (len(again), runs(log)) == (0, 1), "a yes that never left counts for the same request, once"
        assert gates[-1]["answered_by"] == gates[0]["answered_by"]
    elif system.transport == "stdio":
        assert all("may already have run" in each["warning"] for each in again)
    elif again:  # Codex itself reports that it has no answer, so it did not run
        assert all("did not reach" in each["warning"] for each in again)


@pytest.mark.parametrize("transport", ["stdio"])
def test_a_yes_in_transit_is_asked_again_with_a_warning(system: System, tmp_path: Path) -> None:
    pid = system.clew.up(env={"CLEW_CRASH": "gate.sending-not-sent"})
    thread, log = start(system, tmp_path)
    system.clew.run("approve", open_gate(system.clew, thread)["code"])
    system.clew.wait_gone(pid)
    system.clew.up()
    [again] = say_yes_until_done(system.clew, thread)
    assert "may already have run" in again["warning"] and runs(log) == 1
    check(system, thread)


def codex(clew: Clew) -> int:
    return next(process.pid for process in clew.children() if "codex" in process.command)


def test_codex_killed_at_an_open_gate_makes_it_void_and_asks_again(system: System, tmp_path: Path) -> None:
    system.clew.up()
    thread, log = start(system, tmp_path)
    shown = open_gate(system.clew, thread)
    os.kill(codex(system.clew), signal.SIGKILL)
    system.clew.wait_for(thread, "gate.void", gate=shown["id"])
    [again] = say_yes_until_done(system.clew, thread)
    assert again["id"] != shown["id"] and runs(log) == 1
    check(system, thread)


@pytest.mark.parametrize("point", [*(pytest.param(each, marks=pytest.mark.heavy) for each in AFTER[:2]), AFTER[2]])
def test_codex_killed_after_the_yes_runs_it_at_most_once(system: System, tmp_path: Path, point: str) -> None:
    system.clew.up(env={"CLEW_CRASH": f"{point}@children"})
    thread, log = start(system, tmp_path)
    gate = open_gate(system.clew, thread)
    pid = codex(system.clew)
    system.clew("approve", gate["code"])
    system.clew.wait_gone(pid)
    again = say_yes_until_done(system.clew, thread)
    again = [each for each in again if each["id"] != gate["id"]]
    check(system, thread)
    assert runs(log) <= 1 + len(again)


def test_a_yes_to_a_frozen_codex_is_not_shown_as_allowed(system: System, tmp_path: Path) -> None:
    system.clew.up()
    thread, log = start(system, tmp_path)
    gate = open_gate(system.clew, thread)
    pid = codex(system.clew)
    os.kill(pid, signal.SIGSTOP)
    system.clew("approve", gate["code"])
    wait_sent(system.clew.home.database, gate["id"])
    assert system.clew.json("gates", gate["id"])["state"] == "answered" and runs(log) == 0
    os.kill(pid, signal.SIGKILL)
    [again] = [each for each in say_yes_until_done(system.clew, thread) if each["id"] != gate["id"]]
    assert "may already have run" in again["warning"] and runs(log) == 1
    check(system, thread)


def test_a_stop_at_an_open_gate_closes_it_and_runs_nothing(system: System, tmp_path: Path) -> None:
    system.clew.up()
    thread, log = start(system, tmp_path)
    gate = open_gate(system.clew, thread)
    system.clew("stop", thread)
    system.clew.wait_for(thread, "turn.ended")
    late = system.clew.run("approve", gate["code"])
    assert late.code == 1 and "answered by" in late.err and runs(log) == 0
    assert system.clew.json("gates") == []
