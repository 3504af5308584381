"""Finds a thread by its id, or raises NotFound."""

from __future__ import annotations

from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import threads
from clew.support.errors import NotFound
from clew.texts import chat_messages


def existing_thread(tx: Tx, name: str) -> Thread:
    row = threads.get(tx, name)
    if row is None:
        raise no_thread(name)
    return row


def no_thread(name: str) -> NotFound:
    return NotFound(chat_messages.no_thread(name))
