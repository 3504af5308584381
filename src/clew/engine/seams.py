"""The seams on which capabilities hang, so that they do not grow into the runner: preparers of a turn's request and
listeners of its end; and, for what decides whether a turn may start or may fail, guards of its claim and handlers of
its failure. docs/explanation/capabilities.md shows how to use them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from clew.model.runtime import TurnRequest
from clew.model.threads import SuspendedBy, Thread
from clew.model.turns import Problem, Turn, TurnState, Usage
from clew.store import Tx
from clew.support.errors import RuntimeTrouble

_log = logging.getLogger(__name__)


class Follow(StrEnum):
    """What follows the end of a turn."""

    ANSWER = "answer"  # its answer is delivered
    SILENCE = "silence"  # nobody asked for it, so there is no answer
    CONTINUATION = "continuation"  # it was cut off, and another turn continues it
    QUESTION = "question"  # it was cut off, and a person is asked whether to continue


class EndedTurn(Struct, frozen=True):
    thread: Thread  # as it was just before the end
    turn: Turn
    state: TurnState
    follow: Follow
    text: str = ""
    problem: Problem | None = None
    usage: Usage | None = None


class TurnEndListener(Protocol):
    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        """Called inside the transaction that ends the turn, after its answer is enqueued: what it writes is committed
        with the end, or not at all. It reads no files, waits for nothing and must not raise."""
        ...


class AttemptListener(Protocol):
    def attempt_refused(self, tx: Tx, thread: Thread, turn: Turn, usage: Usage | None) -> None:
        """Called inside the transaction that returns a turn to the queue which its runtime got, and could not do."""
        ...


class ClaimGuard(Protocol):
    def holds_back(self, tx: Tx, thread: str) -> bool:
        """Whether the next turn of a thread must not start now. Called inside the transaction that would claim it. The
        guard writes the reason (it suspends the thread, for example), and wakes the scheduler when the turn may start.
        It must cost nothing while there is nothing to hold back."""
        ...


class Admission(Protocol):
    """Says which turns may start now, before they are claimed."""

    async def admitted(self, wanted: Sequence[str], working: int) -> list[str]:
        """Those of these threads that may start a turn while so many turns work."""
        ...

    def started(self, threads: Sequence[str]) -> None:
        """These threads have started a turn, or have none to start."""
        ...


class FailedTurn(Struct, frozen=True):
    thread: Thread
    turn: Turn
    problem: Problem
    has_acted: bool  # it may have changed something, so its request must not simply be sent again


class SendAgain(Struct, frozen=True):
    """The turn goes back into the queue, to run later or on another runtime. Only for one that has not acted."""

    runtime: str | None = None  # None: the same


class AskPerson(Struct, frozen=True):
    """The turn ends as cut off, and its thread is suspended with a question."""

    by: SuspendedBy
    question: str


class ContinueLater(Struct, frozen=True):
    """The turn ends as cut off, and another is queued that continues it. The handler sees to it that it waits."""


Recourse = SendAgain | AskPerson | ContinueLater


class FailureHandler(Protocol):
    def instead_of_failing(self, tx: Tx, failed: FailedTurn) -> Recourse | None:
        """What happens to a turn instead of failing; None: it fails. Called inside the transaction that would end it,
        unless a person stopped it. What the handler writes is committed with that."""
        ...


class Preparer(Protocol):
    async def prepare(self, thread: Thread, turn: Turn, request: TurnRequest) -> TurnRequest:
        """Return the request, perhaps with additions. Called between the claim of a turn and its run. RuntimeTrouble
        fails the turn with its message; after any other exception the turn runs without the addition."""
        ...


class Hooks(Struct, frozen=True):
    """What capabilities hang on the engine."""

    preparers: tuple[Preparer, ...] = ()
    turn_end_listeners: tuple[TurnEndListener, ...] = ()
    attempt_listeners: tuple[AttemptListener, ...] = ()
    claim_guards: tuple[ClaimGuard, ...] = ()
    failure_handlers: tuple[FailureHandler, ...] = ()  # the first that has a recourse decides


async def prepare(preparers: Sequence[Preparer], thread: Thread, turn: Turn) -> TurnRequest:
    request = TurnRequest(turn.sent_as, turn.request)
    for preparer in preparers:
        try:
            request = await preparer.prepare(thread, turn, request)
        except RuntimeTrouble:
            raise
        except Exception:
            _log.exception("%s could not prepare turn %s, which runs without it", type(preparer).__name__, turn.id)
    return request
