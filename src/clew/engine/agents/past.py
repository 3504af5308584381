"""Reads what happened in a thread that a session does not know yet. Read-only.

A session knows its own turns and what each of them told it. `continuity.seen` is the end of its newest turn, so it does
not know what came after. It does not know either what came between the request and the end of that turn, such as the
opinion of another agent: the turn had been told its prelude by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from clew.model import history
from clew.model.history import Node
from clew.model.messages import CLEW
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import inbox, nodes, threads, turns

FARTHEST = 4_000  # nodes that are looked at
FIRST_READ = 6  # nodes: as a rule no more are needed, since nothing is new


class Past(Struct, frozen=True):
    """What happened, newest first."""

    contents: tuple[history.Content, ...]
    is_complete: bool = True  # not so if the thread is longer than what is looked at


def since(tx: Tx, turn: Turn, seen: str | None) -> Past:
    """What happened before the request of this turn that a session does not know whose newest turn ended at `seen`.
    None: it knows nothing."""
    now, thread = turns.get(tx, turn.id) or turn, threads.get(tx, turn.thread)
    start = now.request_node or (thread.head if thread is not None else None)
    walked, is_complete = _unknown_part(tx, start, seen)
    ended = {content.turn for _, content in walked if isinstance(content, history.Outcome)}
    requested = frozenset(said.id for said in now.request)
    known_from = next((at for at, (node, _) in enumerate(walked) if node.hash == seen), len(walked))
    newer = [each for _, each in walked[:known_from] if each is not None and _is_told(tx, each, ended, requested)]
    older = [content for _, content in walked[known_from:] if isinstance(content, history.Opinion)]
    return Past((*newer, *older), is_complete)


Walked = tuple[Node, history.Content | None]


def _unknown_part(tx: Tx, start: str | None, seen: str | None) -> tuple[list[Walked], bool]:
    """Back from `start`, newest first, to the request of the turn that ended at `seen`."""
    walked: list[Walked] = []
    last = ""  # the session's newest turn, once it is reached
    for node in _back_from(tx, start):
        content = _read(node)
        if last and _is_before(content, last):
            return walked, True
        walked.append((node, content))
        if node.hash == seen and isinstance(content, history.Outcome):
            last = content.turn
    return walked, not walked or walked[-1][0].prev is None


def _back_from(tx: Tx, start: str | None) -> Iterator[Node]:
    """Few at a time in the beginning."""
    at, size, left = start, FIRST_READ, FARTHEST
    while at is not None and left > 0:
        found = nodes.back_from(tx, at, min(size, left))
        yield from found
        at, left, size = (found[-1].prev if found else None), left - len(found), size * 4


def _is_before(content: history.Content | None, turn: str) -> bool:
    """Whether the turn had been told everything up to here: it is its own request, or something even older."""
    if isinstance(content, history.Spoken):
        return content.turn == turn and not content.steer
    return isinstance(content, history.Outcome | history.Started | history.Forked)


def _is_told(tx: Tx, content: history.Content, ended: set[str], requested: frozenset[str]) -> bool:
    """Not: what clew added; what was withdrawn before it ran; what this turn's request says, or another repeats."""
    if not isinstance(content, history.Spoken):
        return isinstance(content, history.Outcome | history.Opinion)
    is_new = content.turn in ended and content.id not in requested
    return content.author != CLEW and is_new and content.id not in repeated_messages(tx, content.turn)


def repeated_messages(tx: Tx, turn: str) -> frozenset[str]:
    """The ids of messages that a turn only says again to the agent: it continues another turn."""
    found = turns.get(tx, turn)
    cut = turns.get(tx, found.continues) if found is not None and found.continues else None
    if cut is None:
        return frozenset()
    return frozenset(said.id for said in (*cut.request, *inbox.taken_steers(tx, cut.id)))


def _read(node: Node) -> history.Content | None:
    try:
        return history.read(node)
    except ValueError:
        return None  # `clew verify` reports it
