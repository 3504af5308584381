"""`clew wait`: for scripts that go on when a thread has ended."""

from __future__ import annotations

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("script", "code", "outcome"),
    [
        ("!text done", 0, "completed"),
        ("!error server_error", 1, "failed"),
        ("!approve make", 5, "waits"),
    ],
)
def test_wait_ends_with_the_thread_and_its_exit_code_says_how(clew: Clew, script: str, code: int, outcome: str) -> None:
    gate = clew.gate(f"awaited-{code}")
    thread = clew.json("start", f"!hold awaited-{code}\n{script}")["thread"]
    gate.wait()
    waiting = clew.begin("wait", thread, "--json")
    gate.release()
    result = clew.wait(waiting)
    assert result.code == code and result.json == [{"thread": thread, "outcome": outcome}]
    assert clew.run("wait", clew.handle(thread)).code == code, "a thread that has ended is not waited for"


def test_wait_tells_a_stopped_thread_from_a_failed_one(clew: Clew) -> None:
    gate = clew.gate("awaited-stop")
    thread = clew.json("start", "!hold awaited-stop", "--title", "stopped one")["thread"]
    gate.wait()
    waiting = clew.begin("wait", thread)
    clew("stop", thread)
    result = clew.wait(waiting)
    assert result.code == 4 and result.out.startswith("stopped-one  stopped")


def test_wait_for_several_ends_with_the_worst_and_for_any_with_the_first(clew: Clew) -> None:
    gate = clew.gate("awaited-last")
    good, bad = (clew.json("start", text)["thread"] for text in ("!text good", "!error server_error"))
    held = clew.json("start", "!hold awaited-last")["thread"]
    gate.wait()
    assert clew.run("wait", good, bad).code == 1
    assert clew.run("wait", held, good, "--any", "--json").json == [{"thread": good, "outcome": "completed"}]
    gate.release()
    assert clew.run("wait", held, good).code == 0


def test_wait_gives_up_after_its_timeout(clew: Clew) -> None:
    gate = clew.gate("awaited-too-long")
    thread = clew.json("start", "!hold awaited-too-long", "--title", "too long")["thread"]
    gate.wait()
    result = clew.run("wait", thread, "--timeout", "0.2")
    assert result.code == 6 and "still working: too-long" in result.err
    gate.release()


def test_wait_survives_a_killed_daemon(clew: Clew) -> None:
    gate = clew.gate("awaited-kill")
    thread = clew.json("start", "!hold awaited-kill\n!text done")["thread"]
    gate.wait()
    waiting = clew.begin("wait", thread)
    clew.kill()
    gate.release()
    gate.release()  # the continuing turn reaches the hold again
    assert clew.wait(waiting).code == 0


def test_a_question_that_does_not_block_is_not_waited_for(clew: Clew) -> None:
    gate = clew.gate("works-on")
    thread = clew.json("start", "!aside Shall I also? | yes | no\n!hold works-on\n!text done")["thread"]
    gate.wait()
    assert clew.json("show", thread)["gates"] != []
    assert clew.run("wait", thread, "--timeout", "0.2").code == 6, "it works on"
    gate.release()
    assert clew.run("wait", thread).code == 0
    assert clew.json("show", thread)["gates"] != []
    assert thread not in {each["id"] for each in clew.json("threads", "--status", "waiting")}


@pytest.mark.parametrize("command", ["wait", "watch"])
def test_a_thread_that_does_not_exist_has_not_failed(clew: Clew, command: str) -> None:
    result = clew.run(command, "nosuch", "--json")
    assert result.code == 2 and result.json["error"]["code"] == "not_found"
