"""The JSON fields documented in docs/reference/cli.md, compared with the output of the commands."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.helpers.daemons import Clew
from tests.helpers.paths import ROOT

DOCS = ROOT / "docs" / "reference" / "cli.md"


def documented() -> dict[str, set[str]]:
    """The documented fields of each command."""
    shapes = {}
    for section in DOCS.read_text(encoding="utf-8").split("\n### ")[1:]:
        head, _, body = section.partition("\n")
        if found := re.search(r"^JSON: ((?:`\w+`,?\s)+)", body, re.MULTILINE):
            shapes[head.split()[1].strip("`")] = set(re.findall(r"`(\w+)`", found[1]))
    return shapes


SHAPES = documented()


@pytest.fixture(scope="module")
def thread(clew: Clew) -> str:
    started = clew.json("start", "!text hello", "--notify", "local")
    clew.wait_for(started["thread"], "delivery.sent")
    return str(started["thread"])


def fields(printed: Any) -> set[str]:
    assert printed, "an empty list shows no shape"
    return set(printed[0] if isinstance(printed, list) else printed) - {"texts"}  # documented once, for all


def test_the_required_fields_are_documented() -> None:
    shown = {"id", "status", "kind", "title", "runtime", "workspace", "head", "created_at", "completed_at"}
    shown |= {"suspended_by", "suspend_message", "notify_target", "notification_status", "notified_at"}
    assert shown | {"notification_error"} <= SHAPES["threads"] & SHAPES["show"]
    assert SHAPES["run"] == {"thread", "turn", "state", "text", "error", "usage", "seconds"}
    assert SHAPES["start"] & SHAPES["send"] >= {"thread", "turn"}
    assert SHAPES["status"] == {"daemon", "runtimes", "surfaces", "fates", "gates", "damaged"}
    asked = {"id", "code", "thread", "turn", "kind", "title", "detail", "options", "state", "asked_at", "answered_by"}
    assert asked <= SHAPES["gates"]
    receipt = {"delivery", "kind", "conversation", "state", "attempts", "message_id", "sent_at", "error", "turn"}
    assert SHAPES["where"] == receipt | {"runtime"}


@pytest.mark.process
@pytest.mark.parametrize(
    "command", ["threads --history", "show THREAD", "read THREAD", "where THREAD", "verify THREAD"]
)
def test_read_commands_print_the_documented_fields(clew: Clew, thread: str, command: str) -> None:
    words = command.replace("THREAD", thread).split()
    assert fields(clew.json(*words)) == SHAPES[words[0]]


@pytest.mark.process
@pytest.mark.parametrize("command", ["run", "start"])
def test_commands_that_start_a_thread_print_the_documented_fields(clew: Clew, command: str) -> None:
    assert fields(clew.json(command, "!text hi")) == SHAPES[command]


@pytest.mark.process
def test_commands_that_change_a_thread_print_the_documented_fields(clew: Clew) -> None:
    thread = clew.json("run", "!text hi")["thread"]
    sent = clew.json("send", thread, "!text hi")
    assert fields(sent) == SHAPES["send"]
    clew.wait_ended(sent)
    for command in (["title", thread, "new"], ["fork", thread]):
        assert fields(clew.json(*command)) == SHAPES["show"]


@pytest.mark.process
def test_done_resume_stop_and_cancel_print_the_documented_fields(clew: Clew) -> None:
    gate = clew.gate("shapes")
    thread = clew.json("run", "!text hi")["thread"]
    assert fields(clew.json("done", thread)) == SHAPES["show"]
    resumed = clew.json("resume", thread, "--supplement", "!hold shapes")
    assert fields(resumed) == SHAPES["resume"]
    gate.wait()
    assert fields(clew.json("stop", thread)) == SHAPES["stop"]
    clew.wait_ended(resumed)
    assert fields(clew.json("cancel", thread)) == SHAPES["show"]


@pytest.mark.process
def test_daemon_commands_print_the_documented_fields(clew: Clew) -> None:
    for command in (["up"], ["status"], ["doctor"], ["ping", "scripted"]):
        assert fields(clew.run(*command, "--json").json) == SHAPES[command[0]] - {"texts"}


@pytest.mark.process
def test_status_has_the_documented_fields(clew: Clew) -> None:
    status = clew.json("status")
    text = DOCS.read_text(encoding="utf-8").replace("\n  ", " ")  # one line for each point
    for name in ("daemon", "runtimes", "surfaces", "fates"):
        line = re.search(rf"^\* `{name}` ([^;\n]*)", text, re.MULTILINE)
        assert line is not None
        assert fields(status[name]) == set(re.findall(r"`(\w+)`", line[1])) - {"texts"}, name


def test_every_command_is_documented() -> None:
    from clew.cli.command_list import COMMANDS

    text = DOCS.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`clew {name}" not in text] == []
    assert set(SHAPES) <= set(COMMANDS)
