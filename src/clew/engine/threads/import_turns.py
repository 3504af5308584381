"""Imports turns that were run outside clew into a thread's turns and history, marked as `outside`. Idempotent: known
turns are left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_answer
from clew.engine.progress import Progress, advance, cleaned
from clew.engine.turns.completion import activities
from clew.model import history
from clew.model.messages import PromptMessage
from clew.model.shared_sessions import PastTurn
from clew.model.threads import Thread
from clew.model.turns import Origin, Turn, without_refusals
from clew.store import Tx
from clew.store.tables import continuity, nodes, threads, turns
from clew.support.text import clean


def finished(past: Sequence[PastTurn]) -> list[PastTurn]:
    """The turns up to the last ended one; later ones may still run in another program."""
    ended = [number for number, turn in enumerate(past, 1) if turn.ended_at is not None]
    return list(past[: ended[-1]]) if ended else []


def import_turns(tx: Tx, core: Core, thread: Thread, past: Sequence[PastTurn]) -> int:
    """Import turns and return how many of them were new."""
    known_ids = turns.known_ids(tx, thread.id)
    new = [turn for turn in past if not _ids(turn) & known_ids]
    head, turn = thread.head, None
    for each in new:
        turn = _import(tx, core, thread, head, each)
        head = turn.node
    if turn is not None and turn.node is not None:
        threads.set_last_turn(tx, thread.id, turn.id)
        continuity.set_seen(tx, turn.session, turn.node)
        enqueue_answer(tx, core, turn, None, core.storable(new[-1].end.text), "")  # for the thread list
    return len(new)


def _ids(past: PastTurn) -> frozenset[str]:
    """What it may be known by, also as a turn of ours that was refused before."""
    return frozenset(map(without_refusals, (past.runtime_turn, *past.end.messages)))


def _import(tx: Tx, core: Core, thread: Thread, head: str | None, past: PastTurn) -> Turn:
    began = past.began_at or core.clock.now()
    ended = past.ended_at or began
    said = tuple(PromptMessage(each.id, each.author, clean(each.text)) for each in past.said)
    problem = replace(past.end.problem, message=clean(past.end.problem.message)) if past.end.problem else None
    name = core.clock.ulid()
    for number, each in enumerate(said):
        spoken = history.Spoken(name, began, each.id, each.author, each.text, steer=number > 0, outside=True)
        head = nodes.append(tx, thread.id, head, spoken)
    items = [cleaned(item) for item in reduce(advance, past.events, Progress()).items.values()]
    text = core.storable(past.end.text)
    outcome = history.Outcome(
        turn=name,
        at=ended,
        state=past.end.state,
        runtime=thread.runtime,
        text=text,
        deeds=activities(items, text),
        problem=problem,
        outside=True,
    )
    turn = Turn(
        id=name,
        thread=thread.id,
        seq=threads.next_seq(tx, thread.id),
        state=past.end.state,
        origin=Origin.OUTSIDE,
        request=said,
        conversation=None,
        queued_at=began,
        runtime=thread.runtime,
        runtime_turn=past.runtime_turn,
        request_node=head,
        node=nodes.append(tx, thread.id, head, outcome),
        started_at=began,
        ended_at=ended,
        problem=problem,
    )
    turns.insert_ended(tx, turn)
    return turn
