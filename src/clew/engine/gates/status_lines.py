"""The state of a gate in one line: who answered what. Pure functions."""

from __future__ import annotations

from collections.abc import Callable

from clew.engine.gates.visibility import Say
from clew.model.gates import Decision, Gate, GateState, GrantedRule, RuleKind
from clew.support.display.as_code import plain_or_code, title_shown
from clew.texts import bilingual, gate_messages

MAX_TITLE = 160  # characters of a title line
MAX_TITLE_SOURCE = 1000  # characters of a title that such a line is made of
MAX_CHOSEN = 80  # characters of an answer or a pattern
HOUR = 3_600_000  # milliseconds


def in_english(text: str, chinese: str) -> str:
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
        return say(" (from now on in this thread)", "（此后在本会话中一直允许）")
    pattern = plain_or_code(_one_line(rule.pattern, MAX_CHOSEN))
    hours = f"{rule.lasts / HOUR:g}" if rule.lasts is not None else ""
    lasts = say(f" for {hours} h", f"，{hours} 小时内有效") if hours else ""
    return say(f" (new rule: allow {pattern}{lasts})", f"（新规则：允许 {pattern}{lasts}）")


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _render_status(
    gate: Gate, say: Say, shown: Callable[[str], str], phrase: Callable[[str], str] = lambda text: text
) -> str:
    code, about, author = gate.code, shown(title_line(gate)), phrase(gate_messages.person(gate.answered_by or ""))
    by = shown(say(author, bilingual.zh(author)))
    match gate.state:
        case GateState.OPEN:
            return say(f"{code} waits for an answer: {about}", f"{code} 等待答复：{about}")
        case GateState.ANSWERED:
            answer = say(*_ANSWERS[gate.answer.decision]) if gate.answer else ""
            english = f"{code}: {answer} by {by}, on its way to the agent: {about}"
            return say(english, f"{code}：{by} {answer}，正在送往智能体：{about}")
        case GateState.TAKEN:
            done = say(*_OUTCOMES[gate.answer.decision]) if gate.answer else ""
            return say(f"{code}: {done} by {by}: {about}", f"{code}：{by} {done}：{about}")
        case GateState.EXPIRED:
            return say(f"{code} expired without an answer: {about}", f"{code} 无人答复，已过期：{about}")
        case GateState.VOID:
            return say(f"{code} is void ({gate.why}): {about}", f"{code} 已失效（{bilingual.zh(gate.why)}）：{about}")


def title_line(gate: Gate) -> str:
    title = gate.asked.title
    first = " ".join(title_shown(gate.asked.shown_as, title[:MAX_TITLE_SOURCE]).split())
    return first if len(first) <= MAX_TITLE and len(title) <= MAX_TITLE_SOURCE else f"{first[: MAX_TITLE - 1]}…"


_ANSWERS = {
    Decision.ACCEPT: ("yes", "同意"),
    Decision.DECLINE: ("no", "拒绝"),
    Decision.CANCEL: ("stop", "要求停止"),
    Decision.REPLY: ("an answer", "已回答"),
}
_OUTCOMES = {
    Decision.ACCEPT: ("allowed", "已允许"),
    Decision.DECLINE: ("declined", "已拒绝"),
    Decision.CANCEL: ("declined and stopped", "已拒绝并停止"),
    Decision.REPLY: ("answered", "已回答"),
}
