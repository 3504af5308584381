"""The scripted runtime: makes sessions, and can simulate the death of its process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clew.model.runtime import Health, HealthState, ModelInfo, ProgramInfo, RuntimeCan, Seat, Session
from clew.model.threads import SessionBegan
from clew.support.clock import Clock
from clew.support.errors import RuntimeTrouble
from clew.support.version import __version__
from clew.testing.scripted_runtime.gates import AnswerSignal
from clew.testing.scripted_runtime.holds import Holds
from clew.testing.scripted_runtime.ledger import Ledger
from clew.testing.scripted_runtime.session import Script, ScriptedSession, from_prompt


class ScriptedRuntime:
    name = "scripted"

    def __init__(
        self,
        clock: Clock,
        ledger: Ledger,
        *,
        holds: Holds | None = None,
        play: Script = from_prompt,
        outlives: bool = False,
        pace: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.clock = clock
        self.ledger = ledger
        self.free_at: int | None = None  # what a turn at a usage limit says about its end, in milliseconds
        self.holds = holds or Holds()
        self.answer_signal = AnswerSignal()
        self.play = play
        self.pace = pace  # seconds before each step
        self.can = RuntimeCan(steer=True, record=True, images=True, outlives=outlives)
        self.offers: tuple[ModelInfo, ...] = ()  # models
        self._lost = asyncio.Event()
        self._closed = False

    async def models(self) -> tuple[ModelInfo, ...]:
        return self.offers

    async def open(self, seat: Seat) -> Session:
        if self._closed:
            raise RuntimeTrouble("the scripted runtime is closed")
        name = seat.continuity.data if seat.continuity is not None else _name(seat)
        if seat.continuity is None and seat.fork is not None:
            self._copy(seat.fork.continuity.data, name, seat.fork.runtime_turn)
        if self.ledger.load(name):
            return ScriptedSession(self, name, self._lost, seat)
        began = SessionBegan.REBUILT if seat.has_past else SessionBegan.FRESH
        return ScriptedSession(self, name, self._lost, seat, began=began)

    async def health(self) -> Health:
        return Health(HealthState.STOPPED, "closed") if self._closed else Health(HealthState.HEALTHY)

    async def look(self) -> ProgramInfo:
        return ProgramInfo(__version__, "", None)

    async def close(self) -> None:
        self._closed = True
        self.lose()

    def lose(self) -> None:
        """Simulate the death of its process: running turns raise RuntimeLost, and the next ones work."""
        self._lost.set()
        self._lost = asyncio.Event()

    def _copy(self, source: str, target: str, last: str | None) -> None:
        played = self.ledger.load(source)
        ids = [entry.turn for entry in played]
        self.ledger.save(target, played[: ids.index(last) + 1] if last in ids else played)


def _name(seat: Seat) -> str:
    return f"scripted-{seat.thread}-{seat.role}" if seat.role else f"scripted-{seat.thread}"
