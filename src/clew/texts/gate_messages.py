"""Messages about gates. Most are stored or returned, so they are sentences of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from clew.model.gates import Decision, Gate, GateState, Reason
from clew.support.coded import Text, coded_of
from clew.support.display.as_code import as_code
from clew.texts.catalogue import say
from clew.texts.reasons import reason

DECLINED = say("gates.declined")
MAY_HAVE_RUN = say("gates.may_have_run")
CUT = say("gates.cut")
CUT_KEPT = say("gates.cut_kept")
CUT_SENT = say("gates.cut_sent")
RAN_OUT = say("gates.ran_out")
STRANDED = say("gates.stranded")
WITHDRAWN = say("gates.withdrawn")
TURN_OVER = say("gates.turn_over")
OVER_SENT = say("gates.over_sent")
THREAD_OVER = say("gates.thread_over")
STOPPED_FIRST = say("gates.stopped_first")
UNREAD_AT_STOP = say("gates.unread_at_stop")
TAKEN_BACK = say("gates.taken_back")
ASKED_AGAIN = say("gates.asked_again")
CHANGED = say("gates.changed")
RULES_CHANGED = say("gates.rules_changed")
GONE = say("gates.gone")
DID_NOT_ARRIVE = say("gates.did_not_arrive")
SECRET_LOST = say("gates.secret_lost")
THREAD_DONE = say("gates.thread_done")
NO_ANSWER = say("gates.no_answer")
NOT_RUN = "not run"


def by_rule(why: str) -> Text:
    """Who answered, if no person did."""
    return say("gates.by_rule", why=why)


def by_person(name: str) -> str:
    """Who answered; in quotes if the name looks like clew's own."""
    return f'"{name}"' if re.match(r"\s*clew\b", name, re.IGNORECASE) else name


def is_by_rule(answered_by: str | None) -> bool:
    said = coded_of(answered_by)
    return said is not None and said.code == "gates.by_rule"


def is_by_this_rule(answered_by: str | None, why: str) -> bool:
    return coded_of(answered_by) == by_rule(why).coded


def on_its_way(gate: Gate) -> Text:
    return say("gates.on_its_way", code=gate.code)


def all_on_their_way(count: int) -> Text:
    if count == 1:
        return say("gates.all_on_their_way")
    return say("gates.all_on_their_way_many", count=count)


def said_before(code: str, said: str) -> Text:
    return say("gates.said_before", code=code, said=said)


def leads_to(name: str, where: str) -> Text:
    """About a file or a folder that is a link, or lies behind one."""
    name, where = as_code(name, lines=False), as_code(where, lines=False)
    return say("gates.leads_to", name=name, where=where)


def not_on_card(code: str) -> Text:
    """On a card that does not show a gate completely, and so offers no way to allow it."""
    return say("gates.not_on_card", code=code)


def shown_before(count: int) -> Text:
    """On a card whose gate is shown completely in the messages before it."""
    return say("gates.shown_before") if count == 1 else say("gates.shown_before_in", count=count)


def not_whole(code: str) -> Text:
    """For a person who allows a gate that their conversation does not show completely."""
    return say("gates.not_whole", code=code)


def comes_now(code: str) -> Text:
    """For an owner who allows a gate by its code in a chat, before any chat showed it: the card follows."""
    return say("gates.comes_now", code=code)


def not_shown_here(code: str) -> Text:
    """For a person who allows a gate that another conversation shows."""
    return say("gates.not_shown_here", code=code)


def rule_not_shown(code: str) -> Text:
    """For a person who chooses a rule that their conversation did not show."""
    return say("gates.rule_not_shown", code=code)


def wildcards_in_pattern(code: str, pattern: str) -> Text:
    """For a person who makes a rule from the very text of a request that has wildcards in it."""
    return say("gates.wildcards_in_pattern", pattern=pattern, code=code)


def not_arrived(code: str) -> Text:
    """For a person who allows a gate before its card, or a part of it, has arrived in their conversation."""
    return say("gates.not_arrived", code=code)


def not_among_all(codes: Sequence[str]) -> Text:
    """Added to the reply to `yes all`: the gates that it did not allow."""
    listed = ", ".join(codes)
    return say("gates.not_among_all", listed=listed)


def secret(code: str) -> Text:
    return say("gates.secret", code=code)


def either(replies: Sequence[str]) -> str:
    """`A y or B y`."""
    first, *more = replies
    return say("gates.either", first=first, other=either(more)) if more else first


def which_one(replies: Sequence[str]) -> Text:
    return say("gates.which_one", replies=either(replies))


