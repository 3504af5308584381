"""Uploads: types, sizes, and that they are stored only in the folder of their thread."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from clew.server.files import uploads
from tests.server.chat.transcripts import Transcript
from tests.server.conftest import Api

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def send(api: Api, data: bytes = b"notes", kind: str = "text/plain", name: str = "notes.txt") -> httpx.Response:
    headers = {"content-type": kind} if kind else {}
    return await api.client.post("/api/files", params={"name": name}, content=data, headers=headers)


async def chat(api: Api, **body: Any) -> Transcript:
    return Transcript.of((await api.client.post("/api/conversations/chat/stream", json=body)).content)


async def test_an_uploaded_file_is_stored_in_the_folder_of_its_thread(api: Api) -> None:
    sent = (await send(api, PNG, "image/png", "a picture;.png")).json()
    assert (sent["name"], sent["media_type"], sent["size"]) == ("a_picture_.png", "image/png", len(PNG))
    told = await chat(api, message="!text seen", message_id="m", conversation_id="c", files=[sent["id"]])
    thread = told.events[0].data["thread"]
    kept = api.home.files / thread / "m" / "a_picture_.png"
    assert kept.read_bytes() == PNG and kept.stat().st_mode & 0o777 == 0o600
    (person, _) = (await api.client.get("/api/conversations/c")).json()["messages"]
    assert [(each["kind"], each["name"]) for each in person["attachments"]] == [("image", "a_picture_.png")]


async def test_a_message_may_be_only_a_file_and_a_retry_changes_nothing(api: Api) -> None:
    sent = (await send(api)).json()
    body = {"message": "", "message_id": "m", "files": [sent["id"]]}
    first, again = await chat(api, **body), await chat(api, **body)
    assert first.events[0].data["turn"] == again.events[0].data["turn"]
    assert [path.name for path in api.home.files.iterdir()] == [first.events[0].data["thread"]]


async def test_threads_and_messages_accept_uploaded_files(api: Api) -> None:
    one, two = (await send(api)).json()["id"], (await send(api, b"{}", "application/json", "notes.txt")).json()["id"]
    started = await api.start("!text read", message_id="m1", files=[one, two])
    assert (await api.client.post("/api/threads", json={"message_id": "m1", "text": "x", "files": [one]})).is_success
    folder = api.home.files / started["thread"]
    assert sorted(path.name for path in (folder / "m1").iterdir()) == ["notes-2.txt", "notes.txt"]
    await api.ended(started["turn"])
    say = {"message_id": "m2", "text": "!text more", "files": [two]}
    await api.client.post(f"/api/threads/{started['thread']}/messages", json=say)
    assert (folder / "m2" / "notes.txt").read_text() == "{}"
    assert [path.name for path in api.home.files.iterdir()] == [started["thread"]]


@pytest.mark.parametrize("name", ["../../up.txt", "/etc/passwd", "..", ".hidden", "a/../b", "x\\y", "\u202etxt.exe"])
async def test_no_file_name_escapes_the_folder(api: Api, name: str) -> None:
    sent = await send(api, name=name)
    assert sent.status_code == 201 and "/" not in sent.json()["name"] and not sent.json()["name"].startswith(".")
    told = await chat(api, message="!text x", message_id="m", files=[sent.json()["id"]])
    kept = [path for path in api.home.files.rglob("*") if path.is_file()]
    assert [path.parent for path in kept] == [api.home.files / told.events[0].data["thread"] / "m"]


@pytest.mark.parametrize(
    ("data", "kind", "status", "code", "words"),
    [
        (b"x", "application/x-sh", 415, "wrong_type", "application/x-sh are not accepted"),
        (b"x", "", 415, "wrong_type", "(none)"),
        (b"<svg>", "image/svg+xml", 415, "wrong_type", "not accepted"),
        (b"no picture", "image/png", 415, "wrong_type", "does not look like image/png"),
        (b"", "text/plain", 422, "bad_input", "empty"),
        (bytes((20 << 20) + 1), "text/plain", 413, "too_large", "larger than 20 MiB"),
    ],
)
async def test_a_rejected_upload_is_a_problem_and_leaves_nothing(
    api: Api, data: bytes, kind: str, status: int, code: str, words: str
) -> None:
    answer = await send(api, data, kind)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["code"]) == (status, code) and words in problem["detail"]
    assert list(api.home.uploads.glob("*")) == []


async def test_an_unknown_upload_is_named_and_the_message_can_be_resent(api: Api) -> None:
    told = await chat(api, message="hello", message_id="m", files=["0" * 26])
    told.check()
    assert told.last.data["code"] == "not_found" and list(api.home.files.iterdir()) == []
    assert (await chat(api, message="!text hello", message_id="m")).last.data["content"] == "hello"
    body = {"message_id": "n", "text": "x", "files": ["../../../../etc/passwd"]}
    assert (await api.client.post("/api/threads", json=body)).status_code == 422


async def test_unused_uploads_expire_after_a_day_and_their_size_is_limited(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, young = (await send(api)).json()["id"], (await send(api)).json()["id"]
    os.utime(api.home.uploads / old, (0, 0))
    await send(api)
    waiting = {path.name for path in api.home.uploads.iterdir()}
    assert old not in waiting and young in waiting
    monkeypatch.setattr(uploads, "MAX_PENDING", 3)
    full = await send(api)
    assert (full.status_code, full.json()["code"]) == (507, "full")


async def test_an_aborted_upload_leaves_nothing(api: Api) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await uploads.store(api.home.uploads, "0" * 26, "x.txt", "text/plain", body(), 0.0)
    assert list(api.home.uploads.iterdir()) == []
