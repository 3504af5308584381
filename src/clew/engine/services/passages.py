"""Adds to a transcript what history does not contain: whether an interrupted turn was cut off, which turn continues it,
and the reasons given with a no."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from clew.engine.gates.status_lines import title_line
from clew.engine.progress import GATE
from clew.model.gate_views import GateView
from clew.model.gates import Gate, GateState
from clew.model.turns import TurnState
from clew.model.views import ItemView, Passage
from clew.store import Tx
from clew.store.tables import gates, turns
from clew.support.coded import coded_in
from clew.texts import gate_messages

CLOSED = frozenset(GateState) - {GateState.OPEN}


def with_details(tx: Tx, thread: str, passages: Sequence[Passage]) -> list[Passage]:
    shown = {each.turn for each in passages}
    cut = [_with_cut(tx, each, thread, shown) if _may_be_cut(each) else each for each in passages]
    return [_with_gates(tx, each) if each.items else each for each in cut]


def _with_gates(tx: Tx, passage: Passage) -> Passage:
    waited = time_waited(gates.of_turn(tx, passage.turn)) if passage.turn else 0
    return replace(passage, items=with_reasons(tx, passage.turn, passage.items), waited=waited)


def time_waited(asked: Sequence[Gate]) -> int:
    """Milliseconds in which at least one closed gate held the turn up."""
    total = until = 0
    for gate in sorted((gate for gate in asked if gate.asked.blocking), key=lambda gate: gate.asked_at):
        end = gate.answered_at or gate.closed_at or gate.asked_at
        total += max(0, end - max(until, gate.asked_at))
        until = max(until, end)
    return total


def _may_be_cut(passage: Passage) -> bool:
    return passage.state == TurnState.INTERRUPTED and not passage.outside


def _with_cut(tx: Tx, passage: Passage, thread: str, shown: set[str | None]) -> Passage:
    """Mark a turn as cut off unless its row says that a person stopped it. In a fork the continuation is named only if
    the fork contains it."""
    row = turns.get(tx, passage.turn) if passage.turn else None
    if row is None or row.stop_asked:
        return passage
    onward = turns.continuation_of(tx, row)
    is_here = row.thread == thread or onward in shown
    return replace(passage, cut=True, continued_by=onward if is_here else None)


def with_reasons(tx: Tx, turn: str | None, items: tuple[ItemView, ...]) -> tuple[ItemView, ...]:
    """Add to closed gates the reasons of their answers, and what was said to questions."""
    if turn is None or not any(_is_closed_gate(item) for item in items):
        return items
    asked = {gate.code: gate for gate in gates.of_turn(tx, turn)}
    return tuple(
        _closed(item, gate) if _is_closed_gate(item) and (gate := asked.get(_gate_code(item))) else item
        for item in items
    )


def _closed(item: ItemView, gate: Gate) -> ItemView:
    """In a line of an older version, which has no code, also the code of what it says."""
    item = replace(item, reason=_reason(gate), answer=_replies(gate))
    if item.texts or gate.state != item.outcome:
        return item
    return replace(item, texts=coded_in(title=gate_messages.closed_line(gate, title_line(gate))))


def _is_closed_gate(item: ItemView) -> bool:
    return item.kind == GATE and item.outcome in CLOSED


def _gate_code(item: ItemView) -> str:
    """The code of the gate. A line of an older version begins with it; those lines stay as they are."""
    said = item.texts.get("title")
    return str(said.args.get("code")) if said else item.title.partition(" ")[0].removesuffix(":")


def _replies(gate: Gate) -> str:
    """What was said to each question."""
    replies = gate.answer.replies if gate.answer is not None else ()
    return "; ".join(", ".join(words) for _, words in replies)


def _reason(gate: Gate) -> str:
    """The reason given with an answer; empty for a rule, since `answered_by` has it."""
    return "" if gate.answer is None or gate_messages.is_by_rule(gate.answered_by) else gate.answer.reason


def with_closing(tx: Tx, view: GateView) -> GateView:
    """Add the reason of the answer and the time of closing."""
    row = gates.get(tx, view.id)
    assert row is not None, view.id
    return replace(view, answer_reason=_reason(row), closed_at=row.closed_at)
