"""A delivery in one line, for places that show no more: a terminal, a desktop notification."""

from __future__ import annotations

from clew.model.delivery import Delivery, DeliveryKind
from clew.model.gates import Gate, GateKind
from clew.model.threads import Thread
from clew.model.turns import TurnState
from clew.store import Tx
from clew.store.tables import gates, threads, turns
from clew.support.coded import Text
from clew.support.display.as_code import title_shown
from clew.texts.catalogue import say
from clew.texts.together import in_each_language

LONGEST = 80  # characters of a request or of an answer

_ASKS = {
    GateKind.COMMAND: "deliveries.line_command",
    GateKind.CHANGE: "deliveries.line_change",
    GateKind.QUESTION: "deliveries.line_question",
    GateKind.PERMISSION: "deliveries.line_permission",
}
_ENDED = {
    TurnState.COMPLETED: "deliveries.line_done",
    TurnState.FAILED: "deliveries.line_failed",
    TurnState.INTERRUPTED: "deliveries.line_stopped",
}


def headline(tx: Tx, delivery: Delivery) -> Text:
    thread = threads.get(tx, delivery.thread)
    title = thread.title if thread else delivery.thread
    gate = gates.get(tx, delivery.gate) if delivery.gate else None
    if delivery.kind is DeliveryKind.ASK and gate is not None:
        return say(_ASKS[gate.asked.kind], title=title, code=gate.code, what=_what(gate))
    if delivery.kind is DeliveryKind.ASK and thread is not None:
        name = thread.name
        return say("deliveries.line_suspended", title=title, name=name, what=_short(_question(thread, delivery)))
    turn = turns.get(tx, delivery.turn) if delivery.kind is DeliveryKind.FINAL and delivery.turn else None
    if turn is None or thread is None or turn.state not in _ENDED:
        return say("deliveries.line_other", title=title, what=_short(delivery.body))
    what = turn.problem.text if turn.problem else _short(delivery.body)
    return say(_ENDED[turn.state], title=title, what=what, name=thread.name)


def _what(gate: Gate) -> str:
    return in_each_language(gate.asked.title, lambda title: _short(title_shown(gate.asked.kind, title, lines=False)))


def _question(thread: Thread, delivery: Delivery) -> str:
    return thread.suspend_message or delivery.body


def _short(text: str) -> str:
    """The first line that says something."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
