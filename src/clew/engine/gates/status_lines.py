"""The state of a gate in one line: who answered what. Pure functions."""

from __future__ import annotations

from collections.abc import Callable

from clew.engine.gates.visibility import Say, title_seen
from clew.model.gates import Asked, Decision, Gate, GateState, GrantedRule, RuleKind
from clew.support.display.as_code import plain_or_code
from clew.texts import bilingual, card_messages, gate_messages
from clew.texts.together import in_each_language

MAX_TITLE = 160  # characters of a title line
MAX_TITLE_SOURCE = 1000  # characters of a title that such a line is made of
MAX_CHOSEN = 80  # characters of an answer or a pattern
HOUR = 3_600_000  # milliseconds


def in_english(text: str) -> str:
    return text


def status_line(gate: Gate, say: Say = in_english) -> str:
    """The state of a gate, in one line. "Allowed" only if the agent took the answer."""
    return _render_status(gate, say, str)


def chat_status_line(gate: Gate, say: Say = in_english) -> str:
    """The same for a chat that renders Markdown, where "you" would be somebody else; with what was chosen."""
    chosen = _render_chosen(gate, say) if gate.state in (GateState.ANSWERED, GateState.TAKEN) else ""
    return f"{_render_status(gate, say, plain_or_code, bilingual.for_chat)}{chosen}"


def _render_chosen(gate: Gate, say: Say) -> str:
    """What was said to a question, or the rule that was made with a yes."""
    answer = gate.answer
    if answer is None:
        return ""
    if answer.decision is Decision.REPLY:
        said = "; ".join(", ".join(each) for _, each in answer.replies)
        return f" → {plain_or_code(_one_line(said, MAX_CHOSEN))}" if said.strip() else ""
    return _render_rule(answer.rule, say) if answer.rule is not None else ""


def _render_rule(rule: GrantedRule, say: Say) -> str:
    if rule.kind is RuleKind.EXACT:
        return say(card_messages.FROM_NOW_ON)
    pattern = plain_or_code(_one_line(rule.pattern, MAX_CHOSEN))
    hours = f"{rule.lasts / HOUR:g}" if rule.lasts is not None else ""
    return say(card_messages.new_rule(pattern, hours))


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _render_status(
    gate: Gate, say: Say, shown: Callable[[str], str], phrase: Callable[[str], str] = lambda text: text
) -> str:
    code, about, author = gate.code, shown(say(title_line(gate))), phrase(gate_messages.person(gate.answered_by or ""))
    by = shown(say(author))
    match gate.state:
        case GateState.OPEN:
            return say(card_messages.waits(code, about))
        case GateState.ANSWERED:
            answer = card_messages.ANSWERS[gate.answer.decision] if gate.answer else ""
            return say(card_messages.on_its_way(code, answer, by, about))
        case GateState.TAKEN:
            outcome = card_messages.OUTCOMES[gate.answer.decision] if gate.answer else ""
            return say(card_messages.settled(code, outcome, by, about))
        case GateState.EXPIRED:
            return say(card_messages.expired(code, about))
        case GateState.VOID:
            return say(card_messages.void(code, gate.why, about))


def title_line(gate: Gate) -> str:
    return in_each_language(gate.asked.title, lambda title: _title_line(gate.asked, title))


def _title_line(asked: Asked, title: str) -> str:
    first = " ".join(title_seen(asked, title[:MAX_TITLE_SOURCE]).split())
    return first if len(first) <= MAX_TITLE and len(title) <= MAX_TITLE_SOURCE else f"{first[: MAX_TITLE - 1]}…"
