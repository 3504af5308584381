"""The two seams on which capabilities hang, so that they do not grow into the runner: listeners of a turn's end, and
preparers of a turn's request. docs/explanation/capabilities.md shows how to use them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from clew.model.runtime import TurnRequest
from clew.model.threads import Thread
from clew.model.turns import Problem, Turn, TurnState
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


class TurnEndListener(Protocol):
    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        """Called inside the transaction that ends the turn, after its answer is enqueued: what it writes is committed
        with the end, or not at all. It reads no files, waits for nothing and must not raise."""
        ...


class Preparer(Protocol):
    async def prepare(self, thread: Thread, turn: Turn, request: TurnRequest) -> TurnRequest:
        """Return the request, perhaps with additions. Called between the claim of a turn and its run. RuntimeTrouble
        fails the turn with its message; after any other exception the turn runs without the addition."""
        ...


async def prepare(preparers: Sequence[Preparer], thread: Thread, turn: Turn) -> TurnRequest:
    request = TurnRequest(turn.id, turn.request)
    for preparer in preparers:
        try:
            request = await preparer.prepare(thread, turn, request)
        except RuntimeTrouble:
            raise
        except Exception:
            _log.exception("%s could not prepare turn %s, which runs without it", type(preparer).__name__, turn.id)
    return request
