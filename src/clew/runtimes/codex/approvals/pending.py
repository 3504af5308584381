"""The requests of one app-server that wait for an answer. Each is answered at most once.

Codex numbers its requests from 0 in each process, so a reference also has the mark of the process. The same request
sent again (after a resume) is the same here. A different request with the same number is refused, because the answer to
one could be used for the other.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import msgspec

from clew.model.gates import Answer, Asked, Decision
from clew.runtimes.codex import wire
from clew.runtimes.codex.approvals import answers
from clew.runtimes.jsonrpc import RequestId
from clew.support.errors import BadInput, RuntimeLost

CANCELLED = Answer(Decision.CANCEL)


class Pending:
    def __init__(self, ref: str, method: str, request: wire.Request, send: Callable[[object], None]) -> None:
        self.ref = ref
        self.method = method
        self.request = request
        self.asked: Asked | None = None  # what the person was shown
        self.is_answered = False
        self._send = send

    @property
    def thread(self) -> str:
        return self.request.thread_id or self.request.conversation_id or ""

    @property
    def cancel_ends_the_turn(self) -> bool:
        return self.method in answers.ENDS_THE_TURN

    def answer(self, answer: Answer) -> bool:
        """Send the answer; False: already answered. Raises BadInput if it does not fit, and RuntimeLost."""
        if self.is_answered:
            return False
        result = answers.to_response(self.method, self.request, answer)
        self.is_answered = True
        self._send(result)
        return True


class Gates:
    def __init__(self, process: str, send: Callable[[RequestId, object], None]) -> None:
        self._process = process
        self._send = send
        self._pending: dict[RequestId, Pending] = {}

    def add(self, id: RequestId, method: str, params: msgspec.Raw) -> Pending | None:
        """Add a request; None: its kind is unknown. Raises BadInput if another open request has this id."""
        if not answers.is_known(method):
            return None
        request = wire.read(params, wire.Request) or wire.Request()
        known = self._pending.get(id)
        if known is not None and (known.method, known.request) != (method, request):
            raise BadInput(f"the id {id!r} is that of another request, which is not resolved yet")
        return known or self._create(id, method, request)

    def _create(self, id: RequestId, method: str, request: wire.Request) -> Pending:
        """Store it under a reference in which the ids 7 and "7" differ."""
        ref = f"{self._process}:{json.dumps(id)}"
        self._pending[id] = Pending(ref, method, request, lambda result: self._send(id, result))
        return self._pending[id]

    def cancel_all(self) -> None:
        """Cancel all requests, because nobody will answer them."""
        with contextlib.suppress(RuntimeLost):
            for pending in list(self._pending.values()):
                pending.answer(CANCELLED)

    def resolved(self, id: RequestId) -> Pending | None:
        """Remove a request that needs no answer any more: it has one, or the turn is over."""
        if (pending := self._pending.pop(id, None)) is not None:
            pending.is_answered = True
        return pending
