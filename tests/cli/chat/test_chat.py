"""`clew chat` on a real daemon: with a pipe, and on a terminal."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, read_words
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


def by_pipe(clew: Clew, *lines: str, args: tuple[str, ...] = ()) -> tuple[int, str, str]:
    result = clew.run("chat", *args, input="".join(f"{line}\n" for line in lines))
    return result.code, result.out, result.err


def test_each_piped_line_is_a_message_in_one_thread_and_is_answered(clew: Clew) -> None:
    code, out, err = by_pipe(clew, "!text one", "", "!shell ls", "!recall")
    assert (code, out) == (0, "one\nI know 3 messages. The first: !text one\n")
    assert "· command: ls" in err and err.count("· completed in") == 3


def test_a_piped_message_may_have_several_lines(clew: Clew) -> None:
    assert by_pipe(clew, "!text one\\", "!text two")[1] == "one\ntwo\n"


def test_chat_continues_an_open_thread_and_resumes_a_finished_one(clew: Clew) -> None:
    thread = clew.json("run", "!text one")["thread"]
    assert by_pipe(clew, "/done", "!recall", args=(thread[:20].lower(),))[1] == (
        "I know 2 messages. The first: !text one\n"
    )
    assert clew.json("show", thread)["status"] == "idle"


def test_piped_commands(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("chatted")
    code, out, err = by_pipe(
        clew, f"/attach {tmp_path / 'notes.txt'}", "!text one", "/fork", "/status", "/where", "/quit", "x"
    )
    assert code == 0
    assert re.search(r"title +!text one \(fork\)\n", out)
    assert "· attached notes.txt" in err and "· it has no deliveries yet" in err
    assert [path.read_text() for path in clew.home.files.glob("*/notes.txt")] == ["chatted"]


def test_a_mistyped_command_fails_and_the_next_line_still_runs(clew: Clew) -> None:
    code, out, err = by_pipe(clew, "/statsu", "!text fine")
    assert (code, out) == (1, "fine\n")
    assert err.startswith("clew: There is no /statsu; did you mean /status?")


def test_a_failed_turn_says_why_and_sets_the_exit_code(clew: Clew) -> None:
    code, _, err = by_pipe(clew, "!error server_error")
    assert code == 1
    assert "clew: The model said server_error." in err


def test_with_json_each_answer_is_a_line(clew: Clew) -> None:
    code, out, _ = by_pipe(clew, "!text one", "/hlep", "!text two", args=("--json",))
    one, wrong, two = map(json.loads, out.splitlines())
    assert (code, one["text"], two["text"], one["thread"]) == (1, "one", "two", two["thread"])
    assert "There is no /hlep" in wrong["error"]["message"]


def test_a_piped_chat_survives_a_killed_daemon(clew: Clew) -> None:
    gate, again = clew.gate("piped-kill"), clew.gate("piped-kill")
    chatting = clew.begin("chat")
    assert chatting.stdin is not None
    chatting.stdin.write("!text before\n!text one\\\n!hold piped-kill\\\n!text two\n")
    chatting.stdin.close()
    chatting.stdin = None
    gate.wait()
    begun = read_words(chatting, 2)
    clew.kill()
    again.release_with(gate)
    result = clew.wait(chatting)
    assert result.code == 0
    assert begun + result.out == "before\none\none\ntwo\n"  # cut off after `one`, and continued from the start
    assert "the turn was cut off and is continued" in result.err


@pytest.fixture
def chat(clew: Clew) -> Iterator[Terminal]:
    with Terminal(clew, ["chat"]) as terminal:
        terminal.read_until("a new thread · /help")
        yield terminal


def thread_of(terminal: Terminal) -> str:
    """The thread that the toolbar names."""
    return terminal.find(r"(?<!new )\b([a-z][a-z0-9-]+) · /help")


def test_answers_appear_above_the_prompt(chat: Terminal, clew: Clew) -> None:
    chat.type("!text hello \x1b\r!shell make\r")
    chat.read_until("turn completed")
    assert "· command: make" in chat.shown
    assert "› !text hello" in chat.shown and "… !shell make" in chat.shown
    assert "^[[" not in chat.shown, "the terminal echoed what it says about its cursor"
    chat.type("/quit\r")
    assert chat.wait() == 0
    thread = re.search(r"clew chat ([\w-]+) returns to it", chat.shown)
    assert thread and clew.json("show", thread[1])["status"] == "idle"


def test_a_running_turn_is_steered_queued_behind_or_stopped_by_ctrl_c(chat: Terminal, clew: Clew) -> None:
    gate = clew.gate("steered-here")
    chat.type("!hold steered-here\r")
    gate.wait()
    chat.read_until("working")
    chat.type("look left\r")
    chat.read_until("· Passed on to the running turn.")
    chat.type("/queue !text queued\r")
    chat.read_until("· Queued: it runs next.")
    chat.type("half a line\x03")
    chat.read_until("· stopping the turn…")
    chat.read_until("turn stopped")
    chat.read_until("turn completed")
    assert "queued" in chat.shown
    chat.type("\x03\x03\x03")  # clears the line, then says how to leave
    chat.read_until("· Ctrl-D or /quit leaves")
    chat.type("\x04")
    assert chat.wait() == 0


def test_messages_from_elsewhere_are_shown_and_own_ones_are_not(chat: Terminal, clew: Clew) -> None:
    gate = clew.gate("elsewhere")
    chat.type("!text from here\r")
    chat.read_until("turn completed")
    thread = thread_of(chat)
    clew("send", thread, "!hold elsewhere")
    chat.read_until("· from elsewhere: !hold elsewhere")
    gate.wait()
    clew("send", thread, "look left")
    chat.read_until("· from elsewhere: look left")
    chat.type("look right\r")
    chat.read_until("· Passed on to the running turn.")
    gate.release()
    chat.read_until("turn completed", 2)
    assert chat.shown.count("from elsewhere") == 2
    chat.type("\x04")
    assert chat.wait() == 0


def test_an_image_pasted_as_data_is_sent_with_the_next_message(chat: Terminal, clew: Clew) -> None:
    chat.type("\x1b[200~data:image/png;base64,cGFzdGVk\x1b[201~")
    chat.read_until("· attached pasted.png")
    chat.type("!text seen\r")
    chat.read_until("turn completed")
    assert "cGFzdGVk" not in chat.shown
    assert [path.read_bytes() for path in clew.home.files.glob("*/pasted.png")] == [b"pasted"]
    chat.type("\x04")
    assert chat.wait() == 0


def test_ctrl_d_leaves_the_turn_running_and_chat_can_return_to_it(chat: Terminal, clew: Clew) -> None:
    gate = clew.gate("left-here")
    chat.type("!text begun\\\r!hold left-here\\\r!text ended\r")
    gate.wait()
    chat.read_until("working")
    chat.type("\x04")
    assert chat.wait() == 0
    left = re.search(r"left it running; clew chat ([\w-]+) returns to it", chat.shown)
    assert left and clew.json("show", left[1])["status"] == "running"
    with Terminal(clew, ["chat", left[1]]) as again:
        again.read_until("begun\n")
        gate.release()
        again.read_until("turn completed")
        assert "ended" in again.shown
        again.type("\x04")
        assert again.wait() == 0


def test_chat_survives_a_killed_daemon_and_says_so(chat: Terminal, clew: Clew) -> None:
    gate, again = clew.gate("chat-kill"), clew.gate("chat-kill")
    chat.type("!text the first line\\\r!hold chat-kill\\\r!text the last line\r")
    gate.wait()
    chat.read_until("the first line\n")
    clew.kill()
    again.release_with(gate)
    chat.read_until("turn completed")
    said = chat.shown
    assert said.count("· reconnected; the daemon was away for") == 1
    assert "the turn was cut off and is continued" in said
    chat.type("!text and on\r")
    chat.read_until("turn completed", 2)
    chat.type("\x04")
    assert chat.wait() == 0


def test_chat_switches_between_threads(chat: Terminal, clew: Clew) -> None:
    other = clew.json("run", "!text from the other one", "--title", "the other")["thread"]
    chat.type("!text here\r")
    chat.read_until("turn completed")
    here = thread_of(chat)
    chat.type("/res")
    chat.read_until("Continue a thread here")  # the menu
    chat.type(f"\t{other.lower()}\r")
    chat.read_until("· other, idle: the other")
    chat.read_until("from the other one\n")
    clew.wait_ended(clew.json("send", here, "!text not seen"))
    clew.wait_ended(clew.json("send", other, "!text seen"))
    chat.read_until("turn completed", 2)
    assert "not seen" not in chat.shown
    chat.type("\x04")
    assert chat.wait() == 0


def test_gates_are_answered_by_commands_of_the_chats(chat: Terminal) -> None:
    chat.type("!approve make deploy\r")
    code = chat.find(r"([A-Z0-9]{4}): the agent asks to run a command")
    chat.type("／待办\r")
    chat.read_until("make deploy", 2)
    chat.type(f"/deny {code} not today\r")
    chat.read_until(f"· {code}: no by you")
    chat.read_until("turn completed")
    chat.type("/quit\r")
    assert chat.wait() == 0


def test_the_next_message_starts_a_stopped_daemon(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up()
        with Terminal(clew, ["chat"]) as chat:
            chat.type("!text one\r")
            chat.read_until("turn completed")
            clew("down")
            chat.read_until("clew: the daemon was stopped")
            chat.type("!text two\r")
            chat.read_until("turn completed", 2)
            chat.type("\x04")
            assert chat.wait() == 0
        assert stat.S_IMODE((clew.root / "chat_history").stat().st_mode) == 0o600
        assert "+!text two" in (clew.root / "chat_history").read_text()
