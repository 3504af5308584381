"""A complete clew with the real Claude Code: kill -9 of the daemon; sessions that move from a terminal and back."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.testing.scripted_model import write_claude_home
from tests.helpers.daemons import TIMEOUT, Clew
from tests.helpers.models import Model
from tests.runtimes.claude_program import PROGRAM, skip_without_claude

pytestmark = pytest.mark.process


@dataclass(frozen=True, slots=True)
class Setup:
    clew: Clew
    model: Model
    home: Path
    folder: Path

    def claude(self, *args: str) -> str:
        """The person's own Claude, without clew."""
        env = {**os.environ, "CLAUDE_CONFIG_DIR": str(self.home)}
        argv = [PROGRAM, "-p", *args]
        done = subprocess.run(
            argv, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.strip()


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    skip_without_claude()
    folder = tmp_path / "work"
    folder.mkdir()
    with Model() as model:
        home = write_claude_home(tmp_path / "claude", model.url.removesuffix("/v1"))
        config = f'[threads]\nruntime = "claude"\n[runtimes.claude]\ncommand = "{PROGRAM}"\nhome = "{home}"\n'
        with Clew(tmp_path / "home", config) as clew:
            yield Setup(clew, model, home, folder)


def test_an_answer_that_was_finished_before_a_crash_is_not_asked_for_again(setup: Setup) -> None:
    clew = setup.clew
    pid = clew.up(env={"CLEW_CRASH": "turn.ended-not-owed"})
    thread = clew.json("start", "only-once\n!text the answer", "--workspace", str(setup.folder))["thread"]
    clew.wait_gone(pid)
    clew.up()
    clew.wait_for(thread, "turn.ended", state="completed")
    assert clew.json("read", thread)[-1]["text"] == "the answer"
    assert setup.model.count("only-once") == 1
    clew("down")
    assert clew.children() == []


def test_a_text_that_claude_works_on_while_clew_dies_is_asked_for_once_and_delivered_once(setup: Setup) -> None:
    clew = setup.clew
    clew.up()
    thread = clew.json(
        "start", "only-once\n!text begun\n!hold killed\n!text and done", "--workspace", str(setup.folder)
    )["thread"]
    setup.model.wait_held("killed")
    clew.kill()
    clew.up()
    setup.model.release("killed")
    clew.wait_for(thread, "turn.ended", state="completed")
    said = [each["text"] for each in clew.json("read", thread)]
    assert said[1:] == ["begun\nand done"]
    assert setup.model.count("only-once") == 1
    clew("down")
    assert clew.children() == []


@pytest.mark.heavy
def test_a_claude_that_asks_while_clew_dies_is_ended_and_a_person_is_asked_anew(setup: Setup) -> None:
    """Claude would take the silence for a no, and tell the model so."""
    clew = setup.clew
    clew.up()
    thread = clew.json("start", "!approve touch made\n!text two", "--workspace", str(setup.folder))["thread"]
    asked = clew.wait_for(thread, "gate.opened")
    clew.kill()
    clew.up()
    next(event for event in clew.events(thread, asked.seq) if event.kind == "gate.opened")
    assert not (setup.folder / "made").exists()
    clew("approve", clew.json("gates")[0]["code"])
    clew.wait_for(thread, "turn.ended", state="completed")
    assert (setup.folder / "made").exists()
    assert clew.json("read", thread)[-1]["text"] == "two"
    clew("down")
    assert clew.children() == []


@pytest.mark.heavy
def test_a_claude_that_is_stopped_after_clew_died_ends(setup: Setup) -> None:
    clew = setup.clew
    clew.up()
    thread = clew.json("start", "!hold stopped\n!text never", "--workspace", str(setup.folder))["thread"]
    setup.model.wait_held("stopped")
    clew.kill()
    clew.up()
    clew("stop", thread)
    clew.wait_for(thread, "turn.ended", state="interrupted")
    setup.model.wait_left("stopped")
    view = clew.wait_ended(clew.json("send", thread, "!text well"))
    assert view["text"] == "well"


@pytest.mark.heavy
def test_a_turn_that_was_refused_for_a_limit_before_a_crash_is_parked_until_the_limit_is_over(setup: Setup) -> None:
    write_claude_home(setup.home, setup.model.address, subscription=True)
    pid = setup.clew.up(env={"CLEW_CRASH": "turn.ended-not-owed"})
    resets_at = int(time.time()) + 3 * 3600
    thread = setup.clew.json("start", f"!limit five_hour {resets_at}", "--workspace", str(setup.folder))["thread"]
    setup.clew.wait_gone(pid)
    setup.clew.up()
    setup.clew.wait_for(thread, "thread.status", status="suspended")
    assert setup.clew.json("show", thread)["wake_at"] >= resets_at * 1000


@pytest.mark.heavy
def test_a_rule_of_clew_denies_a_tool_that_is_free_otherwise(setup: Setup) -> None:
    setup.clew("rules", "add", "deny", "agent", "--kind", "tool")
    call = '!tool Agent {"description": "look", "prompt": "!text below", "subagent_type": "general-purpose"}'
    where = ("--workspace", str(setup.folder), "--policy", "yolo")
    thread = setup.clew.json("start", f"above\n{call}\n!text done", *where)["thread"]
    setup.clew.wait_for(thread, "turn.ended", state="completed")
    assert setup.model.count("below") == setup.model.count("above"), "the sub-agent has asked nothing"


@pytest.mark.heavy
def test_a_session_moves_from_the_terminal_to_clew_and_back(setup: Setup) -> None:
    assert setup.claude("begun outside\n!text one") == "one"
    (listed,) = setup.clew.json("adopt", "--workspace", str(setup.folder))
    assert (listed["runtime"], listed["title"], listed["in_use"]) == ("claude", "begun outside", None)
    thread = setup.clew.json("adopt", "1")
    view = setup.clew.wait_ended(setup.clew.json("send", thread["id"], "!recall"))
    assert view["text"] == "I remember 2 messages. The first was: begun outside"
    command = setup.clew("release", thread["id"]).strip()
    assert command.endswith(f"--resume {listed['id']}")
    assert setup.claude("--resume", listed["id"], "!text back at the desk") == "back at the desk"
    view = setup.clew.wait_ended(setup.clew.json("send", thread["id"], "!recall"))
    assert view["text"].startswith("I remember 4 messages.")
    passages = [(each["text"], each["outside"]) for each in setup.clew.json("read", thread["id"])]
    assert passages[-4:-2] == [("!text back at the desk", True), ("back at the desk", True)]
    assert setup.clew.json("adopt", "--all") == []


@pytest.mark.heavy
def test_what_claude_does_by_itself_is_a_turn_made_outside(setup: Setup) -> None:
    call = '!tool Bash {"command": "sleep 3", "run_in_background": true, "description": "look"}'
    where = ("--workspace", str(setup.folder), "--policy", "yolo")
    thread = setup.clew.json("start", f"{call}\n!text begun", *where)["thread"]
    setup.clew.wait_for(thread, "thread.taken_in")
    said = [(each["author"], each["outside"]) for each in setup.clew.json("read", thread)]
    assert said[-2:] == [("claude", True), ("claude", True)]


@pytest.mark.heavy
def test_doctor_ping_and_runtimes_know_claude(setup: Setup) -> None:
    steps = setup.clew.json("ping", "claude")
    assert "pong" in str(steps)
    assert not list((setup.home / "projects").glob("*/*.jsonl")), "the ping left a session"
    assert "claude" in str(setup.clew.json("runtimes"))
    (found,) = [each for each in setup.clew.json("doctor") if each["check"] == "claude"]
    assert found["ok"] and PROGRAM in found["detail"]
