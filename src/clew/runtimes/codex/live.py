"""A turn that Codex works on. Its events are kept from the moment they arrive, so that whoever follows it may come late
or leave."""

from __future__ import annotations

import asyncio

import msgspec

from clew.errors import RuntimeLost
from clew.events import Event
from clew.runtimes.codex.translate import Translation
from clew.runtimes.process import within


class Live:
    """A turn that Codex works on, as far as it has come."""

    def __init__(self, turn: str, runtime_turn: str | None = None) -> None:
        self.turn = turn
        self.translation = Translation(runtime_turn)
        self.events: asyncio.Queue[Event | RuntimeLost] = asyncio.Queue()
        self._known = asyncio.Event()  # Codex's id of it; or it is over
        self._begun = asyncio.Event()  # or it is over
        self.is_over = False
        self.is_interrupted = False
        self._signal()

    def feed(self, method: str, params: msgspec.Raw) -> None:
        for event in self.translation.feed(method, params):
            self.events.put_nowait(event)
        self._signal()

    @property
    def is_told(self) -> bool:
        """Nothing is left to follow."""
        return self.is_over and self.events.empty()

    def answered(self, runtime_turn: str) -> None:
        """`turn/start` was answered. Its notifications may have been read before."""
        self.translation.runtime_turn = self.translation.runtime_turn or runtime_turn
        self._signal()

    async def knows_its_id(self, patience: float) -> bool:
        return await within(patience, self._known) and not self.is_over

    async def has_begun(self, patience: float) -> bool:
        """It can be interrupted."""
        return await within(patience, self._begun) and not self.is_over

    def lose(self, reason: str) -> None:
        self.is_over = True
        self.events.put_nowait(RuntimeLost(reason))
        self._signal()

    def _signal(self) -> None:
        self.is_over = self.is_over or self.translation.is_ended
        if self.is_over or self.translation.runtime_turn is not None:
            self._known.set()
        if self.is_over or self.translation.is_started:
            self._begun.set()
