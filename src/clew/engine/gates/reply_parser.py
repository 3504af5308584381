"""What people type while a gate is open. Strict: `y`, `n`, a number, a code, an option's own words; everything else is
a message for the agent. Pure: it reads, it answers nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.gates.choices import Choice, Word, choices, option_of, reply
from clew.model.gates import Answer, Decision, Gate, GateKind, Question
from clew.support.errors import BadInput
from clew.texts import bilingual, gate_messages, messages
from clew.texts.messages import ALLOW, CANCEL, DENY, NO, YES

ALL = frozenset({"yes all", "y all", "全部同意"})
_EXTENTS = {"thread": Word.THREAD, "rule": Word.RULE}
_WORDS = {**_EXTENTS, **dict.fromkeys(ALLOW, Word.ACCEPT), **dict.fromkeys(CANCEL, Word.CANCEL)}
_CODE = re.compile("(?:[BCDFGHJKMPQRSTVWXZ][2-9]){2,6}")
_FIRST = re.compile(r"([^\s:：,，]+)(?:\s*[:：,，]\s*|\s+|$)(.*)", re.DOTALL)  # `K7Q2 y`, `K7Q2: y`, `K7Q2，同意`


class Typed(Struct, frozen=True):
    """What was typed: for which gate, if it said so, and the rest."""

    code: str | None
    rest: str

    @property
    def word(self) -> str:
        """The rest, if it is one of clew's words, in the way they are written."""
        return messages.word(self.rest)

    @property
    def is_all(self) -> bool:
        return self.code is None and self.word in ALL

    @property
    def is_bare(self) -> bool:
        """Something that means a gate and says not which."""
        word = self.word
        return self.code is None and (word in ALLOW | DENY | CANCEL or _is_number(word))

    @property
    def is_extent(self) -> bool:
        """A yes with a rule, by an ordinary word: only at a card that its sender points at."""
        return self.code is None and self.word in _EXTENTS

    @property
    def is_stop(self) -> bool:
        return self.word in CANCEL


def is_free(said: Typed, gate: Gate) -> bool:
    """Any words, without a code, at a question that has no options to choose from."""
    questions = gate.asked.questions
    return said.code is None and len(questions) == 1 and not questions[0].options


def typed(text: str) -> Typed:
    """`K7Q2`, `K7Q2 y`, `K7Q2: y`, `y K7Q2`, `n K7Q2 not on a Friday`, or anything else."""
    first, more = _split(messages.unquoted(text))
    if is_code(first):
        return Typed(first.upper(), more)
    second, rest = _split(more)
    if (first.lower() in YES or first.lower() in NO) and is_code(messages.word(second)):
        return Typed(messages.word(second).upper(), f"{first} {rest}".strip())
    return Typed(None, text.strip())


def _split(text: str) -> tuple[str, str]:
    found = _FIRST.fullmatch(text.strip())
    return (found[1], found[2].strip()) if found else ("", text)


def is_code(word: str) -> bool:
    return _CODE.fullmatch(word.upper()) is not None


def meant(said: Typed, gate: Gate) -> Choice | None:
    """What it chooses at this gate. None: nothing, it is a message. Raises BadInput where a code was given in vain."""
    choice = _at_question(said, gate) if gate.asked.kind is GateKind.QUESTION else _at_approval(said, gate)
    if choice is None and said.code is not None:
        offered = choices(gate)
        named = [bilingual.joined(" ", str(number), each.label) for number, each in enumerate(offered, 1)]
        known = bilingual.joined("; ", *named) or bilingual.Bilingual("an answer in your words", "用你自己的话回答")
        raise BadInput(gate_messages.no_answer_to(gate.code, said.rest, known))
    return choice


def _at_approval(said: Typed, gate: Gate) -> Choice | None:
    offered = choices(gate)
    first, *more = said.rest.split(maxsplit=1) or [""]
    word, reason = messages.word(first) if more else said.word, "".join(more)
    if reason and (said.code is None or word not in DENY):
        return None
    if word in DENY:
        return _of(offered, Word.DECLINE, reason.strip())
    if _is_number(word) and 1 <= int(word) <= len(offered):
        return offered[int(word) - 1]
    return _of(offered, _WORDS.get(word))


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
    pieces = _pieces(question, text)
    return bool(pieces) and all(option_of(question, piece) is not None for piece in pieces)


def _pieces(question: Question, text: str) -> tuple[str, ...]:
    """`1, 3` where several may be chosen."""
    if not question.several or not question.options or option_of(question, text) is not None:
        return (_as_option(question, text),)
    return tuple(_as_option(question, piece.strip()) for piece in re.split("[,，]", text) if piece.strip())


def _as_option(question: Question, text: str) -> str:
    """`1.` or `Yes!` for an option; `y` at a question whose options are yes and no. Other words as they are."""
    if not question.options or option_of(question, text) is not None:
        return text
    word = messages.word(text)
    for meant in (YES, NO):
        if word in meant:
            return next((option for option in question.options if option.lower() in meant), text)
    return word if option_of(question, word) is not None else text


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 4
