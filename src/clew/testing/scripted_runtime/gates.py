"""What the scripted runtime asks a person, and how it uses the answer. Pure, apart from the signal."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from clew.model.gates import Answer, Asked, Decision, GateKind, Question
from clew.support.errors import BadInput
from clew.testing.scripted_model import script

CANCELLED = Answer(Decision.CANCEL)
HIDDEN = "(secret)"

GateStep = script.Approve | script.Permit | script.Ask | script.Aside


class AnswerSignal:
    """Wakes turns that wait for an answer. Answers are in the ledger; only secret ones are kept here."""

    def __init__(self) -> None:
        self.secrets: dict[str, Answer] = {}
        self._event = asyncio.Event()

    @property
    def next(self) -> asyncio.Event:
        """The event of the next answer. Get it before reading the ledger, so that no answer is missed."""
        return self._event

    def notify(self) -> None:
        self._event.set()
        self._event = asyncio.Event()


def asked(step: GateStep) -> list[Asked]:
    match step:
        case script.Approve(commands):
            return [Asked(GateKind.COMMAND, command) for command in commands]
        case script.Permit(path):
            return [Asked(GateKind.PERMISSION, f"write {path}, network")]
        case script.Ask(question, options, secret):
            each = Question("question", question, options, secret=secret)
            return [Asked(GateKind.QUESTION, question, questions=(each,))]
        case script.Aside(question, options):
            each = Question("question", question, options)
            return [Asked(GateKind.QUESTION, question, questions=(each,), blocking=False)]


def check(asked: Asked, answer: Answer) -> None:
    """Raises BadInput if the answer does not fit."""
    is_question = asked.kind is GateKind.QUESTION
    if answer.decision is Decision.REPLY and not is_question:
        raise BadInput("This wants a yes or a no, not words.")
    if answer.decision is Decision.ACCEPT and is_question:
        raise BadInput("This is a question: answer it with words.")


def without_secrets(asked: Asked, answer: Answer) -> Answer:
    """Return the answer as it may be stored, without secrets."""
    if not _is_secret(asked):
        return answer
    return replace(answer, replies=tuple((question, (HIDDEN,)) for question, _ in answer.replies))


def reply_text(asked: Asked, answer: Answer) -> str:
    """Return what the agent says to an answer."""
    said = ", ".join(word for _, reply_text in answer.replies for word in reply_text)
    if answer.decision is Decision.DECLINE:
        return f"declined: {answer.reason}" if answer.reason else "declined"
    if answer.decision is Decision.ACCEPT:
        return f"allowed: {asked.title}"
    return f"a secret of {len(said)} characters" if _is_secret(asked) else said


def _is_secret(asked: Asked) -> bool:
    return any(question.secret for question in asked.questions)
