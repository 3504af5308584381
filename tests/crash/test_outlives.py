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

HELD = "!say 30 words\n!hold here\n!text the end"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[System]:
    with open_system(tmp_path, transport="socket") as made:
        yield made


def start(desk: System, folder: Path, prompt: str, *more: str) -> Any:
    return desk.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder), *more)


def kept(desk: System) -> KeptProgram:
    [one] = kept_programs.running(desk.clew.home)
    return one


def check(desk: Desk, started: Any, text: str, requests: int = 1) -> None:
    """Assert one complete answer of the same turn, and no extra model request."""
    desk.clew.wait_for(started["thread"], "delivery.sent", delivery=f"{started['turn']}:final")
    [final] = [each.json for each in desk.hook.deliveries if each.json["kind"] == "final"]
    assert (final["text"], final["turn"], final.get("note")) == (text, started["turn"], None)
    assert desk.clew.json("show", started["thread"])["status"] == "completed"
    assert desk.model.count() == requests
    stored = desk.clew("read", started["thread"])
    assert text in stored
    desk.clew("down")
    assert (desk.clew.children(), desk.clew.alive()) == ([], [])
    assert unfinished(desk.clew.home.database) == []


def whole(desk: System) -> str:
    return f"{' '.join(('never lose the thread that leads you back out of the maze ' * 3).split()[:30])}\nthe end"


