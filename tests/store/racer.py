"""One of two processes that race for the same handoffs: `python -m tests.store.racer DATABASE NAME`. It opens the store
as a daemon does, reads the open handoffs, claims them and carries them out; each step starts when it reads a line from
stdin. It also tries to write to those that it did not get, as a daemon would that was suspended meanwhile."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from clew.model.handoff import Handoff
from clew.model.messages import Conversation
from clew.store import Store
from clew.store.migrate import open_store
from clew.store.tables import handoffs
from clew.support.clock import SystemClock


async def race(store: Store, name: str) -> list[str]:
    seen = await store.read(handoffs.all_open)
    await step(len(seen))
    claimed = [await store.write(lambda tx, row=row: handoffs.claim(tx, row, name)) for row in seen]  # type: ignore[misc]
    await step(len(seen))
    for row, mine in zip(seen, claimed, strict=True):
        await carry_out(store, mine or row, name, is_mine=mine is not None)
    return [row.id for row in claimed if row is not None]


async def step(count: int) -> None:
    print(count, flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def carry_out(store: Store, row: Handoff, name: str, is_mine: bool) -> None:
    opened = await store.write(lambda tx: handoffs.record_opened(tx, row, Conversation(row.surface, name), None, False))
    completed = await store.write(lambda tx: handoffs.complete(tx, row, 1, None))
    assert (opened, completed) == (is_mine, is_mine)


def main(database: str, name: str) -> None:
    store = open_store(Path(database), SystemClock())
    try:
        print(json.dumps(asyncio.run(race(store, name))))
    finally:
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
