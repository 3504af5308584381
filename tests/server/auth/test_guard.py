"""The guard of the TCP listener: the token, the `Host` header, and requests from other sites."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.responses import PlainTextResponse

from clew.server.auth.guard import FAILURES, MINUTE, Guard

TOKEN = "the right one"
GOOD = {"host": "127.0.0.1:8477", "authorization": f"Bearer {TOKEN}"}


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def client(time: Time) -> AsyncIterator[httpx.AsyncClient]:
    hosts = {"127.0.0.1:8477", "localhost:8477"}
    guard = Guard(PlainTextResponse("in"), lambda given: given == TOKEN, hosts, ["/surfaces/webhook/"], time)
    transport = httpx.ASGITransport(guard)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8477") as client:
        yield client


async def status(client: httpx.AsyncClient, path: str = "/api/status", **headers: str) -> int:
    return (await client.get(path, headers={**GOOD, **headers})).status_code


async def test_requests_need_the_token(client: httpx.AsyncClient) -> None:
    assert await status(client) == 200
    for wrong in ("", "Bearer", "Bearer the wrong one", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"):
        assert await status(client, authorization=wrong) == 401, wrong


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8477.evil.example", ""])
async def test_a_foreign_host_is_refused_even_with_the_token(client: httpx.AsyncClient, host: str) -> None:
    assert await status(client, host=host) == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:80", "https://127.0.0.1:8477"])
async def test_a_foreign_origin_is_refused_even_with_the_token(client: httpx.AsyncClient, origin: str) -> None:
    assert await status(client, origin=origin) == 403


async def test_our_own_origin_is_accepted(client: httpx.AsyncClient) -> None:
    assert await status(client, origin="http://127.0.0.1:8477") == 200
    assert await status(client, host="localhost:8477", origin="http://localhost:8477") == 200


async def test_healthz_and_signed_requests_need_no_token(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/surfaces/webhook/ci"):
        assert (await client.post(path, headers={"host": "hooks.example"})).status_code == 200
    for path in (
        "/healthz/",
        "/surfaces",
        "/surfaces/webhoo",
        "/%2fhealthz",
        "/%2f",
        "/page",
        "/loginx",
        "/api/../healthz/x",
    ):
        assert (await client.get(path, headers={"host": "127.0.0.1:8477"})).status_code == 401, path


async def test_after_many_wrong_tokens_only_wrong_tokens_are_throttled(client: httpx.AsyncClient, time: Time) -> None:
    for _ in range(FAILURES):
        assert await status(client, authorization="Bearer guess") == 401
    assert await status(client, authorization="Bearer guess") == 429
    assert await status(client) == 200
    time.now += MINUTE + 1
    assert await status(client, authorization="Bearer guess") == 401


async def test_a_refusal_is_a_problem_response(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/status", headers={"host": "127.0.0.1:8477"})
    assert answer.headers["content-type"] == "application/problem+json"
    assert "clew token" in answer.json()["detail"]