def test_a_copy_of_the_home_does_not_end_the_originals_kept_codex(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, HELD)
    desk.model.wait_held("here")
    desk.clew.kill_for_good()
    copy = shutil.copytree(desk.clew.root, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
    with Clew(Path(copy), '[threads]\nruntime = "scripted"\n') as other:
        other("threads")
        other("down")
    assert kept(desk).find() is not None
    desk.clew.up()
    desk.model.release("here")
    check(desk, started, whole(desk))


def test_after_a_kill_during_a_text_the_turn_goes_on_and_is_joined(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    watched = desk.clew.begin("run", HELD, "--workspace", str(tmp_path), "--json")
    desk.model.wait_held("here")
    codex = kept(desk).program
    desk.clew.kill()
    desk.clew.up()
    assert kept(desk).program == codex
    thread = desk.clew.json("threads")[0]["id"]
    desk.clew.wait_for(thread, "turn.started")
    desk.model.release("here")
    result = desk.clew.wait(watched)
    assert result.code == 0, result.err
    assert whole(desk) in desk.clew("read", thread)
    assert desk.model.count() == 1
    assert len([event for event in _log(desk, thread) if event == "turn.ended"]) == 1


def _log(desk: System, thread: str) -> list[str]:
    kinds = []
    for event in desk.clew.events(thread):
        kinds.append(event.kind)
        if event.kind == "turn.ended":
            return kinds
    raise AssertionError("it never ends")


@pytest.mark.heavy
def test_text_written_while_no_daemon_runs_is_in_the_answer(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, HELD)
    desk.model.wait_held("here")
    desk.clew.kill_for_good()
    desk.model.release("here")
    desk.model.wait_left("here")
    desk.clew.up()
    check(desk, started, whole(desk))


def test_after_a_kill_during_a_command_it_runs_once(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    os.mkfifo(tmp_path / "go")
    command = f"echo begun >> {tmp_path}/runs; cat {tmp_path}/go; echo done >> {tmp_path}/runs"
    started = start(desk, tmp_path, f"!shell {command}\n!text the end", "--policy", "yolo")
    go = os.open(tmp_path / "go", os.O_WRONLY)  # waits until the command runs
    desk.clew.kill()
    desk.clew.up()
    os.close(go)
    check(desk, started, "the end", requests=2)
    assert (tmp_path / "runs").read_text().split() == ["begun", "done"]


def test_after_a_kill_at_an_open_gate_it_stays_the_same_gate(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
    before = open_gate(desk.clew, started["thread"])
    desk.clew.kill()
    desk.clew.up()
    [after] = desk.clew.json("gates")
    assert (after["id"], after["code"], after["state"]) == (before["id"], before["code"], "open")
    desk.clew("approve", before["code"])
    check(desk, started, "the end", requests=2)
    assert runs(tmp_path / "runs") == 1


@pytest.mark.parametrize(
    "point", ["gate.answered-not-sent", pytest.param("gate.sent-not-taken", marks=pytest.mark.heavy)]
)
def test_a_yes_is_sent_once_even_if_the_daemon_dies_at_it(desk: System, tmp_path: Path, point: str) -> None:
    pid = desk.clew.up(env={"CLEW_CRASH": point})
    started = start(desk, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
    desk.clew.run("approve", open_gate(desk.clew, started["thread"])["code"])
    desk.clew.wait_gone(pid)
    desk.clew.up()
    desk.clew.wait_for(started["thread"], "turn.ended")
    [gate] = desk.clew.json("gates", "--thread", started["thread"])
    assert (gate["state"], gate["warning"], runs(tmp_path / "runs")) == ("taken", "", 1)
    check(desk, started, "the end", requests=2)


@pytest.mark.heavy
@pytest.mark.parametrize("both", [False, True], ids=["codex", "both"])
def test_a_killed_kept_codex_behaves_as_on_stdio(desk: System, tmp_path: Path, both: bool) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, HELD)
    desk.model.wait_held("here")
    if both:
        desk.clew.kill_for_good()
    os.kill(kept(desk).program.pid, signal.SIGKILL)
    desk.model.wait_left("here")
    desk.clew.up()
    desk.model.release("here")
    desk.clew.wait_for(started["thread"], "thread.status", status="completed")
    desk.clew.wait_for(started["thread"], "delivery.sent")
    [final] = [each.json for each in desk.hook.deliveries if each.json["kind"] == "final"]
    assert final["text"] == whole(desk) and "continued" in final["note"] and final["turn"] != started["turn"]
    desk.clew("down")
    assert (desk.clew.children(), desk.clew.alive()) == ([], [])


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(HELD, id="text"),
        pytest.param("!shell touch never\n!text the end", id="gate", marks=pytest.mark.heavy),
    ],
)
def test_down_during_a_turn_leaves_no_process_and_it_continues_later(desk: System, tmp_path: Path, prompt: str) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, prompt)
    if "hold" in prompt:
        desk.model.wait_held("here")
    else:
        desk.clew.wait_for(started["thread"], "gate.opened")
    desk.clew("down", "--grace", "0")
    assert (desk.clew.children(), desk.clew.alive()) == ([], [])
    desk.clew.up()
    if "hold" in prompt:
        desk.model.release("here")
        desk.clew.wait_for(started["thread"], "delivery.sent")
        assert list(answers(desk)) == [whole(desk)]
    else:
        opened = (event for event in desk.clew.events(started["thread"]) if event.kind == "gate.opened")
        first, second = next(opened), next(opened)
        states = [desk.clew.json("gates", event.data["data"]["gate"])["state"] for event in (first, second)]
        assert states == ["void", "open"]


@pytest.mark.heavy
def test_down_with_only_a_kept_agent_lets_it_finish(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    started = start(desk, tmp_path, HELD)
    desk.model.wait_held("here")
    desk.clew.kill_for_good()
    assert {row["role"] for row in desk.clew.json("ps")} >= {"agent", "keeper"}
    assert "left" not in {row["role"] for row in desk.clew.json("ps")}
    assert "is kept for the next daemon" in desk.clew.run("doctor", "--clean").err
    down = desk.clew.begin("down", "--grace", "60")
    desk.model.release("here")
    assert desk.clew.wait(down).code == 0
    assert (desk.clew.children(), desk.clew.alive()) == ([], [])
    desk.clew.up()
    check(desk, started, whole(desk))


def test_restart_does_not_cut_turns_and_watchers_continue(desk: System, tmp_path: Path) -> None:
    desk.clew.up()
    watched = desk.clew.begin("run", HELD, "--workspace", str(tmp_path), "--json")
    desk.model.wait_held("here")
    codex = kept(desk).program
    restarted = desk.clew.run("restart", "--grace", "60")
    assert restarted.code == 0 and "what Codex works on goes on, other turns get up to 60 s" in restarted.err
    assert kept(desk).program == codex
    desk.model.release("here")
    result = desk.clew.wait(watched)
    assert result.code == 0, result.err
    assert json.loads(result.out)["text"] == whole(desk)
    assert desk.model.count() == 1
    desk.clew("restart")  # idle now: the next daemon starts a new one
    assert kept_programs.living(desk.clew.home) == []


def test_a_kept_agent_ends_if_no_daemon_returns(tmp_path: Path) -> None:
    with open_system(tmp_path, transport="socket", codex="keep_alive = 1") as desk:
        desk.clew.up()
        started = start(desk, tmp_path, f"!shell echo ran >> {tmp_path}/runs\n!text the end")
        open_gate(desk.clew, started["thread"])
        one = kept(desk)
        desk.clew.kill_for_good()
        desk.clew.wait_gone(one.program.pid)
        desk.clew.wait_gone(one.keeper.pid)
        assert desk.clew.children() == [] and not one.socket.exists()
        desk.clew.up()
        desk.clew.wait_for(started["thread"], "gate.void")
