"""The order of the choices at an approval, which is the order of their numbers everywhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from clew.engine.gates.choices import ChoiceKind, accept_choice, choices, find_number
from clew.engine.gates.choices import _approvals as approvals
from clew.model.gates import Asked, Gate, GateKind, GateState

ASKED = Asked(GateKind.COMMAND, "pytest -q", folder="/work")


@pytest.mark.parametrize("offer", [None, "pytest …"])
def test_yes_is_one_and_no_is_two_whether_a_rule_is_offered_or_not(offer: str | None) -> None:
    order = [choice.word for choice in approvals(ASKED, offer)]
    rule = [ChoiceKind.RULE] if offer else []
    assert order == [ChoiceKind.ACCEPT, ChoiceKind.DECLINE, ChoiceKind.THREAD, *rule, ChoiceKind.CANCEL]
    assert accept_choice(ASKED, offer, ChoiceKind.ACCEPT) == approvals(ASKED, offer)[0]


@pytest.mark.parametrize(("offer", "number"), [(None, 3), ("pytest …", 4)])
def test_on_a_card_of_an_earlier_version_the_number_of_no_still_means_no(offer: str | None, number: int) -> None:
    gate = Gate("G", "K7Q2", "T", "t", "r", ASKED, GateState.OPEN, 1, offer=offer, choice_order=0)
    assert choices(gate)[number - 1].word is ChoiceKind.DECLINE
    assert [choice.word for choice in choices(gate)][:2] == [ChoiceKind.ACCEPT, ChoiceKind.THREAD]


@pytest.mark.parametrize("offer", [None, "pytest …"])
@pytest.mark.parametrize("only_once", [False, True])
def test_each_kind_of_answer_has_one_number_whatever_else_is_offered(offer: str | None, only_once: bool) -> None:
    asked = replace(ASKED, agents=("look around",) if only_once else ())
    gate = Gate("G", "K7Q2", "T", "t", "r", asked, GateState.OPEN, 1, offer=offer)
    numbers = {choice.word: choice.number for choice in choices(gate)}
    fixed = dict(zip(ChoiceKind, (1, 3, 4, 2, 5), strict=False))
    assert numbers == {word: fixed[word] for word in numbers}
    assert find_number(gate, 3 if only_once else 6) is None


def test_on_a_card_of_an_earlier_version_numbers_mean_what_it_shows() -> None:
    gate = Gate("G", "K7Q2", "T", "t", "r", ASKED, GateState.OPEN, 1, choice_order=1)
    found = find_number(gate, 4)
    assert found is not None and found.word is ChoiceKind.CANCEL


def test_a_sub_agent_is_never_offered_a_rule() -> None:
    words = [choice.word for choice in approvals(replace(ASKED, agents=("look around",)), "pytest …")]
    assert words == [ChoiceKind.ACCEPT, ChoiceKind.DECLINE, ChoiceKind.CANCEL]
