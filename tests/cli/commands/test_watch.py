"""`clew watch` and `clew run` with a killed daemon, and on a terminal."""

from __future__ import annotations

import pytest

from tests.cli.terminal import Terminal, read_until, read_words
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process

SLOW = "!slow 120 3"


def answer_of(clew: Clew, thread: str) -> str:
    return str([told["text"] for told in clew.json("read", thread) if told["role"] == "agent"][-1])


def test_watch_through_a_killed_daemon_shows_text_without_gap_or_repeat(clew: Clew) -> None:
    begin, end = clew.gate("watched-begin"), clew.gate("watched-kill")
    thread = clew.json("start", f"!hold watched-begin\n{SLOW}\n!hold watched-kill")["thread"]
    begin.wait()
    watching = clew.begin("watch", thread)
    read_until(watching, "watching")
    begin.release()
    begun = read_words(watching, 5)
    clew.kill()
    begin.release()  # the continuing turn reaches the hold again
    end.release()
    said = read_until(watching, "thread is completed")
    shown = begun + clew.end(watching).out
    cut, _, continued = shown.partition("\n")
    assert "the turn was cut off and is continued" in said
    assert continued == f"{answer_of(clew, thread)}\n"
    assert continued.startswith(cut) and len(cut.split()) >= 5


def test_watch_shows_the_rest_of_an_answer_that_ended_while_offline(clew: Clew) -> None:
    """The daemon is killed when the runtime is done and nothing is stored: the runtime's record brings the text,
    once."""
    gate = clew.gate("watched-end")
    clew("down")  # else its supervisor restarts it without the kill point
    dies = clew.up(env={"CLEW_CRASH": "turn.ended-not-owed"})
    thread = clew.json("start", f"!hold watched-end\n{SLOW}")["thread"]
    gate.wait()
    watching = clew.begin("watch", thread)
    read_until(watching, "watching")
    gate.release()
    read_until(watching, "thread is completed")
    assert clew.pid != dies
    assert clew.end(watching).out == f"{answer_of(clew, thread)}\n"
    assert clew.json("read", thread)[-1]["items"] == [], "what was stored of the answer is nothing that came before it"


def test_watch_started_in_mid_turn_shows_the_turn_so_far(clew: Clew) -> None:
    gate = clew.gate("late")
    thread = clew.json("start", "!text first\n!shell make\n!text second\n!hold late")["thread"]
    gate.wait()
    watching = clew.begin("watch", thread)
    assert "· command: make" in read_until(watching, "command")
    gate.release()
    read_until(watching, "thread is completed")
    assert clew.end(watching).out == "first\nsecond\n"


def test_watch_continues_with_the_next_turn_after_a_restart(clew: Clew) -> None:
    """Both turns use the same item names, because the runtime was restarted."""
    thread = clew.json("run", "!text zero")["thread"]
    watching = clew.begin("watch", thread, "--follow")
    read_until(watching, "watching")
    clew.json("send", thread, "!text one and more")
    read_until(watching, "turn completed")
    clew("restart")
    read_until(watching, "reconnected")
    clew.json("send", thread, "!text one")
    read_until(watching, "turn completed")
    assert clew.end(watching).out == "one and more\none\n"


def test_run_on_a_terminal_shows_progress_and_the_next_command(clew: Clew) -> None:
    gate = clew.gate("spinning")
    with Terminal(clew, ["run", "!shell make\n!hold spinning\n!text all is well"]) as terminal:
        gate.wait()
        terminal.read_until(" working ", 3)
        gate.release()
        assert terminal.wait() == 0
    activity, answer, summary, hint = terminal.lines
    assert (activity, answer) == ("· command: make", "all is well")
    assert summary.startswith("· completed in ") and hint.startswith("clew chat ")


@pytest.mark.parametrize("command", ["run", "watch"])
def test_words_are_on_a_terminal_before_their_block_is_complete(clew: Clew, command: str) -> None:
    gate, script = clew.gate(f"written-by-{command}"), f"!text so far **so** good\n!hold written-by-{command}"
    args = ["run", script] if command == "run" else ["watch", clew.json("start", script)["thread"]]
    with Terminal(clew, args) as terminal:
        terminal.read_until(" so far **so** good  ", 2)
        gate.wait()
        gate.release()
        assert terminal.wait() == 0
    assert [line for line in terminal.lines if "so far" in line] == ["so far so good"]


def test_watch_on_a_terminal_says_that_a_turn_waits_for_an_answer(clew: Clew) -> None:
    thread = clew.json("start", "!approve one\n!text done")["thread"]
    code = clew.wait_for(thread, "gate.opened").data["data"]["code"]
    with Terminal(clew, ["watch", thread]) as terminal:
        shown = terminal.read_until("waits for your answer (by a command in another terminal) ", 2)
        assert f"clew approve {code}" in shown and " working " not in shown
        clew("approve", code)
        assert terminal.wait() == 0
    assert "done" in terminal.lines and not any("waits for your" in line for line in terminal.lines)


def test_threads_on_a_terminal_fit_its_width(clew: Clew) -> None:
    clew("run", "!text the last line of it", "--title", "a long title " * 10)
    with Terminal(clew, ["threads"], columns=90) as terminal:
        assert terminal.wait() == 0
    head, first, *_, hint = terminal.shown.splitlines()
    assert head.split()[:3] == ["HANDLE", "STATUS", "TITLE"]
    assert "the last line of it" in first and "…" in first and len(first) <= 90
    assert hint.startswith("clew chat ")


def test_read_on_a_terminal_is_formatted_and_cannot_control_it(clew: Clew) -> None:
    thread = clew.json("run", "!text **bold** \x1b]0;title\x07 `code`")["thread"]
    with Terminal(clew, ["read", thread]) as terminal:
        assert terminal.wait() == 0
    assert "bold" in terminal.shown and "**bold**" not in terminal.shown.split("scripted,")[-1]
    assert "\x1b]0;" not in terminal.raw and "\x07" not in terminal.raw
    assert "**bold**" in clew("read", thread)
    name = clew.handle(thread)
    assert terminal.lines[-1] == f"clew send {name} '…' or clew chat {name} continues it", "and not to read it again"


@pytest.mark.parametrize(("script", "code"), [("!text hi", 0), ("!error server_error", 1)])
def test_watch_ends_with_its_thread_and_says_how_by_its_exit_code(clew: Clew, script: str, code: int) -> None:
    gate = clew.gate(f"watched-to-its-end-{code}")
    thread = clew.json("start", f"!hold watched-to-its-end-{code}\n{script}")["thread"]
    gate.wait()
    watching = clew.begin("watch", thread)
    read_until(watching, "watching")
    gate.release()
    assert clew.wait(watching).code == code
    assert clew.run("watch", thread).code == code, "a thread that has ended is not waited for"
