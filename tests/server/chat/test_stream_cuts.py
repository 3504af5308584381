"""Streams cut at random points, with a killed daemon or slow readers. The received parts together equal what is
stored."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from clew.client.requests import new_message_id
from clew.client.wire import api_path
from clew.engine import live
from clew.model.messages import Inbound
from clew.server import sse
from clew.server.chat.follow import stream
from clew.store import Entry
from clew.store.migrate import open_store
from clew.store.tables import log
from clew.support.clock import SystemClock
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.json_client import RawEvent as Event
from tests.helpers.json_client import open_response, parse_sse
from tests.server.chat.transcripts import Transcript
from tests.server.conftest import Api

CHAT = ("conversations", "chat", "stream")
Got = list[tuple[int | None, str, Any]]


class Cutter:
    """Reads a stream in chunks of any size, and cuts it at any byte."""

    def __init__(self, clew: Clew, seed: int) -> None:
        self._home = clew.home
        self.random = random.Random(seed)

    def read_some(self, after: int, most: int) -> list[Event]:
        """Events after a number: all that are stored now, or those in the first `most` bytes."""
        connection, answer = open_response(self._home, "GET", api_path("events", after=after))
        events: list[Event] = []
        data = b""
        try:
            while len(data) < most and not _caught_up(events):
                data += answer.read1(self.random.randrange(1, 500))
                events = list(parse_sse(iter([data])))
        except ConnectionError:
            events = list(parse_sse(iter([data])))
        finally:
            connection.close()
        return events

    def chat_some(self, body: dict[str, str], most: int | None) -> Transcript:
        connection, answer = open_response(self._home, "POST", api_path(*CHAT), body)
        data = b""
        try:
            while (most is None or len(data) < most) and (piece := answer.read1(self.random.randrange(1, 500))):
                data += piece
        except ConnectionError:
            pass
        finally:
            connection.close()
        return Transcript.of(data)


def _caught_up(events: list[Event]) -> bool:
    newest = events[0].data["newest"] if events else None
    seen = [event.seq for event in events if event.seq is not None]
    return newest is not None and max(seen) >= newest


def take(got: list[Event], events: list[Event]) -> int:
    """Collect stored events; returns the number to continue from."""
    got += [event for event in events if event.seq is not None and event.kind != "hello"]
    return got[-1].seq or 0 if got else 0


def stored(clew: Clew) -> list[Entry]:
    store = open_store(clew.home.database, SystemClock())
    try:
        return asyncio.run(store.read(lambda tx: log.after(tx, 0, None, 100_000)))
    finally:
        store.close()


def wait_for_end(clew: Clew, turn: dict[str, str]) -> None:
    """Wait for the turn and its continuations."""
    ended = clew.wait_ended(turn)
    while ended["continued_by"]:
        ended = clew.wait_ended({**turn, "turn": ended["continued_by"]})


@pytest.mark.process
def test_event_streams_cut_anywhere_and_kills_lose_or_repeat_nothing(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        clew.up()
        cutter, after, sent = Cutter(clew, seed=6), 0, []
        got: list[Event] = []
        for round_ in range(16):
            script = f"!text {round_}\n!shell ls\n!say 40"
            body = {"message_id": new_message_id(), "text": script}
            sent.append(Client(clew.home).post("threads", body=body))
            if round_ in (5, 10):
                clew.kill()
                clew.up()
            after = take(got, cutter.read_some(after, cutter.random.randrange(1, 4000)))
        for turn in sent:
            wait_for_end(clew, turn)
        take(got, cutter.read_some(after, 1 << 30))
        clew("down")
        entries = stored(clew)
        assert len(entries) > 100 and {entry.kind for entry in entries} >= {"turn.ended", "activity"}
        assert [(event.seq, event.kind) for event in got] == [(entry.seq, entry.kind) for entry in entries]
        for event, entry in zip(got, entries, strict=True):
            known = {"seq": entry.seq, "thread": entry.thread, "turn": entry.turn, "kind": entry.kind}
            assert event.data == {**known, "at": entry.at, "data": entry.data}


@pytest.mark.process
def test_chat_streams_cut_anywhere_and_kills_end_with_the_stored_text(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        first, half = clew.gate("first"), clew.gate("half")
        clew.up()
        cutter = Cutter(clew, seed=66)
        body = {"message": "!hold first\n!say 300\n!hold half\n!say 500", "message_id": "m", "conversation_id": "c"}
        parts = [cutter.chat_some(body, 150)]
        first.release()
        half.wait()
        parts += [
            cutter.chat_some(body, cutter.random.randrange(1, 1200)) for _ in range(8)
        ]  # only a part of the stream
        clew.kill()
        clew.up()
        first.release_with(half)
        half.release()
        parts += [cutter.chat_some(body, cutter.random.randrange(1, 1500)) for _ in range(4)]
        whole = cutter.chat_some(body, None)
        whole.check()
        content = whole.last.data["content"]
        (_, cut, *_, answer) = Client(clew.home).get("conversations", "c")["messages"]
        assert content == answer["content"] and len(content.split()) == 500
        for part in parts:
            assert content.startswith(part.text()) or cut["content"].startswith(part.text())


async def test_a_slow_reader_is_cut_cleanly_and_gets_the_rest_on_reconnect(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MAILBOX", 20)
    got: Got = []
    first = events(api, after=0)
    got += _stored(await _next(first))
    for number in range(5):
        await api.ended((await api.start(f"!text {number}"))["turn"])
    rest = [event async for event in first]
    assert (rest[-1].kind, rest[-1].seq) == ("cut", None) and "Last-Event-ID" in rest[-1].data["hint"]
    got += [each for event in rest for each in _stored([event])]
    entries = await api.store.read(lambda tx: log.after(tx, 0, None, 1000))
    second = events(api, after=(got[-1][0] or 0) if got else 0)
    while len(got) < len(entries):
        got += _stored(await _next(second))
    assert [seq for seq, _, _ in got] == [entry.seq for entry in entries]
    await second.aclose()


async def _next(stream: AsyncIterator[Event]) -> list[Event]:
    return [await anext(stream)]


def _stored(events: list[Event]) -> Got:
    return [(event.seq, event.kind, event.data) for event in events if event.seq is not None and event.kind != "hello"]


async def events(api: Api, after: int) -> Any:
    chunks = sse.stream(api.engine.live, api.engine.events, None, after, lambda: None, api.engine.threads.snapshot)
    with suppress(StopAsyncIteration):
        async for chunk in chunks:
            for event in parse_sse(iter([chunk])):
                yield event


async def test_a_slow_chat_reader_gets_an_error_and_can_rejoin(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    inbound = Inbound(api.engine.conversations.place("c"), "m", "you", "!hold go\n!say 60", begins="T" * 26)

    def chat() -> AsyncIterator[bytes]:
        return stream(api.engine.conversations, api.engine.live, inbound, lambda thread: nullcontext(()), lambda: None)

    slow = chat()
    data = await anext(slow)
    monkeypatch.setattr(live, "MAILBOX", 10)
    turn = Transcript.of(data).events[0].data["turn"]
    api.runtime.holds.release("go")
    await api.ended(turn)
    async for piece in slow:
        data += piece
    cut = Transcript.of(data)
    cut.check()
    assert (cut.last.data["code"], cut.last.data["retryable"]) == ("too_slow", True)
    again = Transcript.of(b"".join([piece async for piece in chat()]))
    again.check()
    assert again.last.data["content"] == (await api.engine.threads.turn(turn)).text
