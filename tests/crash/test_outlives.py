"""With Codex on a private socket, the agent outlives the daemon: SIGKILL of the daemon cuts no turn, repeats no model
request, and keeps the same gate. If Codex or both are killed, it behaves as on stdio. `down` leaves no process."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.process import kept_programs
from clew.process.kept_programs import KeptProgram
from tests.crash.conftest import System, open_system
from tests.crash.outside import answers, unfinished
from tests.crash.test_gates_killed import open_gate, runs
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process

HELD = "!say 30 words\n!hold here\n!text the end"


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    with open_system(tmp_path, transport="socket") as made:
        yield made


def start(system: System, folder: Path, prompt: str, *more: str) -> Any:
    return system.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder), *more)


def kept(system: System) -> KeptProgram:
    [one] = kept_programs.running(system.clew.home)
    return one


def check(system: System, started: Any, text: str, requests: int = 1) -> None:
    """Assert one complete answer of the same turn, and no extra model request."""
    system.clew.wait_for(started["thread"], "delivery.sent", delivery=f"{started['turn']}:final")
    [final] = [each.json for each in system.hook.deliveries if each.json["kind"] == "final"]
    assert (final["text"], final["turn"], final.get("note")) == (text, started["turn"], None)
    assert system.clew.json("show", started["thread"])["status"] == "completed"
    assert system.model.count() == requests
    stored = system.clew("read", started["thread"])
    assert text in stored
    system.clew("down")
    assert (system.clew.children(), system.clew.alive()) == ([], [])
    assert unfinished(system.clew.home.database) == []


def whole(system: System) -> str:
    return f"{' '.join(('never lose the thread that leads you back out of the maze ' * 3).split()[:30])}\nthe end"


def test_a_copy_of_the_home_does_not_end_the_originals_kept_codex(system: System, tmp_path: Path) -> None:
    system.clew.up()
    started = start(system, tmp_path, HELD)
    system.model.wait_held("here")
    system.clew.kill_for_good()
    copy = shutil.copytree(system.clew.root, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
    with Clew(Path(copy), '[threads]\nruntime = "scripted"\n') as other:
        other("threads")
        other("down")
    assert kept(system).find() is not None
    system.clew.up()
    system.model.release("here")
    check(system, started, whole(system))


def test_after_a_kill_during_a_text_the_turn_goes_on_and_is_joined(system: System, tmp_path: Path) -> None:
    system.clew.up()
    watched = system.clew.begin("run", HELD, "--workspace", str(tmp_path), "--json")
    system.model.wait_held("here")
    codex = kept(system).program
    system.clew.kill()
    system.clew.up()
    assert kept(system).program == codex
    thread = system.clew.json("threads")[0]["id"]
    system.clew.wait_for(thread, "turn.started")
    system.model.release("here")
    result = system.clew.wait(watched)
    assert result.code == 0, result.err
    assert whole(system) in system.clew("read", thread)
    assert system.model.count() == 1
    assert len([event for event in _log(system, thread) if event == "turn.ended"]) == 1


def _log(system: System, thread: str) -> list[str]:
    kinds = []
    for event in system.clew.events(thread):
        kinds.append(event.kind)
        if event.kind == "turn.ended":
            return kinds
    raise AssertionError("it never ends")


@pytest.mark.heavy
def test_text_written_while_no_daemon_runs_is_in_the_answer(system: System, tmp_path: Path) -> None:
    system.clew.up()
    started = start(system, tmp_path, HELD)
    system.model.wait_held("here")
    system.clew.kill_for_good()
    system.model.release("here")
    system.model.wait_left("here")
    system.clew.up()
    check(system, started, whole(system))


def test_after_a_kill_during_a_command_it_runs_once(system: System, tmp_path: Path) -> None:
    system.clew.up()
    os.mkfifo(tmp_path / "go")
    command = f"echo begun >> {tmp_path}/runs; cat {tmp_path}/go; echo done >> {tmp_path}/runs"
    started = start(system, tmp_path, f"!shell {command}\n!text the end", "--policy", "yolo")
    go = os.open(tmp_path / "go", os.O_WRONLY)  # waits until the command runs
    system.clew.kill()
    system.clew.up()
    os.close(go)
    check(system, started, "the end", requests=2)
    assert (tmp_path / "runs").read_text().split() == ["begun", "done"]


def test_after_a_kill_at_an_open_gate_it_stays_the_same_gate(system: System, tmp_path: Path) -> None:
    system.clew.up()
    started = start(system, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
    before = open_gate(system.clew, started["thread"])
    system.clew.kill()
    system.clew.up()
    [after] = system.clew.json("gates")
    assert (after["id"], after["code"], after["state"]) == (before["id"], before["code"], "open")
    system.clew("approve", before["code"])
    check(system, started, "the end", requests=2)
    assert runs(tmp_path / "runs") == 1


def test_after_a_kill_the_question_of_a_sub_agent_stays_the_same_gate(system: System, tmp_path: Path) -> None:
    """Also if Codex itself has answered before it."""
    system.clew.up()
    script = f"!approve echo ran >> {tmp_path}/runs"
    spawn = f"!tool multi_agent_v1.spawn_agent {json.dumps({'message': script})}"
    started = start(system, tmp_path, f"{spawn}\n!text the end", "--policy", "careful")
    before = open_gate(system.clew, started["thread"])
    system.clew.kill()
    system.clew.up()
    [after] = system.clew.json("gates")
    assert (after["id"], after["state"], after["agents"]) == (before["id"], "open", before["agents"])
    assert len(after["agents"]) == 1 and after["agents"][0].startswith("!approve echo ran")
    system.clew("approve", before["code"])
    check(system, started, "the end", requests=4)
    assert runs(tmp_path / "runs") == 1


@pytest.mark.parametrize(
    "point", ["gate.answered-not-sent", pytest.param("gate.sent-not-taken", marks=pytest.mark.heavy)]
)
def test_a_yes_is_sent_once_even_if_the_daemon_dies_at_it(system: System, tmp_path: Path, point: str) -> None:
    pid = system.clew.up(env={"CLEW_CRASH": point})
    started = start(system, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
    system.clew.run("approve", open_gate(system.clew, started["thread"])["code"])
    system.clew.wait_gone(pid)
    system.clew.up()
    system.clew.wait_for(started["thread"], "turn.ended")
    [gate] = system.clew.json("gates", "--thread", started["thread"])
    assert (gate["state"], gate["warning"], runs(tmp_path / "runs")) == ("taken", "", 1)
    check(system, started, "the end", requests=2)


@pytest.mark.heavy
@pytest.mark.parametrize("both", [False, True], ids=["codex", "both"])
def test_a_killed_kept_codex_behaves_as_on_stdio(system: System, tmp_path: Path, both: bool) -> None:
    system.clew.up()
    started = start(system, tmp_path, HELD)
    system.model.wait_held("here")
    if both:
        system.clew.kill_for_good()
    os.kill(kept(system).program.pid, signal.SIGKILL)
    system.model.wait_left("here")
    system.clew.up()
    system.model.release("here")
    system.clew.wait_for(started["thread"], "thread.status", status="completed")
    system.clew.wait_for(started["thread"], "delivery.sent")
    [final] = [each.json for each in system.hook.deliveries if each.json["kind"] == "final"]
    assert final["text"] == whole(system) and "continued" in final["note"] and final["turn"] != started["turn"]
    system.clew("down")
    assert (system.clew.children(), system.clew.alive()) == ([], [])


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(HELD, id="text"),
        pytest.param("!shell touch never\n!text the end", id="gate", marks=pytest.mark.heavy),
    ],
)
def test_down_during_a_turn_leaves_no_process_and_it_continues_later(
    system: System, tmp_path: Path, prompt: str
) -> None:
    system.clew.up()
    started = start(system, tmp_path, prompt)
    if "hold" in prompt:
        system.model.wait_held("here")
    else:
        system.clew.wait_for(started["thread"], "gate.opened")
    system.clew("down", "--grace", "0")
    assert (system.clew.children(), system.clew.alive()) == ([], [])
    system.clew.up()
    if "hold" in prompt:
        system.model.release("here")
        system.clew.wait_for(started["thread"], "delivery.sent")
        assert list(answers(system)) == [whole(system)]
    else:
        opened = (event for event in system.clew.events(started["thread"]) if event.kind == "gate.opened")
        first, second = next(opened), next(opened)
        states = [system.clew.json("gates", event.data["data"]["gate"])["state"] for event in (first, second)]
        assert states == ["void", "open"]


@pytest.mark.heavy
def test_down_with_only_a_kept_agent_lets_it_finish(system: System, tmp_path: Path) -> None:
    system.clew.up()
    started = start(system, tmp_path, HELD)
    system.model.wait_held("here")
    system.clew.kill_for_good()
    assert {row["role"] for row in system.clew.json("ps")} >= {"agent", "keeper"}
    assert "left" not in {row["role"] for row in system.clew.json("ps")}
    assert "is kept for the next daemon" in system.clew.run("doctor", "--clean").err
    down = system.clew.begin("down", "--grace", "60")
    system.model.release("here")
    assert system.clew.wait(down).code == 0
    assert (system.clew.children(), system.clew.alive()) == ([], [])
    system.clew.up()
    check(system, started, whole(system))


def test_restart_does_not_cut_turns_and_watchers_continue(system: System, tmp_path: Path) -> None:
    system.clew.up()
    watched = system.clew.begin("run", HELD, "--workspace", str(tmp_path), "--json")
    system.model.wait_held("here")
    codex = kept(system).program
    restarted = system.clew.run("restart", "--grace", "60")
    assert restarted.code == 0 and "what kept agents work on goes on, other turns get up to 60 s" in restarted.err
    assert kept(system).program == codex
    system.model.release("here")
    result = system.clew.wait(watched)
    assert result.code == 0, result.err
    assert json.loads(result.out)["text"] == whole(system)
    assert system.model.count() == 1
    system.clew("restart")  # idle now: the next daemon starts a new one
    assert kept_programs.running(system.clew.home) == []


def test_a_kept_agent_ends_if_no_daemon_returns(tmp_path: Path) -> None:
    with open_system(tmp_path, transport="socket", codex="keep_alive = 1") as system:
        system.clew.up()
        started = start(system, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
        open_gate(system.clew, started["thread"])
        one = kept(system)
        system.clew.kill_for_good()
        system.clew.wait_gone(one.program.pid)
        system.clew.wait_gone(one.keeper.pid)
        assert system.clew.children() == [] and not one.socket.exists()
        system.clew.up()
        system.clew.wait_for(started["thread"], "gate.void")
