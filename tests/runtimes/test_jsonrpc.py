"""The JSON-RPC peer alone, without process or pipe."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.runtimes.jsonrpc import OVERLOADED, Peer, RequestId, RpcError, RpcTimeout
from clew.runtimes.process import Lines
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost

DEEP = b'{"method": "x", "params": ' + b"[" * 6_000 + b"]" * 6_000 + b"}"
JUNK = [b"not json", b"[]", b"3", b'{"id":{}}', b"\xff\xfe", b'{"method":5}', DEEP]


class QuickClock(SystemClock):
    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class OtherSide:
    """Records what the peer sent, and what it passed to its listener."""

    def __init__(self, with_version: bool = False) -> None:
        self.clock = QuickClock()
        self.sent: list[dict[str, Any]] = []
        self.news = asyncio.Event()
        self.heard: list[tuple[str, object]] = []
        self.peer = Peer(self.send, self, self.clock, with_version=with_version)

    def send(self, line: bytes) -> None:
        self.sent.append(json.loads(line))
        self.news.set()

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        self.heard.append((method, json.loads(bytes(params))))

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        self.heard.append((method, id))

    def say(self, **message: Any) -> None:
        self.peer.feed(json.dumps(message).encode())

    async def sent_count(self, count: int) -> None:
        while len(self.sent) < count:
            self.news.clear()
            await self.news.wait()


@pytest.fixture
def other() -> OtherSide:
    return OtherSide()


async def start(other: OtherSide, method: str = "do", within: float = 30) -> asyncio.Task[msgspec.Raw]:
    before = len(other.sent)
    task = asyncio.ensure_future(other.peer.request(method, {"a": 1}, time_limit=within))
    await other.sent_count(before + 1)
    return task


async def test_answers_find_their_requests_in_any_order(other: OtherSide) -> None:
    first, second = await start(other), await start(other)
    other.say(id=other.sent[1]["id"], result={"n": 2})
    other.say(id=other.sent[0]["id"], result={"n": 1})
    assert bytes(await first) == b'{"n": 1}'
    assert bytes(await second) == b'{"n": 2}'


async def test_the_version_member_is_a_choice(other: OtherSide) -> None:
    other.peer.notify("hello")
    assert other.sent == [{"method": "hello"}]
    versioned = OtherSide(with_version=True)
    versioned.peer.notify("hello", {})
    assert versioned.sent == [{"jsonrpc": "2.0", "method": "hello", "params": {}}]


async def test_an_error_is_raised_with_its_code_and_message(other: OtherSide) -> None:
    task = await start(other)
    other.say(id=1, error={"code": -32600, "message": "no", "data": {"why": 1}})
    with pytest.raises(RpcError, match="no") as caught:
        await task
    assert caught.value.code == -32600


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": "ECONNRESET", "message": "socket hang up"}, "socket hang up (ECONNRESET)"),
        ({"code": 1e3, "message": None}, "1000.0"),
        ("boom", "boom"),
        ({}, "{}"),
    ],
)
async def test_an_error_of_any_shape_ends_the_request(other: OtherSide, error: object, words: str) -> None:
    task = await start(other)
    other.say(id=1, error=error)
    with pytest.raises(RpcError) as caught:
        await task
    assert words in caught.value.message


@pytest.mark.parametrize("cut", [rb"\ud83d", b"\xf0\x9f", b"\xff"])
async def test_a_broken_character_does_not_lose_its_line(other: OtherSide, cut: bytes) -> None:
    other.peer.feed(b'{"method": "say", "params": {"text": "42 ' + cut + b'", "more": "\xc3\xa9"}}')
    [(method, params)] = other.heard
    assert isinstance(params, dict) and method == "say"
    assert params["text"].startswith("42 \ufffd") and params["more"] == "é"


async def test_a_request_without_an_answer_times_out_and_a_late_answer_is_harmless(other: OtherSide) -> None:
    with pytest.raises(RpcTimeout, match=r"did not answer do within 0\.01 s"):
        await other.peer.request("do", time_limit=0.01)
    other.say(id=1, result={})


async def test_an_overloaded_server_is_retried_with_back_off(other: OtherSide) -> None:
    task = await start(other)
    for attempt in range(3):
        other.say(id=other.sent[attempt]["id"], error={"code": OVERLOADED, "message": "later"})
        await other.sent_count(attempt + 2)
    other.say(id=other.sent[3]["id"], result=True)
    assert bytes(await task) == b"true"
    assert len({message["id"] for message in other.sent}) == 4
    assert len(other.clock.slept) == 3
    assert 0.025 <= other.clock.slept[0] <= 0.075 and 0.1 <= other.clock.slept[2] <= 0.3


async def test_a_server_that_stays_overloaded_is_an_error_in_the_end(other: OtherSide) -> None:
    def overloaded(line: bytes) -> None:
        other.peer.feed(b'{"id":%d,"error":{"code":-32001,"message":"later"}}' % json.loads(line)["id"])

    other.peer._send = overloaded
    with pytest.raises(RpcError, match="later"):
        await other.peer.request("do", time_limit=30)


async def test_a_lost_connection_fails_open_and_later_requests(other: OtherSide) -> None:
    task = await start(other)
    other.peer.fail_all("it died")
    other.peer.fail_all("twice is fine")
    with pytest.raises(RuntimeLost, match="it died"):
        await task
    with pytest.raises(RuntimeLost, match="it died"):
        await other.peer.request("more", time_limit=30)


async def test_notifications_and_requests_come_in_order_with_unknown_fields_kept(other: OtherSide) -> None:
    other.say(method="one", params={"known": 1, "new": [1, {}]}, emittedAtMs=5)
    other.say(method="two", id="text-id", params={})
    other.say(method="three")
    assert other.heard == [("one", {"known": 1, "new": [1, {}]}), ("two", "text-id"), ("three", {})]


async def test_requests_of_the_other_side_are_answered_from_anywhere(other: OtherSide) -> None:
    other.say(method="ask", id=0, params={})
    other.say(method="ask", id=1, params={})
    other.peer.refuse(1, -32601, "unknown")
    other.peer.answer(0, {"decision": "decline"})
    assert other.sent == [
        {"id": 1, "error": {"code": -32601, "message": "unknown"}},
        {"id": 0, "result": {"decision": "decline"}},
    ]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
async def test_junk_is_logged_and_ignored(other: OtherSide, junk: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        other.peer.feed(junk)
    assert "not a JSON-RPC message" in caplog.text
    task = await start(other)
    other.say(id=1, result=1)
    assert bytes(await task) == b"1"


async def test_a_listener_that_fails_does_not_end_the_reader(
    other: OtherSide, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(other, "on_notification", None)
        other.say(method="bad", params={})
    other.say(method="good", params={})
    assert other.heard == [("good", {})]
    assert "could not handle bad" in caplog.text


async def test_empty_lines_and_unexpected_responses_are_ignored(other: OtherSide) -> None:
    other.peer.feed(b"  ")
    other.say(id=77, result={})
    other.say(id=None, error={"code": 1, "message": "m"})
    assert other.heard == []


@given(st.lists(st.binary().map(lambda b: b.replace(b"\n", b""))), st.lists(st.integers(1, 9), min_size=1))
def test_lines_survive_any_chunking(lines: list[bytes], sizes: list[int]) -> None:
    data, splitter, found, at = b"".join(line + b"\n" for line in lines), Lines(), [], 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        found += splitter.feed(data[at : at + size])
        at += size
    assert found == lines
    assert splitter.end() == []


def test_a_line_is_cut_at_the_cap() -> None:
    splitter = Lines(cap=4)
    assert splitter.feed(b"123") == []
    assert splitter.feed(b"45678\nab\nxyz") == [b"1234", b"ab"]
    assert splitter.end() == [b"xyz"]
