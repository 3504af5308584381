"""The chat stream when something fails: it still begins with `metadata` and ends with `done` or `error`, and a retry
with the same message id gets the answer."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from clew.engine.services.conversations import ConversationService
from clew.server.chat import follow
from clew.support.errors import StoreError
from tests.server.chat.test_stream import chat
from tests.server.chat.transcripts import Transcript
from tests.server.conftest import Api
from tests.server.files.test_uploads import send


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PAUSE", 0.0)


def fail_first(patch: pytest.MonkeyPatch, name: str, times: int, error: Exception | None = None) -> None:
    """Make this step of a conversation fail the first `times` times."""
    real = getattr(ConversationService, name)
    left = [error or StoreError("the file is locked")] * times

    async def step(self: ConversationService, *args: Any) -> Any:
        if left:
            raise left.pop()
        return await real(self, *args)

    patch.setattr(ConversationService, name, step)


def check_says_retry(transcript: Transcript, code: str = "store") -> None:
    transcript.check()
    assert (transcript.last.kind, transcript.last.data["code"], transcript.last.data["retryable"]) == (
        "error",
        code,
        True,
    )
    assert "the same message_id" in transcript.last.data["message"]


@pytest.mark.parametrize("name", ["bound", "accept"])
async def test_a_stream_that_cannot_start_says_to_retry(api: Api, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fail_first(monkeypatch, name, 1)
    check_says_retry(await chat(api, "!text hello"))
    assert (await chat(api, "!text hello")).last.data["content"] == "hello"


@pytest.mark.parametrize("name", ["again", "standing"])
async def test_a_transient_read_failure_does_not_lose_the_answer(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fail_first(monkeypatch, name, follow.TRIES - 1)
    transcript = await chat(api, "!text hello")
    transcript.check()
    assert transcript.last.data["content"] == "hello"


@pytest.mark.parametrize("name", ["again", "standing"])
async def test_a_stream_that_cannot_read_its_turn_says_to_retry(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fail_first(monkeypatch, name, follow.TRIES)
    check_says_retry(await chat(api, "!text hello"))
    assert (await chat(api, "!text hello")).last.data["content"] == "hello"
    assert len((await api.client.get("/api/conversations/c1")).json()["messages"]) == 2


async def test_a_stopping_daemon_does_not_retry_reads(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_first(monkeypatch, "standing", 1)
    api.app_state.stop_reason = "stopping"
    check_says_retry(await chat(api, "!text hello"))


@pytest.mark.parametrize("name", ["bound", "accept", "again", "standing"])
async def test_an_unexpected_error_is_logged_and_ends_the_stream(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    fail_first(monkeypatch, name, 1, ValueError("a damaged node"))
    check_says_retry(await chat(api, "!text hello"), "internal")
    assert "a damaged node" in caplog.text and "message m1" in caplog.text


async def test_a_full_disk_is_reported_and_a_retry_stores_the_files(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    file = (await send(api)).json()["id"]
    with monkeypatch.context() as full:
        full.setattr(os, "link", _disk_full)
        transcript = await chat(api, "!text seen", files=[file])
    check_says_retry(transcript)
    assert "No space left" in transcript.last.data["message"] and "`clew doctor`" in transcript.last.data["message"]
    again = await chat(api, "!text seen", files=[file])
    assert again.last.data["content"] == "seen"
    kept = [path for path in api.home.files.rglob("*") if path.is_file()]
    assert [path.parent for path in kept] == [api.home.files / again.events[0].data["thread"] / "m1"]


def _disk_full(*args: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
