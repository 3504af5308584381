"""Converts a person's answer to the response that Claude needs. Pure. An answer that does not fit raises BadInput
before anything is sent.

A yes allows this one use of a tool, with the arguments that were shown. clew never sends `updatedPermissions`: that
would write rules into the person's settings.
"""

from __future__ import annotations

from typing import Any

from clew.model.gates import Answer, Asked, Decision, GateKind, Question
from clew.runtimes.claude import items
from clew.runtimes.claude.approvals import requests
from clew.runtimes.claude.wire import Request
from clew.support.errors import BadInput
from clew.texts.catalogue import say

NO_WORDS = "The person declined this. Do not try it in another way; ask what to do instead."
NOBODY = "Nobody can be asked about this, so it was declined."
CHANGED = "The file has changed since this change was shown to a person, so it was not made. Read it and ask again."
CANCELLED = "The person stopped the turn."


def allow(request: Request) -> dict[str, Any]:
    """A sub-agent works in the foreground: what one in the background asks after the end of its turn reaches nobody."""
    given: object = request.input
    if request.tool_name in items.AGENTS:
        given = {**requests.arguments(request), "run_in_background": False}
    return {"behavior": "allow", "updatedInput": given}


def deny(message: str) -> dict[str, Any]:
    return {"behavior": "deny", "message": message}


def to_response(request: Request, asked: Asked, answer: Answer) -> dict[str, Any]:
    if answer.decision is Decision.DECLINE:
        return deny(_reason(answer))
    if answer.decision is Decision.CANCEL:
        return deny(CANCELLED)
    if asked.kind is GateKind.QUESTION:
        return {"behavior": "allow", "updatedInput": _answered(request, asked, answer)}
    if answer.decision is not Decision.ACCEPT:
        raise BadInput(say("runtimes.wants_yes_or_no"))
    return allow(request)


def _reason(answer: Answer) -> str:
    """The words for the model, as the result of its tool."""
    if answer.expired:
        return f"Nobody declined this. It was not done because {answer.reason}; you may ask again."
    return f"The person declined this: {answer.reason}" if answer.reason else NO_WORDS


def _answered(request: Request, asked: Asked, answer: Answer) -> dict[str, Any]:
    if answer.decision is not Decision.REPLY:
        raise BadInput(say("runtimes.wants_words"))
    replies = dict(answer.replies)
    by_id = {question.id: question for question in asked.questions}
    if unknown := sorted(replies.keys() - by_id.keys()):
        raise BadInput(say("runtimes.no_such_question", names=", ".join(unknown)))
    if missing := [each.text for each in asked.questions if not _words(each, replies)]:
        raise BadInput(say("runtimes.needs_answers", names=", ".join(missing)))
    said = {each.text: _words(each, replies) for each in asked.questions}
    return {**requests.arguments(request), "answers": said}


def _words(question: Question, replies: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(each for each in replies.get(question.id, ()) if each.strip())
