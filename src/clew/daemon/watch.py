"""Watches what a running daemon needs in its home, and somebody may remove: its lock and its socket."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from clew.process import lock
from clew.server.listen.servers import HttpServers
from clew.store import Store
from clew.support.errors import ClewError, StoreError
from clew.support.home import Home

log = logging.getLogger(__name__)

EVERY = 20.0  # seconds, as often as its supervisor asks for a sign of life


async def watch(home: Home, held: lock.HeldLock, store: Store, serving: HttpServers, wake: asyncio.Event) -> None:
    """Look at them now and then, and at once after `wake`."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY):
                await wake.wait()
        wake.clear()
        if not held.is_ours:
            with suppress(StoreError):  # the database was replaced, too: every use of it says so
                await store.write(lambda tx: None)  # every commit looks at the lock, and ends the daemon
        if not serving.has_socket():
            _reopen(home, serving)


def _reopen(home: Home, serving: HttpServers) -> None:
    try:
        home.prepare()
        serving.reopen()
    except (ClewError, OSError) as error:
        log.warning("the socket is gone, and cannot be made again now: %s", error)
    else:
        log.warning("the socket was removed; it was made again: %s", home.socket)
