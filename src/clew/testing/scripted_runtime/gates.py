"""What the scripted runtime asks a person, and what it makes of the answer. Pure, but for the bell."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from clew.model.gates import Answer, Asked, Decision, GateKind, Question
from clew.support.errors import BadInput
from clew.testing.scripted_model import script

CANCELLED = Answer(Decision.CANCEL)
HIDDEN = "(secret)"

GateStep = script.Approve | script.Permit | script.Ask | script.Aside


class Bell:
    """Wakes those who wait for an answer. What was answered is in the ledger; only what is secret stays here."""

    def __init__(self) -> None:
        self.secrets: dict[str, Answer] = {}
        self._rung = asyncio.Event()

    @property
    def next(self) -> asyncio.Event:
        """Taken before one looks: then nothing is missed."""
        return self._rung

    def ring(self) -> None:
        self._rung.set()
        self._rung = asyncio.Event()


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
    """Raises BadInput where the answer does not fit."""
    is_question = asked.kind is GateKind.QUESTION
    if answer.decision is Decision.REPLY and not is_question:
        raise BadInput("This wants a yes or a no, not words.")
    if answer.decision is Decision.ACCEPT and is_question:
        raise BadInput("This is a question: answer it with words.")


def written(asked: Asked, answer: Answer) -> Answer:
    """The answer as it may be written down."""
    if not _is_secret(asked):
        return answer
    return replace(answer, replies=tuple((question, (HIDDEN,)) for question, _ in answer.replies))


def words(asked: Asked, answer: Answer) -> str:
    """What the agent says to an answer."""
    said = ", ".join(word for _, words in answer.replies for word in words)
    if answer.decision is Decision.DECLINE:
        return f"declined: {answer.reason}" if answer.reason else "declined"
    if answer.decision is Decision.ACCEPT:
        return f"allowed: {asked.title}"
    return f"a secret of {len(said)} characters" if _is_secret(asked) else said


def _is_secret(asked: Asked) -> bool:
    return any(question.secret for question in asked.questions)
