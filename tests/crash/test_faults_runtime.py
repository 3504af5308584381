"""Faults of a runtime and its model, with the real daemon: the person is told once, and no work is lost."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import System, open_system
from tests.crash.flows import post
from tests.crash.mischief import between, instead, repair
from tests.helpers.daemons import Clew
from tests.helpers.json_client import JsonClient

pytestmark = pytest.mark.process

VERSION = '#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 99.0.0 && exit 0\n'
# Short, but longer than a working Codex takes on a busy machine.
HASTY = "request_timeout = 10\ninterrupt_timeout = 3"
SILENCE = "[turns]\nsilence = 10"


def codex(clew: Clew) -> int:
    return next(process.pid for process in clew.children() if "codex" in process.command)


def told(system: System, accepted: Any) -> list[str]:
    """Return what the person was finally told about a turn."""
    name = f"{accepted['turn']}:final"
    system.clew.wait_for(accepted["thread"], "delivery.sent", delivery=name)
    return [delivery.json["text"] for delivery in system.hook.deliveries if delivery.id == name]


@pytest.mark.parametrize("what", ["junk", "halves", "huge", "flood", "unknown"])
def test_a_codex_that_talks_strangely_is_tolerated(tmp_path: Path, what: str) -> None:
    with open_system(tmp_path, codex=between(tmp_path, what)) as system:
        system.clew.up()
        accepted = post(system, "m1", "!say 12")
        assert told(system, accepted) == ["never lose the thread that leads you back out of the maze"]
        assert len(system.hook.deliveries) == 1
    if what == "unknown":
        assert b"does not know item/mindReading/request" in (tmp_path / "notes").read_bytes()


@pytest.mark.parametrize(("does", "words"), [("echo no licence >&2; exit 3", "no licence"), ("exec sleep 600", "15 s")])
def test_a_codex_that_does_not_start_is_reported_once_and_works_when_repaired(
    tmp_path: Path, does: str, words: str
) -> None:
    command = instead(tmp_path, f"{VERSION}{does}\n")
    with open_system(tmp_path, codex=f"{command}\nstart_timeout = 15") as system:
        system.clew.up()
        [answer] = told(system, post(system, "m1", "!text one"))
        assert words in answer
        repair(tmp_path)
        assert told(system, post(system, "m2", "!text two")) == ["two"]
        assert len(system.hook.deliveries) == 2


def test_a_killed_codex_is_restarted_and_the_answer_says_so(system: System) -> None:
    system.clew.up()
    accepted = post(system, "m1", "!text one moment\n!hold here\n!text the end")
    system.model.wait_held("here")
    os.kill(codex(system.clew), signal.SIGKILL)
    system.model.wait_left("here")
    system.model.release("here")
    system.clew.wait_for(accepted["thread"], "delivery.sent")
    [delivery] = system.hook.deliveries
    assert delivery.json["text"] == "one moment\nthe end" and "continued" in delivery.json["note"]


def test_a_frozen_codex_is_replaced_and_the_person_told_once(tmp_path: Path) -> None:
    with open_system(tmp_path, codex=HASTY, more=SILENCE) as system:
        system.clew.up()
        accepted = post(system, "m1", "!hold here")
        system.model.wait_held("here")
        pid = codex(system.clew)
        os.kill(pid, signal.SIGSTOP)
        [answer] = told(system, accepted)
        assert "no sign of life" in answer
        assert told(system, post(system, "m2", "!text two")) == ["two"]
        assert codex(system.clew) != pid and len(system.hook.deliveries) == 2


def test_a_codex_frozen_before_the_turn_is_replaced_silently(tmp_path: Path) -> None:
    with open_system(tmp_path, codex=HASTY) as system:
        system.clew.up()
        assert told(system, post(system, "m1", "!text one")) == ["one"]
        pid = codex(system.clew)
        os.kill(pid, signal.SIGSTOP)
        accepted = post(system, "m2", "!text two")
        assert told(system, accepted) == ["two"]
        assert codex(system.clew) != pid and system.model.count("two") == 1


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("!status 401 1", "log"),
        ("!status 429 1", "too many requests"),
        ("!status 500 1", "model"),
        ("!cut 1", "model"),
    ],
)
def test_a_model_in_trouble_is_reported_once_and_the_thread_goes_on(system: System, trouble: str, words: str) -> None:
    system.clew.up()
    [answer] = told(system, post(system, "m1", f"{trouble}\n!text better"))
    assert "⚠" in answer and words in answer.lower()
    assert told(system, post(system, "m2", f"{trouble}\n!text better")) == ["better"]
    assert len(system.hook.deliveries) == 2


def test_a_slow_model_that_still_sends_is_waited_for(tmp_path: Path) -> None:
    with open_system(tmp_path, more=SILENCE) as system:
        system.clew.up()
        [answer] = told(system, post(system, "m1", "!slow 50 250"))
        assert len(answer.split()) == 50


def test_a_model_that_is_down_is_reported_once_and_work_resumes(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/v1"  # nothing listens there
    with open_system(tmp_path, more=SILENCE, model_url=nowhere) as system:
        system.clew.up()
        accepted = system.clew.json("start", "!text done", "--notify", "webhook:x", "--workspace", str(tmp_path))
        [answer] = told(system, accepted)
        assert "no sign of life" in answer
        settings = tmp_path / "codex" / "config.toml"
        settings.write_text(settings.read_text().replace(nowhere, system.model.url))
        system.clew("restart")
        again = system.clew.json("resume", accepted["thread"], "--supplement", "continue")
        assert told(system, again) == ["done"]


def test_a_codex_that_lost_its_sessions_is_given_the_history(system: System, tmp_path: Path) -> None:
    system.clew.up()
    first = system.clew.json("start", "the first words 第一句\n!text noted", "--notify", "webhook:x")
    thread = first["thread"]
    assert told(system, first) == ["noted"]
    system.clew("down")
    shutil.rmtree(tmp_path / "codex" / "sessions")
    again = system.clew.json("resume", thread, "--supplement", "!recall")
    [answer] = told(system, again)
    assert "the first words 第一句" in answer and "You answered: > noted" in answer
    [session] = JsonClient(system.clew.home, start=False).get("threads", thread, "continuity")
    assert (session["began"], session["status"]) == ("rebuilt", "cold")
    assert "rebuilt from clew's history" in system.clew("show", thread)
    assert "lost its record" in system.clew.wait_for(thread, "notice").data["data"]["text"]
    assert told(system, system.clew.json("resume", thread, "--supplement", "!recall"))[0].startswith("I remember 2")
