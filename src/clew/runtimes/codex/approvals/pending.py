"""The requests of one app-server that wait for an answer. Each is answered once, whoever tries how often.

Codex numbers its requests from 0 in each process. So a reference carries the mark of the process too, and one process's
request is never taken for another's. The same request told again (a thread was resumed) is the same here; another one
under its number is refused, because the answer to one of them could count for the other.
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
        self.asked: Asked | None = None  # what a person was told
        self.is_answered = False
        self._send = send

    @property
    def thread(self) -> str:
        return self.request.thread_id or self.request.conversation_id or ""

    @property
    def cancel_ends_the_turn(self) -> bool:
        return self.method in answers.ENDS_THE_TURN

    def answer(self, answer: Answer) -> bool:
        """False: it was answered before. Raises BadInput where the answer does not fit, and RuntimeLost."""
        if self.is_answered:
            return False
        result = answers.shape(self.method, self.request, answer)
        self.is_answered = True
        self._send(result)
        return True


class Gates:
    def __init__(self, process: str, send: Callable[[RequestId, object], None]) -> None:
        self._process = process
        self._send = send
        self._pending: dict[RequestId, Pending] = {}

    def take_in(self, id: RequestId, method: str, params: msgspec.Raw) -> Pending | None:
        """None: a kind of request that we do not know. Raises BadInput where another request stands under this id."""
        if not answers.is_known(method):
            return None
        request = wire.read(params, wire.Request) or wire.Request()
        known = self._pending.get(id)
        if known is not None and (known.method, known.request) != (method, request):
            raise BadInput(f"the id {id!r} is that of another request, which is not resolved yet")
        return known or self._add(id, method, request)

    def _add(self, id: RequestId, method: str, request: wire.Request) -> Pending:
        """The ids 7 and "7" are two."""
        ref = f"{self._process}:{json.dumps(id)}"
        self._pending[id] = Pending(ref, method, request, lambda result: self._send(id, result))
        return self._pending[id]

    def cancel_all(self) -> None:
        """Nobody will answer any more."""
        with contextlib.suppress(RuntimeLost):
            for pending in list(self._pending.values()):
                pending.answer(CANCELLED)

    def resolved(self, id: RequestId) -> Pending | None:
        """Codex wants no answer any more: it has one, or the turn is over."""
        if (pending := self._pending.pop(id, None)) is not None:
            pending.is_answered = True
        return pending
