"""The line of a closed gate in a transcript says in both languages what its card says."""

from __future__ import annotations

import pytest

from clew.engine.gates import cards
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, GateState
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
    assert zh(line) == cards.status_line(gate, lambda english, chinese: chinese)


def test_an_open_gate_has_no_such_line() -> None:
    gate = Gate("G", "K7Q2", "T", "U", "R", Asked(GateKind.COMMAND, "make"), GateState.OPEN, 1)
    assert gate_messages.closed_line(gate, "make") is None


def test_you_are_named_in_chinese_too() -> None:
    answer = Answer(Decision.ACCEPT)
    asked = Asked(GateKind.COMMAND, "make")
    gate = Gate("G", "K7Q2", "T", "t", "r", asked, GateState.TAKEN, 1, answer=answer, answered_by="you")
    line = gate_messages.closed_line(gate, "make")
    assert line == "K7Q2: allowed by you: make" and zh(line) == "K7Q2：你 已允许：make"
