"""The Python API against a socket that behaves badly, and text without repeats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clew import Clew
from clew.client.events import Event, TextProgress
from clew.client.requests import Sent
from clew.client.wire import problem_of
from clew.model.messages import Fate
from clew.support.errors import ClewError, OutOfReach, Refused
from clew.support.home import Home
from clew.texts.bilingual import zh


@asynccontextmanager
async def serving(home: Home, *answers: bytes) -> AsyncIterator[list[bytes]]:
    """A server that gives each connection one response, in this order; for an empty one it closes the connection."""
    home.prepare()
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        requests.append(await reader.readexactly(length))
        body = answers[len(requests) - 1]
        if body:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_unix_server(serve, home.socket):
        yield requests


async def test_what_the_client_says_has_a_code_for_other_languages(tmp_path: Path) -> None:
    said: list[str] = []
    async with serving(Home(tmp_path), b"", b"nonsense"), Clew(tmp_path, start=False, say=said.append) as clew:
        with pytest.raises(ClewError, match="cannot be read") as unreadable:
            await clew.show("A")
    with pytest.raises(OutOfReach) as missing:
        async with Clew(tmp_path / "nowhere", start=False) as clew:
            await clew.show("A")
    answered = problem_of(502, b"<html>")
    texts = (*said, unreadable.value.words, missing.value.words, answered.words)
    assert [zh(text) for text in texts if zh(text) == text] == [] and len(said) == 1
    assert zh(said[0]) == "连接中断，正在重试…"


async def test_a_message_with_a_lost_response_is_resent_with_its_id(tmp_path: Path) -> None:
    answer = json.dumps({"thread": "A", "turn": "B", "fate": "turn"}).encode()
    async with serving(Home(tmp_path), b"", b"", answer) as requests, Clew(tmp_path, start=False) as clew:
        assert await clew.send("A", "hello") == Sent(Fate.TURN, "A", "B")
    ids = {json.loads(request)["message_id"] for request in requests}
    assert (len(requests), len(ids)) == (3, 1)


async def test_a_request_without_message_id_is_not_sent_twice(tmp_path: Path) -> None:
    async with serving(Home(tmp_path), b"", b"") as requests, Clew(tmp_path, start=False) as clew:
        with pytest.raises(OutOfReach, match="went away before it answered"):
            await clew.fork("A")
    assert len(requests) == 1


async def test_a_refused_message_is_raised_with_the_reason(tmp_path: Path) -> None:
    answer = json.dumps({"thread": "A", "turn": None, "fate": "refused", "words": "It is over."}).encode()
    async with serving(Home(tmp_path), answer), Clew(tmp_path, start=False) as clew:
        with pytest.raises(Refused, match=r"It is over\."):
            await clew.send("A", "hello")


def text(offset: int, words: str) -> Event:
    return Event("text", turn="T", data={"item": "1", "offset": offset, "text": words})


def complete(words: str) -> Event:
    return Event("open", turn="T", data={"item": "1", "kind": "text", "text": words})


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ([complete("one")], [text(0, "one")]),
        ([text(0, "one"), complete("one"), text(3, " two")], [text(0, "one"), text(3, " two")]),
        ([text(0, "one"), complete("one two")], [text(0, "one"), text(3, " two")]),
        ([text(0, "one"), complete("other")], [text(0, "one"), text(0, "other")]),
        ([text(0, "one"), text(0, "anew"), complete("anew!")], [text(0, "one"), text(0, "anew"), text(4, "!")]),
    ],
)
def test_text_continues_where_it_was_after_a_reconnect(received: list[Event], expected: list[Event]) -> None:
    texts = TextProgress()
    assert [event for each in received if (event := texts.without_repeats(each))] == expected
