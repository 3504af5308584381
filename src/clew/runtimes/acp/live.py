"""A turn that an agent works on: its events, and what it asks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from clew.asking import Answer, Decision
from clew.errors import RuntimeLost
from clew.events import Event, GateClosed, GateOpened, TurnEnded
from clew.model import Problem, TurnState
from clew.runtimes.acp.permissions import Pending
from clew.runtimes.acp.translate import Translation
from clew.runtimes.following import Events

CANCELLED = Answer(Decision.CANCEL)


class Live:
    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.translation = Translation(turn)
        self.events: Events = asyncio.Queue()
        self.gates: dict[str, Pending] = {}
        self.over = asyncio.Event()
        self.is_interrupted = False
        self.ran_out = False  # nobody answered in the time that the agent gives
        self.granted: set[str] = set()  # paths and commands that a person has said yes to in it

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    @property
    def is_stopped(self) -> bool:
        return self.is_interrupted or self.ran_out

    @property
    def is_ending(self) -> bool:
        return self.is_over or self.is_stopped

    def feed(self, update: msgspec.Raw) -> None:
        if not self.is_over:
            self.tell(self.translation.feed(update))

    def tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events.put_nowait(event)

    def ask(self, pending: Pending) -> None:
        """A turn that is ending asks nobody any more."""
        if self.is_ending:
            pending.answer(CANCELLED)
            return
        self.gates[pending.ref] = pending
        self.events.put_nowait(GateOpened(pending.ref, pending.asked))

    def answer(self, pending: Pending, answer: Answer) -> bool:
        """False: it was answered before. Raises BadInput where the answer does not fit."""
        if not pending.answer(answer):
            return False
        self.gates.pop(pending.ref, None)
        self.events.put_nowait(GateClosed(pending.ref))
        if answer.is_yes:
            self.granted |= {pending.asked.title, *pending.asked.paths}
        elif answer.decision is Decision.DECLINE and pending.asked.item:
            self.tell(self.translation.decline(pending.asked.item))
        return True

    def cancel_gates(self) -> None:
        waiting, self.gates = self.gates, {}
        for pending in waiting.values():
            if pending.answer(CANCELLED):
                self.events.put_nowait(GateClosed(pending.ref, self.ran_out))
                self.tell(self.translation.decline(pending.asked.item or ""))

    def end(self, ended: TurnEnded) -> None:
        if not self.is_over:
            self.cancel_gates()
            self.tell([*self.translation.end(), ended])
            self.over.set()

    def fail(self, problem: Problem) -> None:
        """At once, and without what may be broken."""
        if not self.is_over:
            self.over.set()
            self.events.put_nowait(TurnEnded(TurnState.FAILED, problem=problem))

    def lose(self, reason: str) -> None:
        if not self.is_over:
            self.over.set()
            self.events.put_nowait(RuntimeLost(reason))
