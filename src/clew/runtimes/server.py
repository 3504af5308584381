"""Starts and stops the agent program that all threads of a runtime share: on first use, again with back-off after a
failure, and stopped when idle for long.

It only manages the connection; the sessions send the messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from clew.model.runtime import Health, HealthState
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

LONGEST_WAIT = 10.0  # seconds between two starts
START_PAUSES = (0.0, 0.25, 1.0)  # seconds before each further try, if the program died before it was ready


class Program(Protocol):
    """A connection to the program, as the server sees it."""

    is_closing: bool

    @property
    def is_alive(self) -> bool: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def is_working(self) -> bool: ...

    async def close(self) -> None: ...

    async def leave(self) -> None: ...


C = TypeVar("C", bound=Program)
OnLost = Callable[[str], None]  # gets the reason


def ignore(reason: str) -> None:
    """For whoever uses a connection once, and notices its loss by that."""


class Server(Generic[C]):
    """`start` makes a connection or raises RuntimeTrouble. It gets the function for the connection to call when it
    is lost. `idle_stop`: seconds; 0: never stop for idleness."""

    def __init__(self, name: str, start: Callable[[OnLost], Awaitable[C]], clock: Clock, idle_stop: float) -> None:
        self._name = name
        self._start_connection = start
        self._clock = clock
        self._idle_stop = idle_stop
        self._connection: C | None = None
        self.starts = 0
        self._lock = asyncio.Lock()
        self._trouble: str | None = None
        self._failures = 0
        self._not_before = 0.0
        self._busy: set[object] = set()
        self._idle_timer: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def health(self) -> Health:
        if self._connection is not None and self._connection.is_alive:
            return Health(HealthState.HEALTHY, pid=self._connection.pid)
        if self._trouble is not None:
            return Health(HealthState.DEGRADED, self._trouble)
        return Health(HealthState.STOPPED, say("runtimes.idle"))

    async def connect(self) -> C:
        """Return the open connection, or make a new one after everything of the old one has been closed."""
        async with self._lock:
            if self._is_closed:
                raise RuntimeTrouble(say("runtimes.closed", name=self._name))
            if self._connection is None or not self._connection.is_alive:
                self._connection = await self._start()
            connection = self._connection
        self._restart_idle_timer()
        return connection

    def mark_busy(self, user: object) -> None:
        """Mark a user of the server as busy: meanwhile it is not stopped for idleness."""
        self._busy.add(user)

    def mark_idle(self, user: object, *, succeeded: bool) -> None:
        self._busy.discard(user)
        if succeeded:
            self._failures, self._trouble = 0, None
        self._restart_idle_timer()

    async def close(self) -> None:
        self._is_closed = True
        async with self._lock:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
                await asyncio.gather(self._idle_timer, return_exceptions=True)
            await self._stop()
            await asyncio.gather(*self._closing)

    async def leave(self) -> None:
        """Disconnect and let the program go on if it works on something; otherwise close it."""
        async with self._lock:
            connection = self._connection
            if connection is not None and (self._busy or connection.is_working):
                self._is_closed, self._connection = True, None
                await connection.leave()
        await self.close()

    async def _start(self) -> C:
        await asyncio.gather(*self._closing)
        if (wait := self._not_before - self._clock.monotonic()) > 0:
            log.info("%s restarts in %.1f s", self._name, wait)
            await self._clock.sleep(wait)
        connection: C | None = None

        def lost(reason: str) -> None:
            if connection is not None:  # before, the start fails
                self._lost(connection, reason)

        try:
            connection = await self._try_start(lost)
        except RuntimeTrouble as trouble:
            self._failed(trouble.words)
            raise
        self._trouble = None
        self.starts += 1
        log.info("%s runs: pid %s", self._name, connection.pid)
        return connection

    async def _try_start(self, on_lost: OnLost) -> C:
        """Start the program; again if it died before it was ready, as after a stray kill: nothing ran yet."""
        for pause in START_PAUSES:
            try:
                return await self._start_connection(on_lost)
            except RuntimeTrouble as trouble:
                if not trouble.died_starting or self._is_closed:
                    raise
                log.warning("%s ended while it started; it is started again: %s", self._name, trouble.message)
            await self._clock.sleep(pause * (0.5 + self._clock.random()))
        return await self._start_connection(on_lost)

    async def _stop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    def _lost(self, connection: C, reason: str) -> None:
        if connection.is_closing:
            return
        log.warning("%s", reason)
        self._failed(say("runtimes.starts_again", reason=reason))
        closing = asyncio.get_running_loop().create_task(connection.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _failed(self, reason: str) -> None:
        """Set the back-off. After the first failure the next start is tried at once."""
        self._trouble = reason
        self._failures += 1
        wait = min(LONGEST_WAIT, 0.25 * 2 ** (self._failures - 1)) if self._failures > 1 else 0.0
        self._not_before = self._clock.monotonic() + wait * (0.5 + self._clock.random())

    def _restart_idle_timer(self) -> None:
        """Start counting idle time from zero."""
        if self._connection is None or not self._idle_stop:
            return
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().create_task(self._stop_when_idle())

    async def _stop_when_idle(self) -> None:
        while not self._busy:
            await self._clock.sleep(self._idle_stop)
            async with self._lock:
                if self._is_closed or self._connection is None:
                    return
                if not self._busy and not self._connection.is_working:
                    log.info("%s is stopped: idle for %g s", self._name, self._idle_stop)
                    self._idle_timer = None  # so that a new `connect` does not cancel us: it waits for the lock
                    await self._stop()
                    return
