"""A client program that talks to a real daemon over TCP, with the token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.helpers.daemons import Clew
from tests.helpers.json_client import RawEvent as Event
from tests.helpers.json_client import parse_sse
from tests.server.chat.transcripts import Transcript

TIMEOUT = 60.0
PORT = "[http]\nport = 0\n"


def address(clew: Clew) -> str:
    return str(clew.json("status")["daemon"]["http"])


@contextmanager
def program(clew: Clew) -> Iterator[httpx.Client]:
    clew.up()
    headers = {"authorization": f"Bearer {clew.json('token')['token']}"}
    with httpx.Client(base_url=address(clew), headers=headers, timeout=TIMEOUT) as client:
        yield client


@contextmanager
def events(client: httpx.Client, path: str, **query: Any) -> Iterator[Iterator[Event]]:
    with client.stream("GET", path, params=query) as answer:
        assert answer.status_code == 200, answer.read()
        yield parse_sse(answer.iter_bytes())


def chat(client: httpx.Client, **body: Any) -> Iterator[Event]:
    """The chat stream, event by event; leaving it early disconnects."""
    with client.stream("POST", "/api/conversations/chat/stream", json=body) as answer:
        assert answer.status_code == 200, answer.read()
        yield from parse_sse(answer.iter_bytes())


def complete_chat(client: httpx.Client, **body: Any) -> Transcript:
    """Follow a chat to its end, and approve every gate."""
    seen = []
    for event in chat(client, **body):
        seen.append(event)
        if event.kind == "progress" and event.data["stage"] == "gate":
            client.post(f"/api/gates/{event.data['gate']}/answer", json={"decision": "accept"}).raise_for_status()
    return Transcript(tuple(seen))
