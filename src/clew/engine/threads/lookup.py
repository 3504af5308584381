"""Finds a thread by its id, or by what people type for it; raises NotFound or Ambiguous."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.threads import Thread
from clew.store import Tx
from clew.store.rows import Among
from clew.store.tables import handles, threads, turns
from clew.support.display.as_code import plain_or_code
from clew.support.display.width import width
from clew.support.errors import Ambiguous, BadInput, NotFound
from clew.texts import chat_messages
from clew.texts.catalogue import say

LAST = "last"  # the thread that was used last
LONGEST = 60  # characters of a name that are compared with handles
SHORTEST = 3  # columns of a part of a title: two Chinese characters say enough
SHORTEST_END = 6  # characters of the end of an id, as chats showed it once
COMPARED = 1_000  # newest handles that are compared with a name that fits none
ALIKE = 0.7  # how much of two names must be the same
MOST = 5  # candidates that an error lists


def existing_thread(tx: Tx, name: str) -> Thread:
    row = threads.get(tx, name)
    if row is None:
        raise no_thread(name)
    return row


def no_thread(name: str) -> NotFound:
    return NotFound(chat_messages.no_thread(name))


def find_thread(tx: Tx, name: str, *, exact: bool = False, among: Among = None) -> str:
    """The id of the thread that is meant by an id or its beginning, a handle, `last`, the beginning of a handle, a part
    of the title, or the end of an id; whatever fits first. Raises Ambiguous if it fits several threads. `exact`: only
    by its id or its beginning, its whole handle, or `last`: for what cannot be undone. `among`: only these threads are
    known to the one who asks."""
    wanted = name.strip()
    if not wanted:
        raise BadInput(say("threads.not_a_thread_id", prefix=repr(name)))
    by_id = threads.matching(tx, wanted.upper(), among) if _may_be_id(wanted) else []
    if len(by_id) == 1 or wanted.upper() in by_id:
        return by_id[0]
    named = _named(tx, wanted.lower(), among)
    if named is not None:
        return named
    candidates = by_id or ([] if exact else _similar(tx, wanted, among))
    if not candidates:
        raise _none_found(tx, wanted, among)
    if len(candidates) > 1:
        raise Ambiguous(say("threads.means_several", name=name, threads=_listed(tx, candidates)))
    return candidates[0]


def _none_found(tx: Tx, wanted: str, among: Among) -> NotFound:
    """There is no such thread, with the handle that was probably meant."""
    from difflib import get_close_matches  # only an error needs it

    near = get_close_matches(wanted.lower()[:LONGEST], handles.newest(tx, COMPARED, among), 1, ALIKE)
    if not near:
        return NotFound(say("threads.no_thread_found", prefix=wanted))
    return NotFound(say("threads.no_thread_near", prefix=wanted, near=near[0]))


def _may_be_id(wanted: str) -> bool:
    return wanted.isascii() and wanted.isalnum()


def _named(tx: Tx, wanted: str, among: Among) -> str | None:
    if wanted == LAST:
        return turns.newest_thread(tx, among)
    found = handles.thread_of(tx, wanted)
    return found if among is None or found in among else None


def _similar(tx: Tx, wanted: str, among: Among) -> list[str]:
    found = handles.matching(tx, wanted.lower(), MOST + 1, among)
    if not found and width(wanted) >= SHORTEST:
        found = handles.titled(tx, wanted, MOST + 1, among)
    if not found and _may_be_id(wanted) and len(wanted) >= SHORTEST_END:
        found = handles.ending(tx, wanted.upper(), MOST + 1, among)
    return found


def _listed(tx: Tx, candidates: Sequence[str]) -> str:
    rows = [row for each in candidates[:MOST] if (row := threads.get(tx, each)) is not None]
    listed = "; ".join(f"{row.handle or row.id} ({plain_or_code(row.title)})" for row in rows)
    return f"{listed}; …" if len(candidates) > MOST else listed