def which_or_agent(replies: Sequence[str]) -> Text:
    """For a short answer in a conversation whose own thread has no gate, but which shows gates of other threads."""
    return say("gates.which_or_agent", replies=either(replies))


def which_button(replies: Sequence[str]) -> Text:
    """For a reaction to a card with several gates."""
    return say("gates.which_button", replies=either(replies))


def in_group(replies: Sequence[str]) -> Text:
    """For a short word in a group that was not said to clew: people may mean each other."""
    return say("gates.in_group", replies=either(replies))


def rule_by_number(code: str, said: str) -> Text:
    """For a bare number that would make a rule."""
    return say("gates.rule_by_number", code=code, said=said)


def too_quick(code: str) -> Text:
    """For a button that was pressed right after its message had changed."""
    return say("gates.too_quick", code=code)


def no_gate(code: str) -> Text:
    return say("gates.no_gate", code=code)


def elsewhere(code: str) -> Text:
    return say("gates.elsewhere", code=code)


def may_not_answer(who: str) -> Text:
    return say("gates.may_not_answer", who=who)


def no_answer_to(code: str, said: str, known: str) -> Text:
    return say("gates.no_answer_to", said=said, code=code, known=known)


def no_such_number(code: str, number: str, known: str) -> Text:
    return say("gates.no_such_number", number=number, code=code, known=known)


def number_each(gate: Gate, said: str) -> Text:
    return say("gates.number_each", said=said, questions=len(gate.asked.questions), code=gate.code, again=gate.code)


def still_open(codes: Sequence[str]) -> Text:
    listed = ", ".join(codes)
    return say("gates.still_open", listed=listed)


LEAVES_SANDBOX = reason(Reason("sandbox.leaves"))


def warnings(gate: Gate) -> list[str]:
    """What a person must know before a yes, in addition to the request. That a command leaves the sandbox, and where
    links lead, is always among it; no other warning replaces it."""
    leads = (leads_to(name, where) for name, where in gate.asked.links)
    told = [LEAVES_SANDBOX if gate.asked.leaves_sandbox else "", *leads, gate.warning]
    return [each for each in dict.fromkeys(told) if each]


def in_a_row(told: Sequence[str]) -> str:
    """Several sentences as one text."""
    first, *more = told or [""]
    return say("gates.in_a_row", first=first, other=in_a_row(more)) if more else first


_SAID = {
    Decision.ACCEPT: say("gates.said_yes"),
    Decision.DECLINE: say("gates.said_no"),
    Decision.CANCEL: say("gates.said_stop"),
}


def answered_before(gate: Gate) -> Text:
    """For a person who answers too late: who answered what, and when."""
    if gate.answer is None:
        return say("gates.closed_before", code=gate.code, state=gate.state, why=gate.why or NO_ANSWER)
    return say(
        "gates.answered_before",
        code=gate.code,
        by=person(gate.answered_by or ""),
        when=datetime.fromtimestamp((gate.answered_at or 0) / 1000).astimezone().strftime("%H:%M:%S"),
        answer=_SAID.get(gate.answer.decision) or say("gates.said_other"),
        state=gate.state,
    )


_SENT = {
    Decision.ACCEPT: "gates.line_yes_sent",
    Decision.DECLINE: "gates.line_no_sent",
    Decision.CANCEL: "gates.line_stop_sent",
    Decision.REPLY: "gates.line_reply_sent",
}
_TAKEN = {
    Decision.ACCEPT: "gates.line_yes",
    Decision.DECLINE: "gates.line_no",
    Decision.CANCEL: "gates.line_stop",
    Decision.REPLY: "gates.line_reply",
}


def person(name: str) -> str:
    """Who answered. A local client answers as `you`."""
    return say("people.you") if is_local(name) else name


def is_local(name: str) -> bool:
    """Whether a local client answered, who is `you` there, and somebody at the computer everywhere else."""
    return name == "you"


def closed_line(gate: Gate, about: str) -> Text | None:
    """What became of a gate, in one line of a transcript; None if it is open. `about` is its title."""
    match gate.state:
        case GateState.EXPIRED:
            return say("gates.line_expired", code=gate.code, about=about)
        case GateState.VOID:
            return say("gates.line_void", code=gate.code, why=gate.why, about=about)
        case GateState.ANSWERED | GateState.TAKEN if gate.answer is not None:
            codes = _TAKEN if gate.state is GateState.TAKEN else _SENT
            return say(codes[gate.answer.decision], code=gate.code, by=person(gate.answered_by or ""), about=about)
        case _:
            return None
