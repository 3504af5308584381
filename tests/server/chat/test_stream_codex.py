"""The chat stream with a real daemon, the real Codex, and a scripted model behind it: the same contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from clew.testing.scripted_model import write_codex_home
from tests.helpers.daemons import Clew
from tests.helpers.models import Model
from tests.server.chat.transcripts import check_golden
from tests.server.tcp_client import PORT, complete_chat, program

pytestmark = pytest.mark.process


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with Model() as model:
        home = write_codex_home(tmp_path / "codex", model.url, stream_retries=2)
        workspace = tmp_path / "work"
        workspace.mkdir()
        config = f'[runtimes.codex]\nhome = "{home}"\n[threads]\nworkspace = "{workspace}"\n{PORT}'
        with Clew(tmp_path / "home", config) as clew, program(clew) as client:
            yield client


def test_golden_codex_text_gate_and_retry(client: httpx.Client) -> None:
    told = [
        complete_chat(client, conversation_id="c1", message_id=f"m{number}", message=message)
        for number, message in enumerate(
            ("!text Hello, world.", "!shell touch done\n!text It is out.", "!text once more\n!cut 1"), 1
        )
    ]
    check_golden("codex", *told)
    messages = client.get("/api/conversations/c1").json()["messages"]
    assert [each["content"] for each in messages if each["role"] == "agent"] == [
        "Hello, world.",
        "It is out.",
        "once more",
    ]
