"""A request of Claude that waits for an answer. It is answered at most once.

Claude's ids of requests are unique over all its processes, so they are our references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.model.gates import Answer
from clew.runtimes.claude.approvals import answers
from clew.runtimes.claude.approvals.requests import Checked
from clew.runtimes.claude.wire import Request


class Pending:
    def __init__(self, ref: str, request: Request, send: Callable[[str, dict[str, Any]], None]) -> None:
        self.ref = ref
        self.request = request
        self.checked: Checked | None = None  # what the person was shown; None: nobody was asked yet
        self.is_answered = False
        self.has_changed = False  # it was declined because its file has changed since it was shown
        self._send = send

    def answer(self, answer: Answer) -> bool:
        """Send the answer; False: already answered. Raises BadInput if it does not fit, and RuntimeLost."""
        if self.is_answered or self.checked is None:
            return False
        response = answers.to_response(self.request, self.checked.asked, answer)
        if answer.is_yes and not self.checked.is_current():
            self.has_changed = True
            response = answers.deny(answers.CHANGED)
        self._reply(response)
        return True

    def allow(self) -> None:
        self._reply(answers.allow(self.request))

    def deny(self, message: str) -> None:
        if not self.is_answered:
            self._reply(answers.deny(message))

    def _reply(self, response: dict[str, Any]) -> None:
        self.is_answered = True
        self._send(self.ref, response)
