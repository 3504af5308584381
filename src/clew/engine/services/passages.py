"""What a transcript says beyond history itself: whether somebody stopped a turn or it was cut off, where it goes on,
and why somebody said no."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from clew.engine.progress import GATE
from clew.model.gate_views import GateView
from clew.model.gates import Gate, GateState
from clew.model.turns import TurnState
from clew.model.views import ItemView, Passage
from clew.store import Tx
from clew.store.tables import gates, turns
from clew.texts import gate_messages

CLOSED = frozenset(GateState) - {GateState.OPEN}


def with_details(tx: Tx, thread: str, passages: Sequence[Passage]) -> list[Passage]:
    shown = {each.turn for each in passages}
    cut = [_with_cut(tx, each, thread, shown) if _may_be_cut(each) else each for each in passages]
    return [replace(each, items=with_reasons(tx, each.turn, each.items)) if each.items else each for each in cut]


def _may_be_cut(passage: Passage) -> bool:
    return passage.state == TurnState.INTERRUPTED and not passage.outside


def _with_cut(tx: Tx, passage: Passage, thread: str, shown: set[str | None]) -> Passage:
    """Whether a person stopped it only its row knows. A fork may end before the turn in which its source went on."""
    row = turns.get(tx, passage.turn) if passage.turn else None
    if row is None or row.stop_asked:
        return passage
    onward = turns.continuation_of(tx, row)
    is_here = row.thread == thread or onward in shown
    return replace(passage, cut=True, continued_by=onward if is_here else None)


def with_reasons(tx: Tx, turn: str | None, items: tuple[ItemView, ...]) -> tuple[ItemView, ...]:
    """The line of a gate that is not open any more begins with its code."""
    if turn is None or not any(_is_closed_gate(item) for item in items):
        return items
    reasons = {gate.code: _reason(gate) for gate in gates.of_turn(tx, turn)}
    return tuple(
        replace(item, reason=reasons.get(_code(item), "")) if _is_closed_gate(item) else item for item in items
    )


def _is_closed_gate(item: ItemView) -> bool:
    return item.kind == GATE and item.outcome in CLOSED


def _code(item: ItemView) -> str:
    return item.title.partition(" ")[0].removesuffix(":")


def _reason(gate: Gate) -> str:
    """Where a rule said no, who answered says why."""
    return "" if gate.answer is None or gate_messages.is_by_rule(gate.answered_by) else gate.answer.reason


def with_closing(tx: Tx, view: GateView) -> GateView:
    """With what is known of its end."""
    row = gates.get(tx, view.id)
    assert row is not None, view.id
    return replace(view, answer_reason=_reason(row), closed_at=row.closed_at)
