"""Reads the earlier messages of a thread, with their roles, for a runtime that has no session of it."""

from __future__ import annotations

from clew.model import history
from clew.model.messages import CLEW
from clew.model.runtime import PastMessage
from clew.store import Tx
from clew.store.tables import nodes, threads

NODES = 400  # newest nodes of history that are replayed
DEEDS = frozenset({"command", "change"})


def earlier_messages(tx: Tx, thread: str) -> tuple[PastMessage, ...]:
    found = threads.get(tx, thread)
    newest_first = nodes.back_from(tx, found.head, NODES) if found is not None else []
    contents = [content for node in reversed(newest_first) if (content := _read(node)) is not None]
    while contents and isinstance(contents[-1], history.Spoken):  # the request of the coming turn
        contents.pop()
    return tuple(message for content in contents if (message := _message(content)) is not None)


def _read(node: history.Node) -> history.Content | None:
    try:
        return history.read(node)
    except ValueError:
        return None  # `clew verify` reports it


def _message(content: history.Content) -> PastMessage | None:
    match content:
        case history.Spoken(author=author, text=text) if author != CLEW:
            return PastMessage(author, text)
        case history.Outcome():
            done = [
                f"[{deed.kind}: {deed.title} ({deed.outcome or 'begun'})]"
                for deed in content.deeds
                if deed.kind in DEEDS
            ]
            said = content.text or f"({content.state})"
            return PastMessage(content.runtime, "\n".join([*done, said]), by_agent=True)
        case _:
            return None
