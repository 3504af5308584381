"""Run, start, send, watch: on a real daemon with the scripted runtime."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from clew.cli.commands.run import print_open_gates
from clew.cli.output import Out
from clew.process import start
from tests.cli.terminal import read_until, read_words
from tests.helpers.daemons import Clew
from tests.helpers.views import turn_view

pytestmark = pytest.mark.process


def test_run_prints_the_answer_exactly(clew: Clew) -> None:
    result = clew.run("run", "!text two  words\tand more")
    assert (result.code, result.out) == (0, "two  words\tand more\n")
    assert re.fullmatch(r"· completed in \d+\.\d s, 15 tokens \(10 in, 5 out\)\n", result.err)


def test_run_streams_text_while_the_turn_runs(clew: Clew) -> None:
    gate = clew.gate("mid-text")
    running = clew.begin("run", "!text first\n!hold mid-text\n!text second")
    gate.wait()
    assert running.stdout is not None
    assert running.stdout.read(5) == "first"
    gate.release()
    assert clew.wait(running).out == "\nsecond\n"


def test_run_prints_activities_on_stderr(clew: Clew) -> None:
    result = clew.run("run", "!shell make test\n!text done")
    assert result.out == "done\n"
    assert result.err.startswith("· command: make test\n· completed in ")


def test_run_as_json_prints_the_result_and_nothing_else(clew: Clew) -> None:
    result = clew.json("run", "!text hello")
    assert (result["state"], result["text"], result["error"]) == ("completed", "hello", None)
    assert result["usage"]["total_tokens"] > 0
    assert result["seconds"] >= 0


def test_a_gate_that_closed_at_this_moment_is_not_named_by_an_empty_code(capsys: pytest.CaptureFixture[str]) -> None:
    class Nothing:
        def ask(self, request: object) -> list[object]:
            return []

    turn = turn_view(thread="T", state="waiting")
    print_open_gates(Out(), Nothing(), turn)  # type: ignore[arg-type]
    assert capsys.readouterr().err == "clew: the agent's question was just answered; clew watch T follows the turn\n"


def test_run_that_fails_says_why_and_exits_with_1(clew: Clew) -> None:
    result = clew.run("run", "!error server_error")
    assert result.code == 1
    assert "\nclew: " in result.err
    assert clew.json("run", "!error server_error", code=1)["state"] == "failed"


def test_run_that_fails_says_how_to_continue_its_thread(clew: Clew) -> None:
    result = clew.run("run", "!error server_error", "--title", "failing")
    assert result.err.endswith("clew read failing shows it; clew send failing '…' or clew chat failing continues it\n")


def test_a_prompt_of_a_dash_is_read_from_stdin(clew: Clew) -> None:
    assert clew.run("run", "-", input="!text from a pipe\n").out == "from a pipe\n"


def test_agent_text_cannot_control_the_terminal(clew: Clew) -> None:
    result = clew.run("run", "!text a\x1b[2Jb\x07")
    assert result.out == "a\\x1b[2Jb\\x07\n"


def test_ctrl_c_stops_the_turn_and_waits_for_its_end(clew: Clew) -> None:
    gate = clew.gate("to-be-stopped")
    running = clew.begin("run", "!hold to-be-stopped", "--title", "stop me")
    gate.wait()
    running.send_signal(signal.SIGINT)
    result = clew.wait(running)
    assert result.code == 4
    assert result.err.startswith("stopping the turn…")
    thread = clew.json("threads", "--text", "stop me")[0]
    assert thread["status"] == "idle"
    assert "clew send stop '…'" in result.err


def test_ctrl_c_does_not_repeat_text_written_before_an_activity(clew: Clew) -> None:
    gate = clew.gate("stopped-mid-way")
    running = clew.begin("run", "!text begun\n!shell make\n!hold stopped-mid-way")
    gate.wait()
    read_until(running, "command: make")
    running.send_signal(signal.SIGINT)
    result = clew.wait(running)
    assert (result.code, result.out) == (4, "begun\n")


def test_run_says_how_to_return_if_the_daemon_is_stopped(clew: Clew) -> None:
    gate = clew.gate("stopped-daemon")
    running = clew.begin("run", "!text begun\n!hold stopped-daemon", "--title", "left alone")
    gate.wait()
    read_words(running, 1)  # it is connected, so it receives the stop of the daemon
    clew("down", "--grace", "0")
    result = clew.wait(running)
    clew.up()
    thread = clew.json("threads", "--text", "left alone")[0]["id"]
    clew("stop", thread)
    assert result.code == 3
    assert result.err.endswith(f"open work continues; clew watch {thread} returns to it\n")


def test_a_second_ctrl_c_leaves_the_turn_running_and_says_how_to_return(clew: Clew) -> None:
    gate = clew.gate("to-be-left")
    running = clew.begin("run", "!text begun\n!hold to-be-left")
    gate.wait()
    read_words(running, 1)  # it knows its thread
    os.kill(clew.pid, signal.SIGSTOP)  # so that the first stop request is still pending
    try:
        running.send_signal(signal.SIGINT)
        read_until(running, "stopping the turn…")
        running.send_signal(signal.SIGINT)
        result = clew.wait(running)
    finally:
        os.kill(clew.pid, signal.SIGCONT)
    gate.release()
    assert result.code == 130
    assert "clew watch" in result.err


def test_run_continues_if_the_daemon_is_killed(clew: Clew) -> None:
    gate = clew.gate("killed")
    running = clew.begin("run", "!text begun\n!hold killed\n!text done")
    gate.wait()
    read_words(running, 1)
    with start.start_lock(clew.home, lambda line: None):  # so that it is restarted only when the test is ready
        clew.kill_for_good()
        gate.release()
    gate.wait()
    gate.release()
    result = clew.wait(running)
    assert (result.code, result.out.splitlines()[-1]) == (0, "done")
    assert "the turn was cut off and is continued" in result.err
    assert result.err.startswith("\nconnection lost; "), "not glued to the text"
    assert result.err.count("connection lost") == 1


def test_run_with_a_cut_off_turn_says_how_to_continue_it(clew: Clew) -> None:
    gate = clew.gate("cut-off")
    running = clew.begin("run", "!shell make\n!hold cut-off", "--title", "cut off")
    gate.wait()
    clew.kill()
    gate.release()
    result = clew.wait(running)
    assert result.code == 5
    assert "\nclew resume cut-off continue continues it" in result.err


def test_start_returns_at_once_and_the_task_completes_in_background(clew: Clew) -> None:
    gate = clew.gate("background")
    started = clew.json("start", "!hold background\n!text done", "--title", "errand")
    thread = started["thread"]
    gate.wait()
    assert clew.json("show", thread)["status"] == "running"
    gate.release()
    clew.wait_for(thread, "thread.status", status="completed")
    shown = clew.json("show", thread)
    assert (shown["status"], shown["kind"], shown["title"]) == ("completed", "task", "errand")


def test_start_without_json_prints_only_the_id(clew: Clew) -> None:
    printed = clew("start", "!text hi").strip()
    assert clew.json("show", printed)["id"] == printed


def test_the_current_folder_is_the_workspace_unless_another_is_given(clew: Clew, tmp_path: Path) -> None:
    here = clew.json("start", "!text hi")
    there = clew.json("start", "!text hi", "--workspace", str(tmp_path))
    assert clew.json("show", here["thread"])["workspace"] == str(Path.cwd())
    assert clew.json("show", there["thread"])["workspace"] == str(tmp_path)


def test_a_target_that_cannot_be_notified_is_refused_before_anything_starts(clew: Clew) -> None:
    before = len(clew.json("threads", "--limit", "1000"))
    error = clew.json("start", "!text hi", "--notify", "nowhere:1", code=2)["error"]
    assert "nowhere" in error["message"]
    assert len(clew.json("threads", "--limit", "1000")) == before


def test_a_file_is_copied_into_clews_own_folder(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("by heart")
    clew("run", "!text read it", "--file", str(tmp_path / "notes.txt"))
    assert [path.read_text() for path in clew.home.files.glob("*/notes.txt")] == ["by heart"]


def test_send_continues_a_thread(clew: Clew) -> None:
    thread = clew.json("run", "!text one")["thread"]
    sent = clew.json("send", thread, "!text two")
    assert (sent["thread"], sent["fate"]) == (thread, "turn")
    assert clew.wait_ended(sent)["text"] == "two"


def test_send_steers_a_running_turn_unless_queue_is_given(clew: Clew) -> None:
    gate = clew.gate("steered")
    running = clew.json("start", "!hold steered\n!text done")
    gate.wait()
    assert clew.json("send", running["thread"], "look left")["fate"] == "steer"
    queued = clew.json("send", running["thread"], "!text later", "--queue")
    assert (queued["fate"], queued["state"]) == ("turn", "queued")
    gate.release()
    assert clew.wait_ended(queued)["text"] == "later"


def test_send_to_a_cancelled_thread_is_refused_with_a_reason(clew: Clew) -> None:
    thread = clew.json("run", "!text hi")["thread"]
    clew("cancel", thread)
    result = clew.run("send", thread, "hello?")
    assert result.code == 1
    assert result.err.startswith(f"clew: Thread {clew.handle(thread)} is cancelled")


def test_watch_shows_text_as_it_is_written_and_how_it_ended(clew: Clew) -> None:
    gate = clew.gate("watched")
    thread = clew.json("start", "!hold watched\n!text look at this")["thread"]
    gate.wait()
    watching = clew.begin("watch", thread)
    read_until(watching, "watching")
    gate.release()
    said = read_until(watching, "thread is completed")
    assert "turn completed" in said
    assert clew.end(watching).out == "look at this\n"


def test_watch_as_json_prints_one_event_per_line(clew: Clew) -> None:
    watching = clew.begin("watch", "--json")
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["kind"] == "hello"
    thread = clew.json("start", "!text hi")["thread"]
    events = map(json.loads, watching.stdout)  # other threads may still send events
    event = next(each for each in events if each["data"].get("thread") == thread)
    assert event["kind"] == "thread.created"
    assert event["seq"] == event["data"]["seq"]
    clew.end(watching)


def test_watch_reconnects_after_a_restart_without_gap_or_repeat(clew: Clew) -> None:
    thread = clew.json("run", "!text before")["thread"]
    watching = clew.begin("watch", "--json", "--follow", thread)
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())
    clew("restart")
    clew.wait_ended(clew.json("send", thread, "!text after"))
    seen: list[Any] = []
    while "turn.ended" not in [event["kind"] for event in seen]:
        seen.append(json.loads(watching.stdout.readline()))
    clew.end(watching)
    assert not first["data"]["again"]
    assert [event["data"]["again"] for event in seen if event["kind"] == "hello"] == [True]
    numbers = [event["seq"] for event in seen if event["seq"] and event["kind"] != "hello"]
    stored = []
    for event in clew.events(thread):
        stored += [event.seq] if event.seq and event.kind != "hello" and event.seq > first["seq"] else []
        if event.kind == "turn.ended" and event.seq and event.seq > first["seq"]:
            break
    assert numbers == stored
