"""Finds both languages of texts that are stored in English."""

from __future__ import annotations

from datetime import datetime

from clew.model.gates import Gate, Reason
from clew.texts import gate_messages, handoff_messages, messages
from clew.texts.bilingual import Bilingual, zh
from clew.texts.gate_messages import NO_ANSWER
from clew.texts.reasons import REASONS, reason

_KNOWN = {
    str(each): each
    for module in (messages, gate_messages, handoff_messages)
    for each in vars(module).values()
    if isinstance(each, Bilingual)
}


def stored(text: str) -> str:
    """Both languages of a stored text: a reason, by its code, or an English sentence, such as why a gate is void."""
    code, _, about = text.partition(":")
    return reason(Reason(code, about)) if code in REASONS else _KNOWN.get(text, text)


LEAVES_SANDBOX = reason(Reason("sandbox.leaves"))


def warnings(gate: Gate) -> list[str]:
    """What a person must know before a yes, in addition to the request. That a command leaves the sandbox, and where
    links lead, is always among it; no other warning replaces it."""
    leads = (gate_messages.leads_to(name, where) for name, where in gate.asked.links)
    told = [LEAVES_SANDBOX if gate.asked.leaves_sandbox else "", *leads, stored(gate.warning)]
    return [each for each in dict.fromkeys(told) if each]


def answered_before(gate: Gate) -> Bilingual:
    """For a person who answers too late: who answered what, and when."""
    if gate.answer is None:
        why = stored(gate.why) or NO_ANSWER
        return Bilingual(f"{gate.code} is {gate.state}: {why}.", f"{gate.code} 已失效：{zh(why)}。")
    told = {"accept": ("yes", "同意"), "decline": ("no", "拒绝"), "cancel": ("no, and to stop", "拒绝并停止")}
    said, chinese = told.get(gate.answer.decision, ("its answer", "已回答"))
    when = datetime.fromtimestamp((gate.answered_at or 0) / 1000).astimezone().strftime("%H:%M:%S")
    return Bilingual(
        f"{gate.code} was answered by {gate.answered_by} at {when}: {said}. It is {gate.state} now.",
        f"{gate.code} 已由 {gate.answered_by} 在 {when} 答复：{chinese}。",
    )
