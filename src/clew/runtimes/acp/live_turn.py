"""A turn that an agent works on: its events, and what it asks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from clew.model.events import Event, GateClosed, GateOpened, TurnEnded
from clew.model.gates import Answer, Decision
from clew.model.turns import Problem, TurnState
from clew.runtimes.acp.approvals.grants import Grants
from clew.runtimes.acp.approvals.permissions import Pending
from clew.runtimes.acp.translate import Translation
from clew.runtimes.turn_events import Events
from clew.support.errors import RuntimeLost
from clew.support.text import LONGEST

CANCELLED = Answer(Decision.CANCEL)


class Live:
    def __init__(
        self, turn: str, longest_text: int = LONGEST, opened: Callable[[str], None] = lambda ref: None
    ) -> None:
        """`opened` is told of each gate."""
        self.turn = turn
        self._opened = opened
        self.translation = Translation(turn, longest_text)
        self.events: Events = asyncio.Queue()
        self.gates: dict[str, Pending] = {}
        self.over = asyncio.Event()
        self.is_interrupted = False
        self.ran_out = False  # nobody answered in the time that the agent gives
        self.granted = Grants()
        self.moved = asyncio.Event()  # set when the agent told something, or a gate was answered

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
            self.moved.set()

    def tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events.put_nowait(event)

    def ask(self, pending: Pending) -> None:
        """A turn that is ending asks nobody any more. A reference that is in use stays with what a person was shown
        under it."""
        if self.is_ending or pending.ref in self.gates:
            pending.answer(CANCELLED)
            return
        self.gates[pending.ref] = pending
        self.events.put_nowait(GateOpened(pending.ref, pending.asked))
        self._opened(pending.ref)

    def answer(self, pending: Pending, answer: Answer) -> bool:
        """False: it was answered before, or is not asked any more. Raises BadInput where the answer does not fit."""
        self.moved.set()
        if (answer.is_yes or answer.replies) and not pending.is_current():
            return False
        if not pending.answer(answer):
            return False
        self.gates.pop(pending.ref, None)
        self.events.put_nowait(GateClosed(pending.ref))
        if answer.is_yes:
            self.granted.add(*pending.grants)
        elif answer.decision is Decision.DECLINE and pending.asked.item:
            self.tell(self.translation.decline(pending.asked.item))
        return True

    def withdraw(self, pending: Pending) -> None:
        """What it asked has changed: no answer to it counts any more."""
        if self.gates.pop(pending.ref, None) is not None:
            self.events.put_nowait(GateClosed(pending.ref, changed=True))

    def cancel_gates(self) -> None:
        self.moved.set()
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
