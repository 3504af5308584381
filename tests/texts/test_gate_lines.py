"""The line of a closed gate in a transcript says in both languages what its card says."""

from __future__ import annotations

import pytest

from clew.engine.gates import status_lines as cards
from clew.model.gates import (
    Answer,
    Asked,
    Decision,
    Gate,
    GateKind,
    GateState,
    GrantedRule,
    Question,
    RuleKind,
)
from clew.texts import gate_messages
from clew.texts.bilingual import zh

STATES = [state for state in GateState if state is not GateState.OPEN]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("decision", Decision)
def test_the_line_is_the_one_of_the_card(state: GateState, decision: Decision) -> None:
    answer = Answer(decision) if state in (GateState.ANSWERED, GateState.TAKEN) else None
    asked = Asked(GateKind.COMMAND, "make install")
    gate = Gate("G", "K7Q2", "T", "U", "R", asked, state, 1, answer=answer, answered_by="ann", why=gate_messages.GONE)
    line = gate_messages.closed_line(gate, cards.title_line(gate))
    assert line is not None
    assert line == cards.status_line(gate)
    assert zh(line) == cards.status_line(gate, zh)


def test_an_open_gate_has_no_such_line() -> None:
    gate = Gate("G", "K7Q2", "T", "U", "R", Asked(GateKind.COMMAND, "make"), GateState.OPEN, 1)
    assert gate_messages.closed_line(gate, "make") is None


def test_you_are_named_in_chinese_too() -> None:
    answer = Answer(Decision.ACCEPT)
    asked = Asked(GateKind.COMMAND, "make")
    gate = Gate("G", "K7Q2", "T", "t", "r", asked, GateState.TAKEN, 1, answer=answer, answered_by="you")
    line = gate_messages.closed_line(gate, "make")
    assert line == "K7Q2: allowed by you: make" and zh(line) == "K7Q2：你 已允许：make"


def _lines(answer: Answer, by: str, asked: Asked) -> tuple[str, str]:
    gate = Gate("G", "K7Q2", "T", "t", "r", asked, GateState.TAKEN, 1, answer=answer, answered_by=by)
    return cards.chat_status_line(gate), cards.chat_status_line(gate, zh)


def test_in_a_chat_you_are_somebody_at_the_computer() -> None:
    asked = Asked(GateKind.COMMAND, "make")
    assert _lines(Answer(Decision.ACCEPT), "you", asked) == (
        "K7Q2: allowed by somebody at the computer: make",
        "K7Q2：电脑前的人 已允许：make",
    )
    assert _lines(Answer(Decision.DECLINE), "Ann", asked)[0] == "K7Q2: declined by Ann: make"


def test_a_chat_shows_what_was_chosen_and_never_a_secret() -> None:
    asked = Asked(GateKind.QUESTION, "Which colour?", questions=(Question("q", "Which colour?", ("red", "*blue*")),))
    answer = Answer(Decision.REPLY, replies=(("q", ("*blue*",)),))
    assert _lines(answer, "Ann", asked) == (
        "K7Q2: answered by Ann: Which colour? → `*blue*`",
        "K7Q2：Ann 已回答：Which colour? → `*blue*`",
    )
    hidden = Answer(Decision.REPLY, replies=(("q", ("(secret)",)),))
    assert "(secret)" in _lines(hidden, "Ann", asked)[0]


def test_a_chat_shows_the_rule_that_was_made() -> None:
    asked = Asked(GateKind.COMMAND, "make all")
    rule = GrantedRule(RuleKind.COMMAND, "make *", 2 * 3600 * 1000)
    assert _lines(Answer(Decision.ACCEPT, rule=rule), "Ann", asked) == (
        "K7Q2: allowed by Ann: make all (new rule: allow `make *` for 2 h)",
        "K7Q2：Ann 已允许：make all（新规则：允许 `make *`，2 小时内有效）",
    )
    exact = Answer(Decision.ACCEPT, rule=GrantedRule(RuleKind.EXACT))
    assert _lines(exact, "Ann", asked) == (
        "K7Q2: allowed by Ann: make all (from now on in this thread)",
        "K7Q2：Ann 已允许：make all（此后在本会话中一直允许）",
    )
