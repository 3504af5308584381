"""`Idempotency-Key`: a repeated request gets the same response and is executed middleware."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from clew.server.app import unix_app
from clew.server.idempotency import IdempotencyMiddleware, _read_body
from clew.server.problems import MAX_BODY
from clew.store import Tx
from clew.store.tables import idempotency
from clew.support.clock import SystemClock
from clew.support.errors import StoreError
from tests.server.chat.transcripts import Transcript
from tests.server.conftest import Api

PIECE = b"x" * 1000


def body(text: str = "!text hello") -> dict[str, str]:
    return {"message_id": SystemClock().token(), "text": text}


async def test_the_same_key_and_body_get_the_same_answer_and_one_fork(api: Api) -> None:
    thread = (await api.start())["thread"]
    keyed = {"Idempotency-Key": "fork-1"}
    first = await api.client.post(f"/api/threads/{thread}/fork", json={}, headers=keyed)
    again = await api.client.post(f"/api/threads/{thread}/fork", json={}, headers=keyed)
    assert first.status_code == again.status_code == 201 and first.content == again.content
    assert first.headers["content-type"] == again.headers["content-type"]
    assert len((await api.client.get("/api/threads")).json()["threads"]) == 2


async def test_of_two_concurrent_requests_one_is_executed(api: Api) -> None:
    thread = (await api.start())["thread"]
    asked = [
        api.client.post(f"/api/threads/{thread}/fork", json={}, headers={"Idempotency-Key": "fork-2"}) for _ in range(5)
    ]
    answers = await asyncio.gather(*asked)
    assert len({answer.content for answer in answers}) == 1
    assert len((await api.client.get("/api/threads")).json()["threads"]) == 2


async def allocated(count: int) -> int:
    """Bytes allocated for a body of `count` chunks, including those that are freed at middleware."""
    total, before = 0, 0

    async def receive() -> Message:
        nonlocal total, before, count
        total += tracemalloc.get_traced_memory()[1] - before
        count -= 1
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        return {"type": "http.request", "body": PIECE, "more_body": count > 0}

    tracemalloc.start()
    try:
        await _read_body(receive)
        return total
    finally:
        tracemalloc.stop()


async def test_the_cost_of_a_body_is_linear_in_its_chunks() -> None:
    few, many = await allocated(2_000), await allocated(4_000)
    assert many < 3 * few, f"{few:,} bytes for 2,000 pieces, {many:,} for 4,000"


class KeyedRequest:
    """A request with a key: whether it was read, and its response."""

    def __init__(self, middleware: IdempotencyMiddleware) -> None:
        self.middleware = middleware
        self.is_read = False
        self.status = 0

    async def run(self) -> None:
        headers = [(b"idempotency-key", b"k")]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
        await self.middleware(scope, self.receive, self.send)

    async def receive(self) -> Message:
        self.is_read = True
        return {"type": "http.request", "body": b""}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)


async def test_after_a_failure_waiting_and_new_requests_run_one_by_one(api: Api) -> None:
    begun, answers = asyncio.Semaphore(0), asyncio.Queue[int]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await JSONResponse({}, await answers.get())(scope, receive, send)

    middleware = IdempotencyMiddleware(app, api.engine.stored_responses)
    first, second, third = asked = [KeyedRequest(middleware) for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        group.create_task(first.run())
        await begun.acquire()
        group.create_task(second.run())
        await asyncio.sleep(0)  # now it waits for the first
        answers.put_nowait(503)
        await begun.acquire()
        group.create_task(third.run())
        await asyncio.sleep(0)
        assert not third.is_read
        answers.put_nowait(201)
    assert [each.status for each in asked] == [503, 201, 201] and begun.locked()


async def test_an_aborted_request_does_nothing_and_uses_no_key() -> None:
    half: Iterator[Message] = iter(
        [{"type": "http.request", "body": b'{"text"', "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> Message:
        return next(half)

    assert await _read_body(receive) is None


async def test_another_request_under_the_same_key_is_refused(api: Api) -> None:
    keyed = {"Idempotency-Key": "start-1"}
    assert (await api.client.post("/api/threads", json=body(), headers=keyed)).status_code == 201
    other = await api.client.post("/api/threads", json=body("!text other"), headers=keyed)
    assert other.status_code == 409 and "another request" in other.json()["detail"]


async def test_a_refusal_is_stored_as_the_response_too(api: Api) -> None:
    thread = (await api.start("!text hello"))["thread"]
    keyed = {"Idempotency-Key": "stop-1"}
    await api.client.post(f"/api/threads/{thread}/done", json={})
    first = await api.client.post(f"/api/threads/{thread}/cancel", json={}, headers=keyed)
    again = await api.client.post(f"/api/threads/{thread}/cancel", json={}, headers=keyed)
    assert first.content == again.content and first.status_code == again.status_code


async def test_no_key_changes_nothing_and_a_bad_key_is_refused(api: Api) -> None:
    assert (await api.client.post("/api/threads", json=body())).status_code == 201
    for wrong in ("", "x" * 201):
        answer = await api.client.post("/api/threads", json=body(), headers={"Idempotency-Key": wrong})
        assert answer.status_code == 422, wrong


def _broken(tx: Tx, *args: object) -> None:
    raise StoreError("the file is locked")


@pytest.mark.parametrize("step", ["find", "save"])
async def test_a_store_failure_with_a_key_is_a_problem_and_uses_no_key(
    api: Api, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    asked, keyed = {"message": "!text hello"}, {"Idempotency-Key": "chat-1"}
    with monkeypatch.context() as store:
        store.setattr(idempotency, step, _broken)
        failed = await api.client.post("/api/conversations/chat/stream", json=asked, headers=keyed)
    assert (failed.status_code, failed.json()["code"], failed.json()["detail"]) == (503, "store", "the file is locked")
    again = await api.client.post("/api/conversations/chat/stream", json=asked, headers=keyed)
    assert Transcript.of(again.content).last.data["content"] == "hello"


async def test_a_response_that_cannot_be_stored_is_still_sent(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(idempotency, "save", _broken)
    strict = httpx.ASGITransport(unix_app(api.app_state), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=strict, base_url="http://clew") as client:
        answer = await client.post("/api/threads", json=body(), headers={"Idempotency-Key": "start-2"})
    assert answer.status_code == 201 and "was not stored: the file is locked" in caplog.text


async def test_a_body_that_is_too_large_is_refused_with_a_key_too(api: Api) -> None:
    large = body("x" * MAX_BODY)
    refused = await api.client.post("/api/threads", json=large, headers={"Idempotency-Key": "start-3"})
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert "larger than 8 MiB" in refused.json()["detail"]
