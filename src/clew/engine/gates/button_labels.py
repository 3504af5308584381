"""The buttons below a message. A button sends what a person could have typed, so that it means the same everywhere.
Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.gates.choices import AT_FIRST, ChoiceKind, choices, has_numeric_options
from clew.model.delivery import Button
from clew.model.gates import Gate, GateKind, GateState
from clew.model.threads import SuspendedBy
from clew.support.display import escape_hidden
from clew.texts import bilingual, card_messages, limit_messages
from clew.texts.bilingual import Bilingual

MAX_LABEL = 40  # characters

_LABELS = {
    ChoiceKind.ACCEPT: (card_messages.ALLOW_BUTTON, "y"),
    ChoiceKind.THREAD: (card_messages.IN_THREAD_BUTTON, "thread"),
    ChoiceKind.RULE: ("", "rule"),
    ChoiceKind.DECLINE: (card_messages.DECLINE_BUTTON, "n"),
    ChoiceKind.CANCEL: (card_messages.AND_STOP_BUTTON, "stop"),
}
SUSPENSION_BUTTONS = {
    SuspendedBy.CUT: (
        Button(card_messages.CONTINUE_BUTTON, "continue"),
        Button(card_messages.STOP_BUTTON, "stop"),
    ),
    SuspendedBy.BACKLOG: (
        Button(card_messages.RUN_ALL_BUTTON, "run all"),
        Button(card_messages.MERGE_BUTTON, "merge"),
        Button(card_messages.SKIP_BUTTON, "skip"),
    ),
    SuspendedBy.FAILURE: (),
    SuspendedBy.BUDGET: (
        Button(card_messages.GO_ON_BUTTON, "go on"),
        Button(card_messages.RAISE_BUTTON, "raise"),
        Button(card_messages.STOP_BUTTON, "stop"),
    ),
    SuspendedBy.LIMIT: (
        Button(limit_messages.NOW_BUTTON, "now"),
        Button(limit_messages.STOP_BUTTON, "stop"),
    ),
}


def suspension_buttons(by: SuspendedBy, other: str | None = None) -> tuple[Button, ...]:
    """The buttons below the question of a suspended thread. `other`: an agent that could take the work."""
    first, *rest = SUSPENSION_BUTTONS[by] or (None,)
    if first is None or other is None:
        return SUSPENSION_BUTTONS[by]
    return (first, Button(limit_messages.on_button(other), limit_messages.says_on(other)), *rest)


def card_buttons(shown: Sequence[Gate]) -> tuple[Button, ...]:
    """The buttons of a card: the first choices for one gate, yes and no for several. A gate that is not shown
    completely gets no button that allows it. No button moves while a gate of the card is open: a second tap in the same
    place must not mean another gate, so the buttons of settled ones stay too."""
    if not any(gate.state is GateState.OPEN for gate in shown):
        return ()
    if len(shown) == 1:
        return _buttons_of_one(shown[0])
    approvals = [gate for gate in shown if gate.asked.kind is not GateKind.QUESTION]
    each = [button for gate in approvals for button in _yes_and_no(gate)]
    complete = [gate for gate in approvals if gate.whole_in]
    return (*each, Button(card_messages.ALLOW_ALL_BUTTON, "yes all")) if len(complete) > 1 else tuple(each)


def _buttons_of_one(gate: Gate) -> tuple[Button, ...]:
    questions = gate.asked.questions
    if gate.asked.kind is not GateKind.QUESTION:
        offered = [choice for choice in choices(gate)[:AT_FIRST] if gate.whole_in or not choice.answer.is_yes]
        return tuple(_approval(gate, choice.word, choice.label) for choice in offered)
    if len(questions) != 1 or questions[0].several or questions[0].secret or not gate.whole_in:
        return ()
    mark = "#" if has_numeric_options(questions[0]) else ""
    return tuple(
        Button(_shortened_label(option), f"{gate.code} {mark}{number}")
        for number, option in enumerate(questions[0].options, 1)
    )


def _approval(gate: Gate, word: ChoiceKind, label: str) -> Button:
    shown, says = _LABELS[word]
    return Button(shown or _shortened_label(label), f"{gate.code} {says}")


def _yes_and_no(gate: Gate) -> tuple[Button, ...]:
    yes, no = Button(f"✅ {gate.code}", f"{gate.code} y"), Button(f"🚫 {gate.code}", f"{gate.code} n")
    return (yes, no) if gate.whole_in else (no,)


def _shortened_label(text: str) -> str:
    if (chinese := bilingual.zh(text)) != text:
        return Bilingual(_shortened_label(str.__str__(text)), _shortened_label(chinese))
    shown = escape_hidden(text, lines=False)
    return shown if len(shown) <= MAX_LABEL else f"{shown[: MAX_LABEL - 1]}…"
