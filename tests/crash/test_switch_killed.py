"""A thread that is switched from the real Codex to another agent and back, with the daemon killed by SIGKILL on the
way: one answer each, each agent is told what the other did, once, and no memory is touched by the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import System, open_system
from tests.crash.flows import ask

pytestmark = pytest.mark.process

SCRIPTED = "[runtimes.scripted]\nenabled = true"
POINTS = {
    "after the switch and before its response": "switch.stored-not-answered",
    "when the prelude is stored and not sent": "prelude.stored-not-sent",
    "when the new agent has the turn and we have not written that": "turn.sent-not-recorded",
    "in a commit": "store.written-not-committed:5",
}


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    with open_system(tmp_path, more=SCRIPTED) as made:
        yield made


def memory_of_codex(folder: Path) -> str:
    """A hash of all that Codex stored of its sessions."""
    files = sorted((folder / "codex" / "sessions").rglob("*.jsonl"))
    assert files
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def memory_of_scripted(folder: Path) -> list[dict[str, object]]:
    [file] = (folder / "home" / "scripted").glob("*.json")
    found: list[dict[str, object]] = json.loads(file.read_text())
    return found


def switch(system: System, thread: str, runtime: str) -> None:
    """It may be repeated: who works on the thread already stays."""
    while system.clew.run("switch", thread, runtime).code != 0:
        system.clew.up()


def say(system: System, thread: str, text: str) -> str:
    """Send it, and wait for its answer through any number of daemons."""
    return answer(system, thread, system.clew.json("send", thread, text)["turn"])


def answer(system: System, thread: str, turn: str) -> str:
    """The answer to a turn, or to the one that continues it."""
    while (found := ask(system, "turns", turn))["ended_at"] is None or found["continued_by"]:
        system.clew.run("wait", thread)
        turn = found["continued_by"] or turn
    return str(found["text"])


@pytest.mark.parametrize("point", [pytest.param(point, id=name) for name, point in POINTS.items()])
def test_each_agent_is_told_once_wherever_the_daemon_is_killed(system: System, tmp_path: Path, point: str) -> None:
    clew = system.clew
    clew.up()
    thread = clew.json("start", "!text one", "--notify", "webhook:x", "--workspace", str(tmp_path))["thread"]
    clew.wait_for(thread, "delivery.sent")
    clew("down")
    before = memory_of_codex(tmp_path)
    clew.run("up", env={"CLEW_CRASH": point})

    switch(system, thread, "scripted")
    assert say(system, thread, "!recall").endswith("messages. The first: !text one")
    told = "".join(str(entry["prelude"]) for entry in memory_of_scripted(tmp_path))
    assert told.count("> !text one") == told.count("Codex answered:\n> one\n") == 1
    assert memory_of_codex(tmp_path) == before, "Codex works on while another agent has the thread"

    switch(system, thread, "codex")
    kept = memory_of_scripted(tmp_path)
    assert say(system, thread, "!recall").endswith("The first was: !text one"), "its own memory goes on"
    [prelude] = [each["prelude"] for each in ask(system, "threads", thread, "transcript") if each["prelude"]][1:]
    assert (prelude["runtime"], prelude["left_out"]) == ("codex", 0)
    assert say(system, thread, "!text three") == "three"
    assert memory_of_scripted(tmp_path) == kept
    assert clew.run("verify", thread).code == 0
    texts = [delivery.json["text"] for delivery in system.hook.deliveries if delivery.json["kind"] == "final"]
    assert texts[0] == "one"
    clew("down")
    assert clew.children() == []
