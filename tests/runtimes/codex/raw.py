"""Talks to a Codex app-server directly, for tests of Codex itself; and small helpers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from clew.model.events import Event, TextDone, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.runtime import TurnRequest
from clew.process.scan import Marks
from clew.runtimes.codex import record, wire
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.jsonrpc import Peer, RequestId
from clew.runtimes.process import Child, spawn
from clew.support.clock import Clock
from clew.testing.scripted_model import ScriptedModel

E = TypeVar("E")
GUARD = 60.0  # seconds; only ends a broken test


class RawCodex:
    def __init__(self, home: Path, clock: Clock, marks: Marks) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[tuple[RequestId, str, dict[str, Any]]] = []
        self.kill_on: Callable[[str, dict[str, Any]], bool] = lambda method, params: False
        self.child: Child
        self.peer: Peer
        self.is_lost = asyncio.Event()
        self._home = home
        self._clock = clock
        self._marks = marks
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> RawCodex:
        argv = [binary.locate(CodexConfig()), "app-server", "--listen", "stdio://"]
        env = {"CODEX_HOME": str(self._home)}
        self.child = await spawn(
            argv,
            self._marks.next(),
            self._clock,
            lambda line: self.peer.feed(line),
            name="codex",
            env=env,
            on_lost=self._lost,
        )
        self.peer = Peer(self.child.write, self, self._clock)
        info = {"name": "test", "version": "0"}
        await self.ask("initialize", clientInfo=info, capabilities={"experimentalApi": True})
        self.peer.notify("initialized")
        return self

    async def ask(self, method: str, *, within: float = GUARD, **params: Any) -> Any:
        return json.loads(bytes(await self.peer.request(method, params, time_limit=within)))

    async def thread(self, folder: Path, **settings: Any) -> str:
        given = {"cwd": str(folder), "sandbox": "workspace-write", "approvalPolicy": "never", **settings}
        return str((await self.ask("thread/start", **given))["thread"]["id"])

    async def turn(self, thread: str, text: str, id: str = "ours", **more: Any) -> str:
        given = [{"type": "text", "text": text}]
        answer = await self.ask("turn/start", threadId=thread, input=given, clientUserMessageId=id, **more)
        return str(answer["turn"]["id"])

    async def turns(self, thread: str) -> list[dict[str, Any]]:
        page = await self.ask("thread/turns/list", threadId=thread, limit=20, sortDirection="desc", itemsView="full")
        return list(page["data"])

    async def hear(self, method: str, test: Callable[[dict[str, Any]], bool] = lambda params: True) -> dict[str, Any]:
        """Return the first notification of that method that meets the condition; waits if it has not come yet."""
        return await self._wait(lambda: next((p for m, p in self.heard if m == method and test(p)), None))

    async def hear_item(self, method: str, kind: str) -> dict[str, Any]:
        note = await self.hear(method, lambda params: params["item"]["type"] == kind)
        return dict(note["item"])

    async def asked_for(self, count: int = 1) -> tuple[RequestId, str, dict[str, Any]]:
        """Return the `count`-th request of the server."""
        return await self._wait(lambda: self.requests[count - 1] if len(self.requests) >= count else None)

    def kill(self) -> None:
        assert self.child._transport is not None
        self.child._transport.kill()

    async def end(self) -> None:
        await self.child.end()
        await asyncio.gather(*self._tasks)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        given = json.loads(bytes(params))
        if self.kill_on(method, given):
            self.kill()
        self.heard.append((method, given))
        self._tell()

    def on_request(self, id: RequestId, method: str, params: msgspec.Raw) -> None:
        self.requests.append((id, method, json.loads(bytes(params))))
        self._tell()

    def _lost(self) -> None:
        self.peer.fail_all("gone")
        self.is_lost.set()
        self._tell()

    def _tell(self) -> None:
        task = asyncio.get_running_loop().create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _wait(self, look: Callable[[], E | None]) -> E:
        async with asyncio.timeout(GUARD), self._news:
            await self._news.wait_for(lambda: look() is not None)
        found = look()
        assert found is not None
        return found


def release_when_followed(monkeypatch: pytest.MonkeyPatch, model: ScriptedModel, name: str) -> None:
    """Release after the session has attached: it reads the turn three times, and misses nothing after the last one."""
    find, looks = record.find, 0

    async def find_and_release(connection: Connection, thread: str, turn: str) -> wire.Turn | None:
        nonlocal looks
        found = await find(connection, thread, turn)
        looks += 1
        if looks == 3:
            model.release(name)
        return found

    monkeypatch.setattr(record, "find", find_and_release)


def said(text: str, id: str = "message") -> PromptMessage:
    return PromptMessage(id=id, author="me", text=text)


def request(*texts: str, turn: str = "turn") -> TurnRequest:
    return TurnRequest(turn, tuple(said(text, f"{turn}-{number}") for number, text in enumerate(texts)))


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    async with asyncio.timeout(GUARD):
        return [event async for event in events]


async def next_of(events: AsyncIterator[Event], kind: type[E]) -> E:
    async with asyncio.timeout(GUARD):
        async for event in events:
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__} came")


def only(events: Iterable[object], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def ended(events: Iterable[Event]) -> TurnEnded:
    """Return the end of the turn: exactly one, and last."""
    listed = list(events)
    assert only(listed, TurnEnded) == listed[-1:]
    return only(listed, TurnEnded)[0]


def cut_texts(events: Iterable[Event]) -> list[str]:
    return [event.text for event in only(events, TextDone) if event.cut]
