"""Finds a thread by its id, or by what people type for it; raises NotFound or Ambiguous."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import handles, threads, turns
from clew.support.errors import Ambiguous, BadInput, NotFound
from clew.texts import chat_messages
from clew.texts.catalogue import say

LAST = "last"  # the thread that was used last
SHORTEST = 3  # characters of a title
MOST = 5  # candidates that an error lists


def existing_thread(tx: Tx, name: str) -> Thread:
    row = threads.get(tx, name)
    if row is None:
        raise no_thread(name)
    return row


def no_thread(name: str) -> NotFound:
    return NotFound(chat_messages.no_thread(name))


def find_thread(tx: Tx, name: str, *, exact: bool = False) -> str:
    """The id of the thread that is meant by an id or its beginning, a handle, `last`, the beginning of a handle, or a
    part of the title; whatever fits first. Raises Ambiguous if it fits several threads. `exact`: only by its id or its
    beginning, its whole handle, or `last`: for what cannot be undone."""
    wanted = name.strip()
    if not wanted:
        raise BadInput(say("threads.not_a_thread_id", prefix=repr(name)))
    by_id = threads.matching(tx, wanted.upper()) if wanted.isascii() and wanted.isalnum() else []
    if len(by_id) == 1 or wanted.upper() in by_id:
        return by_id[0]
    named = handles.thread_of(tx, wanted.lower()) or (turns.newest_thread(tx) if wanted.lower() == LAST else None)
    if named is not None:
        return named
    candidates = by_id or ([] if exact else handles.matching(tx, wanted.lower(), MOST + 1))
    if not candidates and len(wanted) >= SHORTEST and not exact:
        candidates = threads.titled(tx, wanted, MOST + 1)
    if not candidates:
        raise NotFound(say("threads.no_thread_found", prefix=name))
    if len(candidates) > 1:
        raise Ambiguous(say("threads.means_several", name=name, threads=_listed(tx, candidates)))
    return candidates[0]


def _listed(tx: Tx, candidates: Sequence[str]) -> str:
    rows = [row for each in candidates[:MOST] if (row := threads.get(tx, each)) is not None]
    listed = "; ".join(f"{row.handle or row.id} ({row.title})" for row in rows)
    return f"{listed}; …" if len(candidates) > MOST else listed
