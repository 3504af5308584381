"""Handles the updates of several conversations at the same time, those of one conversation in order, and knows up to
where every update is handled. Only that much may be confirmed to Telegram: after a crash it sends the rest again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """`handle` gets one update and returns when it is done with it; it never raises."""

    def __init__(self, group: asyncio.TaskGroup, handle: Callable[[T], Awaitable[None]]) -> None:
        self._group = group
        self._handle = handle
        self.confirmed: int | None = None  # the number after the last update that is handled with all before it
        self._window: dict[int, bool] = {}  # by number, in order of arrival: whether it is handled
        self._waiting: dict[Hashable, deque[tuple[int, T]]] = {}
        self._advanced = asyncio.Event()

    @property
    def offset(self) -> int | None:
        """The number of the first update that is not handled; None: none has come yet."""
        return next(iter(self._window), self.confirmed)

    @property
    def is_busy(self) -> bool:
        return bool(self._window)

    @property
    def unconfirmed(self) -> frozenset[int]:
        """The updates that Telegram sends again if it is asked now."""
        return frozenset(self._window)

    def add(self, number: int, lane: Hashable, update: T) -> None:
        """Handle an update after those before it in its lane."""
        self._window[number] = False
        waiting = self._waiting.setdefault(lane, deque())
        waiting.append((number, update))
        if len(waiting) == 1:
            self._group.create_task(self._work(lane, waiting))

    async def advance(self, since: int | None, wait: Coroutine[object, object, object]) -> None:
        """Wait until more than `since` is confirmed, at most until `wait` is over."""
        tasks: set[asyncio.Future[object]] = {
            asyncio.ensure_future(wait),
            asyncio.ensure_future(self._confirmed_after(since)),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _confirmed_after(self, since: int | None) -> None:
        while self.confirmed == since:
            self._advanced.clear()
            await self._advanced.wait()

    async def _work(self, lane: Hashable, waiting: deque[tuple[int, T]]) -> None:
        while waiting:
            number, update = waiting[0]
            await self._handle(update)
            waiting.popleft()
            self._window[number] = True
            self._confirm()
        del self._waiting[lane]

    def _confirm(self) -> None:
        while (first := next(iter(self._window), None)) is not None and self._window[first]:
            del self._window[first]
            self.confirmed = first + 1
            self._advanced.set()
