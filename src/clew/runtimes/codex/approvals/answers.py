"""Converts a person's answer to the response that each kind of request needs. Pure. An answer that does not fit raises
BadInput before anything is sent.

A yes accepts this one request only: never for the session, never as a rule. clew does not touch the person's Codex
rules.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.model.gates import Answer, Decision
from clew.runtimes.codex import wire
from clew.runtimes.codex.approvals import forms, requests
from clew.support.errors import BadInput
from clew.texts.catalogue import say

NO = Answer(Decision.DECLINE)

# Cancelling one of these ends the turn. Codex never answers an interrupt after it.
ENDS_THE_TURN = frozenset({requests.COMMAND, requests.CHANGE, requests.OLD_COMMAND, requests.OLD_CHANGE})

_DECISIONS = {Decision.ACCEPT: "accept", Decision.DECLINE: "decline", Decision.CANCEL: "cancel"}
_OLD_DECISIONS = {Decision.ACCEPT: "approved", Decision.CANCEL: "abort"}


def is_known(method: str) -> bool:
    return method in _CONVERTERS


def to_response(method: str, request: wire.Request, answer: Answer) -> object:
    return _CONVERTERS[method](request, answer)


def _decision(request: wire.Request, answer: Answer) -> object:
    return {"decision": _DECISIONS[_yes_or_no(answer)]}


def _old_decision(request: wire.Request, answer: Answer) -> object:
    decision = _yes_or_no(answer)
    if decision is not Decision.DECLINE:
        return {"decision": _OLD_DECISIONS[decision]}
    why = f"it was not done because {answer.reason}; you may ask again" if answer.expired else "the person declined"
    return {"decision": {"denied": {"rejection": why}}}


def _grant(request: wire.Request, answer: Answer) -> object:
    is_yes = _yes_or_no(answer) is Decision.ACCEPT
    return {"permissions": request.permissions if is_yes else {}, "scope": "turn"}


def _input(request: wire.Request, answer: Answer) -> object:
    if answer.decision in (Decision.DECLINE, Decision.CANCEL):
        return {"answers": {question.id: {"answers": []} for question in request.questions}}
    said = {id: [word for word in words if word] for id, words in answer.replies}
    if strange := said.keys() - {question.id for question in request.questions}:
        raise BadInput(say("runtimes.no_such_question", names=", ".join(sorted(strange))))
    if not any(said.values()):
        raise BadInput(say("runtimes.wants_words"))
    return {
        "answers": {each.id: {"answers": _check_options(each, said.get(each.id, []))} for each in request.questions}
    }


def _check_options(question: wire.Question, said: list[str]) -> list[str]:
    labels = [option.label for option in question.options or ()]
    strange = [word for word in said if word not in labels]
    if labels and strange and not question.is_other:
        given = say("runtimes.another_answer") if question.is_secret else repr(strange[0])
        wanted = say("runtimes.one_of", names=", ".join(labels))
        raise BadInput(say("runtimes.takes_not", name=question.question, wanted=wanted, given=given))
    return said


def _elicitation(request: wire.Request, answer: Answer) -> object:
    if answer.decision in (Decision.DECLINE, Decision.CANCEL):
        return {"action": _DECISIONS[answer.decision]}
    if request.mode == "url" or not forms.fields(request.requested_schema):
        _yes_or_no(answer)
        return {"action": "accept"} if request.mode == "url" else {"action": "accept", "content": {}}
    return {"action": "accept", "content": forms.fill(request.requested_schema, answer.replies)}


def _no_such_tool(request: wire.Request, answer: Answer) -> object:
    return {"success": False, "contentItems": [{"type": "inputText", "text": "unknown tool"}]}


def _yes_or_no(answer: Answer) -> Decision:
    if answer.decision is Decision.REPLY:
        raise BadInput(say("runtimes.wants_yes_or_no"))
    return answer.decision


_CONVERTERS: dict[str, Callable[[wire.Request, Answer], object]] = {
    requests.COMMAND: _decision,
    requests.CHANGE: _decision,
    requests.PERMISSIONS: _grant,
    requests.INPUT: _input,
    requests.ELICITATION: _elicitation,
    requests.TOOL: _no_such_tool,
    requests.OLD_COMMAND: _old_decision,
    requests.OLD_CHANGE: _old_decision,
}
