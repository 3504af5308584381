from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.engine import Engine
from clew.model.views import DaemonView
from clew.server.app import unix_app
from clew.server.dependencies import AppState
from clew.store import Entry, Store
from clew.support.clock import SystemClock
from clew.support.home import Home
from clew.surfaces.local import LocalSurface
from clew.testing.scripted_runtime import MemoryLedger, ScriptedRuntime
from tests.helpers.stores import open_quickly


@dataclass
class Api:
    """The app with a real engine and store, without a daemon."""

    client: httpx.AsyncClient
    engine: Engine
    store: Store
    runtime: ScriptedRuntime
    home: Home
    stopped: list[tuple[float, bool]]
    app_state: AppState
    entries: dict[str, asyncio.Queue[dict[str, Any]]]  # the data of log entries, by kind

    async def start(self, text: str = "!text hello", **more: object) -> dict[str, str]:
        body = {"message_id": SystemClock().token(), "text": text, **more}
        answer = await self.client.post("/api/threads", json=body)
        assert answer.status_code == 201, answer.text
        accepted: dict[str, str] = answer.json()
        return accepted

    async def ended(self, turn: str) -> httpx.Response:
        """Wait for the end of a turn, and return it."""
        view = await self.engine.threads.turn(turn)
        with self.engine.live.subscribe(view.thread) as subscription:
            while (await self.engine.threads.turn(turn)).ended_at is None:
                await subscription.batch()
        return await self.client.get(f"/api/turns/{turn}")


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    home = Home(tmp_path / "home")
    home.prepare()
    clock = SystemClock()
    store = open_quickly(home.database, clock)
    runtime = ScriptedRuntime(clock, MemoryLedger())
    engine = Engine(
        store=store,
        clock=clock,
        config=Config(threads=ThreadsConfig(runtime="scripted")),
        incarnation="test",
        runtimes={"scripted": runtime},
        surfaces={"local": LocalSurface(lambda outgoing: True)},
        workspace=str(tmp_path),
    )
    stopped: list[tuple[float, bool]] = []
    entries_by_kind: dict[str, asyncio.Queue[dict[str, Any]]] = defaultdict(asyncio.Queue)
    store.listen(lambda entries: _record(entries_by_kind, entries))
    about = DaemonView(1, 2, "3", str(home.root), None, False)
    state = AppState(engine, home, about, lambda grace, restart: stopped.append((grace, restart)))
    transport = httpx.ASGITransport(unix_app(state), raise_app_exceptions=False)
    async with asyncio.TaskGroup() as group, httpx.AsyncClient(transport=transport, base_url="http://clew") as client:
        running = group.create_task(engine.run())
        yield Api(client, engine, store, runtime, home, stopped, state, entries_by_kind)
        running.cancel()
    await runtime.close()
    store.close()


def _record(entries_by_kind: dict[str, asyncio.Queue[dict[str, Any]]], entries: Sequence[Entry]) -> None:
    for entry in entries:
        entries_by_kind[entry.kind].put_nowait(dict(entry.data))
