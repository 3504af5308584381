"""What people type while a gate is open. Strict: `y`, `n`, a number, a code, an option's own words; everything else is
a message for the agent. Pure: it reads, it answers nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.asking import Answer, Decision, Gate, GateKind, Question
from clew.engine import words
from clew.engine.choices import Choice, Word, choices, reply
from clew.errors import BadInput

YES = frozenset({"y", "yes", "同意"})
NO = frozenset({"n", "no", "拒绝"})
ALL = frozenset({"yes all", "y all", "全部同意"})
_WORDS = {"thread": Word.THREAD, "rule": Word.RULE, "stop": Word.CANCEL, "cancel": Word.CANCEL}
_CODE = re.compile("(?:[BCDFGHJKMPQRSTVWXZ][2-9]){2,6}")


class Typed(Struct, frozen=True):
    """What was typed: for which gate, if it said so, and the rest."""

    code: str | None
    rest: str

    @property
    def is_all(self) -> bool:
        return self.code is None and " ".join(self.rest.lower().split()) in ALL

    @property
    def is_bare(self) -> bool:
        """Something that means a gate and says not which."""
        word = self.rest.lower()
        return self.code is None and (word in YES or word in NO or word in _WORDS or _is_number(word))

    @property
    def is_stop(self) -> bool:
        return self.rest.lower() in ("stop", "cancel")


def is_free(said: Typed, gate: Gate) -> bool:
    """Any words, without a code, at a question that has no options to choose from."""
    questions = gate.asked.questions
    return said.code is None and len(questions) == 1 and not questions[0].options


def typed(text: str) -> Typed:
    """`K7Q2`, `K7Q2 y`, `y K7Q2`, `n K7Q2 not on a Friday`, or anything else."""
    first, *more = text.split(maxsplit=1) or [""]
    if is_code(first):
        return Typed(first.upper(), more[0].strip() if more else "")
    second, *rest = more[0].split(maxsplit=1) if more else [""]
    if (first.lower() in YES or first.lower() in NO) and is_code(second):
        return Typed(second.upper(), " ".join([first, *rest]))
    return Typed(None, text.strip())


def is_code(word: str) -> bool:
    return _CODE.fullmatch(word.upper()) is not None


def meant(said: Typed, gate: Gate) -> Choice | None:
    """What it chooses at this gate. None: nothing, it is a message. Raises BadInput where a code was given in vain."""
    choice = _at_question(said, gate) if gate.asked.kind is GateKind.QUESTION else _at_approval(said, gate)
    if choice is None and said.code is not None:
        offered = choices(gate)
        named = [words.joined(" ", str(number), each.label) for number, each in enumerate(offered, 1)]
        known = words.joined("; ", *named) or words.Both("an answer in your words", "用你自己的话回答")
        raise BadInput(words.no_answer_to(gate.code, said.rest, known))
    return choice


def _at_approval(said: Typed, gate: Gate) -> Choice | None:
    offered = choices(gate)
    word, _, reason = said.rest.partition(" ")
    if said.code is not None and not said.rest:
        return offered[0]  # its code alone is a yes to it, and to nothing else
    if reason and (said.code is None or word.lower() not in NO):
        return None
    if word.lower() in NO:
        return _of(offered, Word.DECLINE, reason.strip())
    if _is_number(word) and 1 <= int(word) <= len(offered):
        return offered[int(word) - 1]
    return _of(offered, Word.ACCEPT if word.lower() in YES else _WORDS.get(word.lower()))


def _of(offered: Sequence[Choice], word: Word | None, reason: str = "") -> Choice | None:
    found = next((choice for choice in offered if choice.word is word), None)
    return replace(found, answer=replace(found.answer, reason=reason)) if found and reason else found


def _at_question(said: Typed, gate: Gate) -> Choice | None:
    questions = gate.asked.questions
    if said.code is not None and said.is_stop:
        return Choice(Word.CANCEL, "stop the turn", Answer(Decision.CANCEL))
    if len(questions) != 1:
        return _to_several(said, gate)
    if said.code is None and questions[0].options and not _names_options(questions[0], said.rest):
        return None
    if not said.rest:
        return None
    return Choice(Word.OPTION, said.rest, reply(gate.asked, (_pieces(questions[0], said.rest),)))


def _to_several(said: Typed, gate: Gate) -> Choice | None:
    """A number for each question, in their order."""
    numbers = said.rest.replace(",", " ").split()
    if len(numbers) != len(gate.asked.questions) or not all(map(_is_number, numbers)):
        return None
    return Choice(Word.OPTION, said.rest, reply(gate.asked, tuple((number,) for number in numbers)))


def _names_options(question: Question, text: str) -> bool:
    known = {option.casefold() for option in question.options}
    pieces = _pieces(question, text)
    return bool(pieces) and all(
        piece.casefold() in known or (_is_number(piece) and 1 <= int(piece) <= len(known)) for piece in pieces
    )


def _pieces(question: Question, text: str) -> tuple[str, ...]:
    """`1, 3` where several may be chosen."""
    whole = text.casefold() in {option.casefold() for option in question.options}
    if not question.several or not question.options or whole:
        return (_yes_or_no(question, text),)
    return tuple(piece.strip() for piece in re.split("[,，]", text) if piece.strip())


def _yes_or_no(question: Question, text: str) -> str:
    """`y` at a question whose options are yes and no."""
    for meant in (YES, NO):
        if text.lower() in meant:
            return next((option for option in question.options if option.lower() in meant), text)
    return text


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 4
