"""The choices of a person at a gate, the same everywhere: each button, number, key and word means one of these. Pure
functions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import FIXED_NUMBERS, Answer, Asked, Decision, Gate, GateKind, Question, RuleKind, Scope
from clew.support.display.as_code import as_command
from clew.support.errors import BadInput
from clew.texts import card_messages
from clew.texts.bilingual import Bilingual, joined, zh
from clew.texts.catalogue import say

DEFAULT_RULE_LIFETIME = 2 * 3600 * 1000  # milliseconds; of a rule that is made by `rule` or a button


AT_FIRST = 4  # choices of an approval that are shown at first sight; the others can be typed


class ChoiceKind(StrEnum):
    """The name of a choice in the API."""

    ACCEPT = "accept"
    THREAD = "thread"
    RULE = "rule"
    DECLINE = "decline"
    CANCEL = "cancel"
    OPTION = "option"


class NewRule(Struct, frozen=True):
    """A rule to create with a yes."""

    kind: RuleKind
    pattern: str
    scope: Scope
    lasts: int | None = None  # milliseconds; None: for ever


class Choice(Struct, frozen=True):
    word: ChoiceKind
    label: str
    answer: Answer
    rule: NewRule | None = None
    number: int = 0  # what a person types for it


NUMBERS = {  # of the choices of an approval: the same for every one, whatever else is offered
    ChoiceKind.ACCEPT: 1,
    ChoiceKind.DECLINE: 2,
    ChoiceKind.THREAD: 3,
    ChoiceKind.RULE: 4,
    ChoiceKind.CANCEL: 5,
}


def choices(gate: Gate) -> tuple[Choice, ...]:
    """The choices in the order of their numbers, which never change for a gate."""
    if gate.asked.kind is GateKind.QUESTION:
        return _counted(_options(gate.asked))
    found = _approvals(gate.asked, gate.offer)
    if gate.choice_order >= FIXED_NUMBERS:
        return tuple(replace(choice, number=NUMBERS[choice.word]) for choice in found)
    return _counted(found if gate.choice_order else _in_former_order(found))


def find_number(gate: Gate, number: int) -> Choice | None:
    return next((choice for choice in choices(gate) if choice.number == number), None)


def _counted(found: Sequence[Choice]) -> tuple[Choice, ...]:
    return tuple(replace(choice, number=number) for number, choice in enumerate(found, 1))


def accept_choice(asked: Asked, offer: str | None, word: ChoiceKind) -> Choice:
    """The choice for one kind of yes. `offer`: the pattern of the offered rule. Raises BadInput if none was offered."""
    for choice in _approvals(asked, offer):
        if choice.word is word:
            return choice
    raise BadInput(say("gates.no_safe_rule", title=asked.title))


def _in_former_order(found: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """As on a card of an earlier version, which somebody may answer by number: no came before "decline and stop"."""
    no = next(choice for choice in found if choice.word is ChoiceKind.DECLINE)
    others = [choice for choice in found if choice is not no]
    return (*others[:-1], no, others[-1])


def make_reply(asked: Asked, given: tuple[tuple[str, ...], ...]) -> Answer:
    """The answer to all questions, in their order; a number means the option with that number. Raises BadInput."""
    if len(given) != len(asked.questions):
        raise BadInput(say("gates.answers_count", questions=len(asked.questions), answers=len(given)))
    replies = [
        (question.id, _checked_reply(question, words)) for question, words in zip(asked.questions, given, strict=True)
    ]
    return Answer(Decision.REPLY, replies=tuple(replies))


def _approvals(asked: Asked, offer: str | None) -> tuple[Choice, ...]:
    """In the order of their numbers."""
    from clew.engine.rules import decide

    yes, no = Answer(Decision.ACCEPT), Answer(Decision.DECLINE)
    exact = NewRule(RuleKind.EXACT, decide.exact_pattern(asked), Scope.THREAD)
    found = [Choice(ChoiceKind.ACCEPT, card_messages.ALLOW, yes), Choice(ChoiceKind.DECLINE, card_messages.DECLINE, no)]
    if not asked.only_once:
        found.append(Choice(ChoiceKind.THREAD, card_messages.IN_THREAD, yes, exact))
    if offer is not None and not asked.agents:
        rule = NewRule(decide.RULE_KINDS[asked.kind], offer, Scope.WORKSPACE, DEFAULT_RULE_LIFETIME)
        found.append(Choice(ChoiceKind.RULE, _rule_label(offer), yes, rule))
    found.append(Choice(ChoiceKind.CANCEL, card_messages.AND_STOP, Answer(Decision.CANCEL)))
    return tuple(found)


def _rule_label(pattern: str) -> Bilingual:
    return card_messages.rule(as_command(pattern, lines=False))


def _options(asked: Asked) -> tuple[Choice, ...]:
    """The options of a single question; a request with several questions has no choices."""
    if len(asked.questions) != 1:
        return ()
    question = asked.questions[0]
    return tuple(
        Choice(ChoiceKind.OPTION, option, Answer(Decision.REPLY, replies=((question.id, (option,)),)))
        for option in question.options
    )


def _checked_reply(question: Question, words: tuple[str, ...]) -> tuple[str, ...]:
    chosen = tuple(_option(question, word) for word in words)
    if not any(word.strip() for word in chosen):
        raise BadInput(say("gates.answer_missing", question=question.text))
    if len(chosen) > 1 and not question.several:
        raise BadInput(say("gates.one_answer", question=question.text, count=len(chosen)))
    return chosen


def _option(question: Question, word: str) -> str:
    """The option that is meant; else the text itself, if the question takes free text."""
    text = word.strip()
    if (option := find_option(question, text)) is not None:
        return option
    if question.options and not question.free:
        numbered = (joined(" ", str(number), option) for number, option in enumerate(question.options, 1))
        known = joined(", ", *numbered)
        given = card_messages.THIS if question.secret else f"“{text}”"
        raise BadInput(say("gates.not_an_option", given=given, question=question.text, known=known))
    return text


def find_option(question: Question, word: str) -> str | None:
    """The option with exactly this text, in any language; else the one with this number, unless options are numbers
    themselves; else the only one that is equal ignoring case. `#1` always means the first option."""
    text, options = word.strip(), question.options
    if text in options:
        return text
    if (own := next((option for option in options if zh(option) == text), None)) is not None:
        return own
    place = text.removeprefix("#") if text.startswith("#") or not has_numeric_options(question) else ""
    if _is_number(place) and 1 <= int(place) <= len(options):
        return options[int(place) - 1]
    alike = [option for option in options if option.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def has_numeric_options(question: Question) -> bool:
    """Whether a number may mean the text of an option, not its position."""
    return any(_is_number(option) and int(option) != place for place, option in enumerate(question.options, 1))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10
