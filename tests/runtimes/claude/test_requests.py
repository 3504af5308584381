"""What Claude may read without a question, and which file a change is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.runtimes.claude.approvals import requests
from clew.runtimes.claude.wire import Request


def asks(tool: str, **given: Any) -> Request:
    return Request(tool_name=tool, input=msgspec.Raw(msgspec.json.encode(given)))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "a.txt"}),
        ("Grep", {"pattern": "/etc", "path": "sub"}),
        ("Glob", {"pattern": "**/*.py"}),
        ("Glob", {"pattern": "*", "path": " sub "}),
    ],
)
def test_reading_in_the_workspace_is_free(tmp_path: Path, tool: str, given: dict[str, Any]) -> None:
    assert requests.is_free(asks(tool, **given), str(tmp_path))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": " /etc/passwd"}),
        ("Grep", {"pattern": ".", "path": "\u00a0/etc/ssh"}),
        ("Grep", {"pattern": ".", "path": "\ufeff\u2028/etc/ssh"}),
        ("Grep", {"pattern": ".", "path": " ~/.ssh"}),
        ("Read", {"file_path": ["/etc"]}),
        ("Glob", {"pattern": "/etc/*"}),
        ("Glob", {"pattern": "../*"}),
        ("Bash", {"command": "ls"}),
        ("Unknown", {}),
    ],
)
def test_what_leads_outside_is_asked_about(tmp_path: Path, tool: str, given: dict[str, Any]) -> None:
    assert not requests.is_free(asks(tool, **given), str(tmp_path))


def test_what_claude_has_blocked_is_asked_about(tmp_path: Path) -> None:
    blocked = msgspec.structs.replace(asks("Read", file_path="a.txt"), blocked_path="/etc")
    assert not requests.is_free(blocked, str(tmp_path))


@pytest.mark.parametrize("path", [" /etc/x", "/etc/x\u2028"])
def test_a_change_is_about_the_file_that_claude_would_write(tmp_path: Path, path: str) -> None:
    asked = requests.read(asks("Write", file_path=path, content="x"), str(tmp_path)).asked
    assert asked.paths == ("/etc/x",) and asked.title == "/etc/x"
