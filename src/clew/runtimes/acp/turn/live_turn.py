"""State of a turn that an agent works on: its events and its open requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from clew.model.events import Event, GateClosed, GateOpened, TurnEnded
from clew.model.gates import Answer, Decision
from clew.model.messages import PromptMessage
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes.acp.approvals.grants import Grants
from clew.runtimes.acp.approvals.permissions import Pending
from clew.runtimes.acp.turn.translate import Translation
from clew.runtimes.turn_events import Events
from clew.support.errors import RuntimeLost
from clew.support.text import LONGEST

CANCELLED = Answer(Decision.CANCEL)


class Live:
    def __init__(
        self,
        turn: str,
        longest_text: int = LONGEST,
        opened: Callable[[str], None] = lambda ref: None,
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`opened` is called with the reference of each new gate. `now`: the monotonic time."""
        self.turn = turn
        self._now = now
        self.heard_at = now()  # the last sign of life
        self.heard = asyncio.Event()  # set at each sign of life
        self.steers: set[str] = set()  # ids of messages that were sent into the turn
        self.untold: dict[str, PromptMessage] = {}  # by id: why a person declined, which the agent does not know yet
        self.spent = Tokens()  # by its earlier prompts
        self._opened = opened
        self.translation = Translation(turn, longest_text)
        self.events: Events = asyncio.Queue()
        self.gates: dict[str, Pending] = {}
        self.over = asyncio.Event()
        self.is_interrupted = False
        self.timed_out = False  # nobody answered before the agent's own timeout
        self.granted = Grants()
        self.changed = asyncio.Event()  # set on each update of the agent and each answer

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    @property
    def is_stopped(self) -> bool:
        return self.is_interrupted or self.timed_out

    @property
    def is_ending(self) -> bool:
        return self.is_over or self.is_stopped

    def feed(self, update: msgspec.Raw) -> None:
        if not self.is_over:
            self.add_events(self.translation.feed(update))
            self.hear()

    def hear(self) -> None:
        """Note a sign of life, of the agent or of the person that it waits for."""
        self.heard_at = self._now()
        self.heard.set()
        self.changed.set()

    def take_untold(self) -> tuple[PromptMessage, ...]:
        taken, self.untold = tuple(self.untold.values()), {}
        return taken

    def add_events(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events.put_nowait(event)

    def ask(self, pending: Pending) -> None:
        """Open a gate. Cancels the request if the turn is ending, or if its reference is in use: a reference must
        always mean what the person was shown."""
        if self.is_ending or pending.ref in self.gates:
            pending.answer(CANCELLED)
            return
        self.hear()
        self.gates[pending.ref] = pending
        self.events.put_nowait(GateOpened(pending.ref, pending.asked))
        self._opened(pending.ref)

    def answer(self, pending: Pending, answer: Answer) -> bool:
        """Give the answer to the agent; False: already answered, or the request has changed. Raises BadInput if it does
        not fit."""
        self.hear()
        if (answer.is_yes or answer.replies) and not pending.is_current():
            return False
        if not pending.answer(answer):
            return False
        self.gates.pop(pending.ref, None)
        self.events.put_nowait(GateClosed(pending.ref))
        if answer.is_yes and not answer.judged:  # what clew judged is judged again when it is done
            self.granted.add(*pending.grants)
        elif answer.decision is Decision.DECLINE and pending.asked.item:
            self.add_events(self.translation.decline(pending.asked.item))
        return True

    def withdraw(self, pending: Pending) -> None:
        """Close a gate whose request has changed."""
        if self.gates.pop(pending.ref, None) is not None:
            self.events.put_nowait(GateClosed(pending.ref, changed=True))

    def cancel_gates(self) -> None:
        self.changed.set()
        waiting, self.gates = self.gates, {}
        for pending in waiting.values():
            if pending.answer(CANCELLED):
                self.events.put_nowait(GateClosed(pending.ref, self.timed_out))
                self.add_events(self.translation.decline(pending.asked.item or ""))

    def end(self, ended: TurnEnded) -> None:
        if not self.is_over:
            self.cancel_gates()
            self.add_events([*self.translation.end(), ended])
            self.over.set()

    def fail(self, problem: Problem) -> None:
        """End the turn as failed at once, without the translation, which may be broken."""
        if not self.is_over:
            self.over.set()
            self.events.put_nowait(TurnEnded(TurnState.FAILED, problem=problem))

    def lose(self, reason: str) -> None:
        if not self.is_over:
            self.over.set()
            self.events.put_nowait(RuntimeLost(reason))
