"""The chat stream with a real daemon and an ACP agent: the same contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.daemons import Clew
from tests.runtimes.stages import acp_toml
from tests.server.chat.transcripts import check_golden
from tests.server.tcp_client import PORT, complete_chat, program

pytestmark = pytest.mark.process

SAID = (
    "!text Hello, world.",
    "!think hm\n!approve touch done\n!text It is out.",
    "!text so far\n!tool look\n!text and the end",
    "!fail out of paper",
)


def test_golden_acp_text_gate_tools_and_failure(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    config = f'{acp_toml(tmp_path)}[threads]\nruntime = "player"\nworkspace = "{workspace}"\n{PORT}'
    with Clew(tmp_path / "home", config) as clew, program(clew) as client:
        told = [
            complete_chat(client, conversation_id="c1", message_id=f"m{number}", message=message)
            for number, message in enumerate(SAID, 1)
        ]
        check_golden("acp", *told)
        messages = client.get("/api/conversations/c1").json()["messages"]
        assert [each["content"] for each in messages if each["role"] == "agent"][:3] == [
            "Hello, world.",
            "It is out.",
            "and the end",
        ]
