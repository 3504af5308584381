"""Exclusive access to a home's store: take its lock, then open the store."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from clew.process import lock, scan
from clew.store import Store
from clew.store.migrate import open_store
from clew.support.clock import Clock
from clew.support.errors import StoreHeld
from clew.support.home import Home

LOST = 75  # the exit code after the lock was lost
log = logging.getLogger(__name__)


@contextmanager
def held(home: Home, clock: Clock, what: str, foreground: bool = False) -> Iterator[lock.HeldLock]:
    """Take the home's lock. Raises StoreHeld, which names the holder, also one of an earlier version."""
    home.prepare()
    former = home.former_locks[1]
    if not lock.is_free(former):
        raise StoreHeld(lock.describe_holder(former))
    me = scan.get(os.getpid())
    holder = lock.Holder(os.getpid(), me.started if me else "", clock.now(), what, foreground=foreground)
    with lock.hold(home.lock, holder) as it:
        yield it


@asynccontextmanager
async def opened(home: Home, clock: Clock, it: lock.HeldLock) -> AsyncIterator[Store]:
    """Open the store, and record its id in the lock file."""
    store = open_store(home.database, clock, before_commit=lambda: exit_if_lost(it))
    try:
        it.note_store(store.id)
        yield store
    finally:
        await asyncio.to_thread(store.close)


def exit_if_lost(it: lock.HeldLock) -> None:
    """End this process at once if its lock file was removed or replaced: another daemon may work on the store. The
    supervisor starts the next one, which recovers what ran, as after any other crash."""
    if not it.is_ours:
        log.critical("the lock file was removed or replaced while clew was running; clew ends")
        os._exit(LOST)
