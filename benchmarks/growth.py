"""Whether list, show, start and resume cost the same in a store with few threads and in one with 100,000.

    python -m benchmarks.growth [--few 20] [--many 100000]

Uses the engine and a real SQLite file in this process. Few and many are measured alternately, so that a noisy machine
affects both alike; a ratio compares the medians. Exit code 1 if a ratio is over 1.5.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.report import Line
from clew.config.settings import Config, ThreadsConfig
from clew.engine.engine import Engine
from clew.model import history as model_history
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.events.logged import ThreadCreated, TurnEnded, TurnQueued, TurnStarted
from clew.model.messages import Conversation, Fate, Inbound, PromptMessage
from clew.model.threads import Thread, ThreadFilter, ThreadKind, ThreadStatus
from clew.model.turns import Origin, Turn, TurnState
from clew.model.views import NewThread
from clew.store import Store, Tx
from clew.store.migrate import open_store
from clew.store.tables import deliveries, inbox, nodes, threads, turns
from clew.store.tables.inbox import Arrival
from clew.support.clock import SystemClock
from clew.testing.scripted_runtime import MemoryLedger, ScriptedRuntime

LIMIT = 1.5
ROUNDS = 60
PAGE = 9  # rows; also fills a page in the small store


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("--few", type=int, default=20)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rows = asyncio.run(measure(wanted.few, wanted.many))
    print(json.dumps(rows, indent=2) if wanted.json else table(rows, wanted.few, wanted.many))
    return 0 if all(row["ratio"] <= LIMIT for row in rows.values()) else 1


async def measure(few: int, many: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        benches = []
        for count in (few, many):
            print(f"filling a store with {count} threads …", file=sys.stderr)
            bench = Bench(Path(folder) / f"{count}.db")
            await bench.fill(count)
            benches.append(bench)
        try:
            return {name: await compare(benches, name) for name in ("list", "history", "show", "start", "resume")}
        finally:
            for bench in benches:
                await bench.close()


async def compare(benches: list[Bench], name: str) -> dict[str, float]:
    times: list[list[float]] = [[], []]
    for number in range(ROUNDS):
        for bench, taken in zip(benches, times, strict=True):
            work: Callable[[int], Awaitable[object]] = getattr(bench, name)
            began = time.perf_counter()
            await work(number)
            taken.append(time.perf_counter() - began)
    few, many = (statistics.median(taken[5:]) * 1000 for taken in times)
    return {"few_ms": round(few, 3), "many_ms": round(many, 3), "ratio": round(many / few, 2)}


class Bench:
    """An engine that accepts and never runs turns: it measures the store and the policy, not an agent."""

    def __init__(self, path: Path) -> None:
        self.clock = SystemClock()
        self.store: Store = open_store(path, self.clock)
        self.ids: list[str] = []
        self.engine = Engine(
            store=self.store,
            clock=self.clock,
            config=Config(threads=ThreadsConfig(runtime="scripted")),
            incarnation="bench",
            runtimes={"scripted": ScriptedRuntime(self.clock, MemoryLedger())},
            surfaces={},
            workspace=str(path.parent),
        )

    async def fill(self, count: int) -> None:
        for start in range(0, count, 500):
            await self.store.write(lambda tx, start=start: self._some(tx, start, min(500, count - start)))  # type: ignore[misc]

    def _some(self, tx: Tx, start: int, count: int) -> None:
        for number in range(start, start + count):
            self._finished_thread(tx, number)

    def _finished_thread(self, tx: Tx, number: int) -> None:
        """Store a task that ran and was delivered, as the engine does; half of them stay open."""
        now = self.clock.now()
        name, turn_id = self.clock.ulid(), self.clock.ulid()
        status = ThreadStatus.IDLE if number % 2 == 0 else ThreadStatus.COMPLETED
        thread = Thread(
            name, ThreadKind.TASK, status, f"task {number}", "scripted", "/", now, completed_at=now, last_turn=turn_id
        )
        threads.insert(tx, thread)
        said = PromptMessage(f"m{number}", "ann", "please do it " * 10)
        where = Conversation("cli")
        seq = threads.next_seq(tx, name)
        turns.insert(tx, Turn(turn_id, name, seq, TurnState.QUEUED, Origin.MESSAGE, (said,), where, now, "scripted"))
        turns.drop_queued(tx, turn_id, now)
        head = nodes.append(tx, name, None, model_history.Started(name, now, "task", "scripted", "/"))
        head = nodes.append(tx, name, head, model_history.Spoken(turn_id, now, said.id, "ann", said.text))
        nodes.append(tx, name, head, model_history.Outcome(turn_id, now, "completed", "scripted", "it is done " * 20))
        deliveries.enqueue(
            tx,
            Delivery(f"{turn_id}:final", DeliveryKind.FINAL, name, turn_id, None, "done", DeliveryState.NO_TARGET, now),
        )
        inbox.record(tx, Inbound(where, said.id, "ann", said.text), Arrival(Fate.TURN, name, turn_id, ""), now)
        created, queued = ThreadCreated(thread.kind, thread.title), TurnQueued(Origin.MESSAGE)
        for happened in (created, queued, TurnStarted(), TurnEnded(TurnState.COMPLETED)):
            tx.log(name, turn_id, now, happened)
        if status is ThreadStatus.COMPLETED:
            self.ids.append(name)

    async def list(self, number: int) -> object:
        return await self.engine.threads.page(ThreadFilter(limit=PAGE))

    async def history(self, number: int) -> object:
        return await self.engine.threads.page(ThreadFilter(history=True, limit=PAGE))

    async def show(self, number: int) -> object:
        return await self.engine.threads.get(self.ids[number % len(self.ids)])

    async def start(self, number: int) -> object:
        return await self.engine.threads.start(NewThread(self.clock.ulid(), "please", kind=ThreadKind.TASK))

    async def resume(self, number: int) -> object:
        """Finish a thread, then resume it; only the second is of interest, and both are constant."""
        name = self.ids[number % len(self.ids)]
        await self.store.write(lambda tx: _complete(tx, name))
        return await self.engine.threads.resume(name, "and now", self.clock.ulid(), "ann")

    async def close(self) -> None:
        await asyncio.to_thread(self.store.close)


def _complete(tx: Tx, name: str) -> None:
    threads.finish(tx, name, ThreadStatus.IDLE, ThreadStatus.COMPLETED, 1)


def lines(rows: dict[str, dict[str, float]]) -> list[Line]:
    return [
        Line(f"{name}, in a large store, to a small one", row["many_ms"], "ms", row["ratio"], at_most=LIMIT)
        for name, row in rows.items()
    ]


def table(rows: dict[str, dict[str, float]], few: int, many: int) -> str:
    lines = [f"{'':10}{few:>12} threads{many:>12} threads   ratio (at most {LIMIT})"]
    for name, row in rows.items():
        lines.append(f"{name:10}{row['few_ms']:>17.3f} ms{row['many_ms']:>17.3f} ms{row['ratio']:>8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
