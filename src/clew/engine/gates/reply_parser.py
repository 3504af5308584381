"""Parses what people type while a gate is open. Strict: `y`, `n`, a number, a code, the text of an option; everything
else is a message for the agent. Pure functions: they answer nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.gates.choices import Choice, ChoiceKind, choices, find_number, find_option, make_reply
from clew.model.gates import Answer, Decision, Gate, GateKind, Question
from clew.support.errors import BadInput
from clew.texts import bilingual, card_messages, chat_messages, gate_messages
from clew.texts.chat_messages import ALLOW, CANCEL, DENY, NO, YES

YES_TO_ALL = frozenset({"yes all", "y all", "全部同意"})
_WIDER_YES = {"thread": ChoiceKind.THREAD, "rule": ChoiceKind.RULE}
_WORDS = {**_WIDER_YES, **dict.fromkeys(ALLOW, ChoiceKind.ACCEPT), **dict.fromkeys(CANCEL, ChoiceKind.CANCEL)}
_CODE = re.compile("(?:[BCDFGHJKMPQRSTVWXZ][2-9]){2,6}")
_FIRST = re.compile(r"([^\s:：,，]+)(?:\s*[:：,，]\s*|\s+|$)(.*)", re.DOTALL)  # `K7Q2 y`, `K7Q2: y`, `K7Q2，同意`


class TypedReply(Struct, frozen=True):
    """A parsed reply: the code of a gate, if there is one, and the rest of the text."""

    code: str | None
    rest: str

    @property
    def word(self) -> str:
        """The rest, normalized to compare it with clew's words."""
        return chat_messages.word(self.rest)

    @property
    def is_yes_to_all(self) -> bool:
        return self.code is None and self.word in YES_TO_ALL

    @property
    def is_short(self) -> bool:
        """Whether it is a short answer that does not say which gate it means."""
        word = self.word
        return self.code is None and (word in ALLOW | DENY | CANCEL or _is_number(word))

    @property
    def is_wider_yes(self) -> bool:
        """Whether it is a yes with a rule, by an ordinary word: valid only if its sender points at a card."""
        return self.code is None and self.word in _WIDER_YES

    @property
    def is_stop(self) -> bool:
        return self.word in CANCEL


def is_no_with_reason(typed: TypedReply) -> bool:
    """Whether it is `n REASON` or the like. Not with `no`, with which a sentence to the agent may begin."""
    word, *reason = typed.rest.split(maxsplit=1) or [""]
    return bool(reason) and chat_messages.word(word) in DENY - {"no"}


def is_free_text(typed: TypedReply, gate: Gate) -> bool:
    """Whether it is free text without a code, for a question without options."""
    questions = gate.asked.questions
    return typed.code is None and len(questions) == 1 and not questions[0].options


def parse_reply(text: str) -> TypedReply:
    """Parse `K7Q2`, `K7Q2 y`, `K7Q2: y`, `y K7Q2`, `n K7Q2 not on a Friday`, or anything else."""
    first, more = _split(chat_messages.unquoted(text))
    if is_code(first):
        return TypedReply(first.upper(), more)
    second, rest = _split(more)
    if (first.lower() in YES or first.lower() in NO) and is_code(chat_messages.word(second)):
        return TypedReply(chat_messages.word(second).upper(), f"{first} {rest}".strip())
    return TypedReply(None, text.strip())


def _split(text: str) -> tuple[str, str]:
    found = _FIRST.fullmatch(text.strip())
    return (found[1], found[2].strip()) if found else ("", text)


def is_code(word: str) -> bool:
    return _CODE.fullmatch(word.upper()) is not None


def find_choice(typed: TypedReply, gate: Gate) -> Choice | None:
    """The choice at this gate. None: it is a message. Raises BadInput if it is a number or has a code, but chooses
    nothing."""
    choice = _at_question(typed, gate) if gate.asked.kind is GateKind.QUESTION else _at_approval(typed, gate)
    if choice is None and (typed.code is not None or _is_number(typed.word)):
        raise _no_such_answer(typed, gate)
    return choice


def _no_such_answer(typed: TypedReply, gate: Gate) -> BadInput:
    if len(gate.asked.questions) > 1:
        return BadInput(gate_messages.number_each(gate, typed.rest))
    offered = [bilingual.joined(" ", str(each.number), each.label) for each in choices(gate)]
    known = bilingual.joined("; ", *offered) or card_messages.OWN_WORDS
    if offered and _is_number(typed.word):
        return BadInput(gate_messages.no_such_number(gate.code, typed.word, known))
    return BadInput(gate_messages.no_answer_to(gate.code, typed.rest, known))


def _at_approval(typed: TypedReply, gate: Gate) -> Choice | None:
    offered = choices(gate)
    first, *more = typed.rest.split(maxsplit=1) or [""]
    word, reason = chat_messages.word(first) if more else typed.word, "".join(more)
    if reason and (typed.code is None or word not in DENY):
        return None
    if word in DENY:
        return _find_kind(offered, ChoiceKind.DECLINE, reason.strip())
    if _is_number(word):
        return find_number(gate, int(word))
    return _find_kind(offered, _WORDS.get(word))


def _find_kind(offered: Sequence[Choice], word: ChoiceKind | None, reason: str = "") -> Choice | None:
    found = next((choice for choice in offered if choice.word is word), None)
    return replace(found, answer=replace(found.answer, reason=reason)) if found and reason else found


def _at_question(typed: TypedReply, gate: Gate) -> Choice | None:
    questions = gate.asked.questions
    if typed.code is not None and typed.is_stop:
        return Choice(ChoiceKind.CANCEL, "stop the turn", Answer(Decision.CANCEL))
    if len(questions) != 1:
        return _answer_several(typed, gate)
    if typed.code is None and questions[0].options and not _names_options(questions[0], typed.rest):
        return None
    if not typed.rest:
        return None
    return Choice(ChoiceKind.OPTION, typed.rest, make_reply(gate.asked, (_split_options(questions[0], typed.rest),)))


def _answer_several(typed: TypedReply, gate: Gate) -> Choice | None:
    """One number for each question, in their order."""
    numbers = typed.rest.replace(",", " ").split()
    if len(numbers) != len(gate.asked.questions) or not all(map(_is_number, numbers)):
        return None
    return Choice(ChoiceKind.OPTION, typed.rest, make_reply(gate.asked, tuple((number,) for number in numbers)))


def _names_options(question: Question, text: str) -> bool:
    pieces = _split_options(question, text)
    return bool(pieces) and all(find_option(question, piece) is not None for piece in pieces)


def _split_options(question: Question, text: str) -> tuple[str, ...]:
    """The options in a text such as `1, 3`, if several may be chosen."""
    if not question.several or not question.options or find_option(question, text) is not None:
        return (_as_option(question, text),)
    return tuple(_as_option(question, piece.strip()) for piece in re.split("[,，]", text) if piece.strip())


def _as_option(question: Question, text: str) -> str:
    """The option that `1.`, `Yes!`, or `y` for the options yes and no, may mean; else the text unchanged."""
    if not question.options or find_option(question, text) is not None:
        return text
    word = chat_messages.word(text)
    for meant in (YES, NO):
        if word in meant:
            return next((option for option in question.options if option.lower() in meant), text)
    return word if find_option(question, word) is not None else text


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 4
