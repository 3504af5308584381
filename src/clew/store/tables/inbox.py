"""Rows of inbound messages with their fates, and of steers. A (conversation, message id) is accepted only once."""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import msgspec
from msgspec import Struct

from clew.model.delivery import Button
from clew.model.messages import Attachment, Conversation, Fate, Inbound, PromptMessage
from clew.model.turns import Steer, SteerState
from clew.store.base import Row, Tx
from clew.store.rows import RUNNING, Count, Moment, Rows
from clew.store.tables import counters
from clew.store.texts import loaded, stored
from clew.support.text import clean

COUNTER_ROWS = 16  # of each fate


class Arrival(Struct, frozen=True):
    fate: Fate
    thread: str | None
    turn: str | None
    words: str
    buttons: tuple[Button, ...] = ()  # of the reply; not stored
    file: Attachment | None = None  # the reply, instead of `words`; not stored


class _InboxRow(Struct):
    surface: str
    address: str
    message_id: str
    sender: str
    fate: Fate
    thread: str | None
    turn: str | None
    words: str
    received_at: Moment


class _SteerRow(Struct):
    surface: str
    address: str
    message_id: str
    turn: str
    thread: str
    message: str
    state: SteerState
    seq: Count


_COLUMNS = ", ".join(_InboxRow.__struct_fields__)
_STEER = ", ".join(_SteerRow.__struct_fields__)


def find(tx: Tx, where: Conversation, message_id: str) -> Arrival | None:
    row = tx.one(
        f"SELECT {_COLUMNS} FROM inbox WHERE surface = ? AND address = ? AND message_id = ?",
        where.surface,
        where.address,
        message_id,
    )
    return ROWS.one(tx, row)


def is_known(tx: Tx, where: Conversation, message_id: str) -> bool:
    """Whether the message was accepted before, also if its row cannot be read."""
    sql = "SELECT 1 FROM inbox WHERE surface = ? AND address = ? AND message_id = ?"
    return tx.one(sql, where.surface, where.address, message_id) is not None


def is_written(tx: Tx, where: Conversation, message_id: str) -> bool:
    """Whether a person wrote this message there, and did not press a button."""
    sql = "SELECT 1 FROM inbox WHERE surface = ? AND address = ? AND message_id = ? AND pressed = 0"
    return tx.one(sql, where.surface, where.address, message_id) is not None


def has_messages(tx: Tx, where: Conversation) -> bool:
    """Whether the conversation has any message that was not refused."""
    sql = "SELECT 1 FROM inbox WHERE surface = ? AND address = ? AND fate <> 'refused' LIMIT 1"
    return tx.one(sql, where.surface, where.address) is not None


def newest_for_agent(tx: Tx, where: Conversation) -> tuple[str, str] | None:
    """The turn and the id of the newest message of a conversation that began a turn."""
    row = tx.one(
        "SELECT turn, message_id FROM inbox WHERE surface = ? AND address = ? AND fate = 'turn' AND turn IS NOT NULL"
        " ORDER BY received_at DESC LIMIT 1",
        where.surface,
        where.address,
    )
    return (row["turn"], row["message_id"]) if row else None


def last_received_at(tx: Tx, where: Conversation) -> int | None:
    """When the newest message of a conversation was stored, whatever its fate."""
    sql = "SELECT max(received_at) AS newest FROM inbox WHERE surface = ? AND address = ?"
    row = tx.one(sql, where.surface, where.address)
    return row["newest"] if row else None


def last_message_ids(tx: Tx, surface: str) -> dict[str, str | None]:
    """The id of the newest stored message, by address, of each conversation that is bound or has messages; None if it
    has none. Of several in one millisecond any will do: a message that is read again is recognized."""
    last: dict[str, str | None] = {
        row["address"]: None for row in tx.all("SELECT address FROM bindings WHERE surface = ?", surface)
    }
    rows = tx.all(
        "SELECT i.address, max(i.message_id) AS last FROM inbox i JOIN"
        " (SELECT address, max(received_at) AS newest FROM inbox WHERE surface = ? AND pressed = 0 GROUP BY address) n"
        " ON n.address = i.address AND n.newest = i.received_at WHERE i.surface = ? AND i.pressed = 0"
        " GROUP BY i.address",
        surface,
        surface,
    )
    return last | {row["address"]: row["last"] for row in rows}


def record(tx: Tx, inbound: Inbound, arrival: Arrival, at: int) -> None:
    tx.run(
        "INSERT INTO inbox (surface, address, message_id, sender, fate, thread, turn, words, received_at, pressed,"
        " album) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        inbound.conversation.surface,
        inbound.conversation.address,
        inbound.message_id,
        clean(inbound.sender),
        arrival.fate,
        arrival.thread,
        arrival.turn,
        stored(arrival.words),
        at,
        int(inbound.pressed),
        inbound.album or None,
    )
    _count(tx, arrival.fate, inbound.message_id, 1)


def of_album(tx: Tx, where: Conversation, album: str) -> Arrival | None:
    """What became of the newest part of an album that was for an agent."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM inbox WHERE surface = ? AND address = ? AND album = ? AND fate IN ('turn', 'steer')"
        " ORDER BY received_at DESC LIMIT 1",
        where.surface,
        where.address,
        album,
    )
    return ROWS.one(tx, row)


def change_fate(tx: Tx, steer: Steer, turn: str) -> None:
    """A steer became a turn of its own: change its fate, so that it still has exactly one."""
    assert steer.conversation is not None
    tx.run(
        "UPDATE inbox SET fate = 'turn', turn = ? WHERE surface = ? AND address = ? AND message_id = ?",
        turn,
        steer.conversation.surface,
        steer.conversation.address,
        steer.message.id,
    )
    _count(tx, Fate.STEER, steer.message.id, -1)
    _count(tx, Fate.TURN, steer.message.id, 1)


def fates(tx: Tx) -> dict[str, int]:
    """How many messages had each fate since the store was created. Counters, so that reading them is cheap."""
    found = Counter[str]()
    for name, value in counters.named(tx, "fate.").items():
        found[name.split(".")[1]] += value
    return {str(fate): found[str(fate)] for fate in Fate}


def count_rows(tx: Tx) -> dict[str, int]:
    """The same, counted over all rows: the counters must match it."""
    rows = tx.all("SELECT fate, count(*) AS n FROM inbox GROUP BY fate")
    found = {row["fate"]: int(row["n"]) for row in rows}
    return {str(fate): found.get(str(fate), 0) for fate in Fate}


def offer_steer(tx: Tx, steer: Steer, seq: int) -> None:
    assert steer.conversation is not None
    tx.run(
        "INSERT INTO steers (surface, address, message_id, turn, thread, message, state, seq)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        steer.conversation.surface,
        steer.conversation.address,
        steer.message.id,
        steer.turn,
        steer.thread,
        msgspec.json.encode(steer.message).decode(),
        SteerState.OFFERED,
        seq,
    )


def open_steers(tx: Tx, turn: str) -> list[Steer]:
    """Steers of a turn that are neither taken nor queued yet, in order."""
    rows = tx.all(
        f"SELECT {_STEER} FROM steers WHERE turn = ? AND state IN ('offered', 'sent') ORDER BY seq",
        turn,
    )
    return STEERS.all(tx, rows)


def steers_named(tx: Tx, surface: str, message_id: str) -> list[Steer]:
    """Open steers of this id in any conversation of the surface."""
    rows = tx.all(
        f"SELECT {_STEER} FROM steers WHERE turn IN ({RUNNING}) AND state IN ('offered', 'sent')"
        " AND surface = ? AND message_id = ?",
        surface,
        message_id,
    )
    return STEERS.readable(tx, rows)


def taken_steers(tx: Tx, turn: str) -> list[PromptMessage]:
    """Steers that a turn took, in order."""
    rows = tx.all(f"SELECT {_STEER} FROM steers WHERE turn = ? AND state = 'taken' ORDER BY seq", turn)
    return [steer.message for steer in STEERS.all(tx, rows)]


def move_steer(tx: Tx, steer: Steer, state: SteerState) -> bool:
    assert steer.conversation is not None
    changed = tx.run(
        "UPDATE steers SET state = ? WHERE surface = ? AND address = ? AND message_id = ? AND state = ?",
        state,
        steer.conversation.surface,
        steer.conversation.address,
        steer.message.id,
        steer.state,
    )
    return changed == 1


def _count(tx: Tx, fate: Fate, message: str, by: int) -> None:
    """Each fate has several rows, chosen by the message, so that writers at the same time rarely wait for one row."""
    tx.run(
        "INSERT INTO counters (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value",
        f"fate.{fate}.{crc32(message.encode()) % COUNTER_ROWS}",
        by,
    )


def _steer(row: Row) -> Steer:
    return Steer(
        message=msgspec.json.decode(row["message"], type=PromptMessage),
        turn=row["turn"],
        thread=row["thread"],
        conversation=Conversation(row["surface"], row["address"]),
        state=SteerState(row["state"]),
    )


def _arrival(row: Row) -> Arrival:
    return Arrival(Fate(row["fate"]), row["thread"], row["turn"], loaded(row["words"]))


_KEY = ("surface", "address", "message_id")
ROWS = Rows("inbox", _InboxRow, _arrival, key=_KEY, live=())  # work waits for none of them
_OPEN = (
    "(surface, address, message_id) IN"
    " (SELECT surface, address, message_id FROM steers WHERE state IN ('offered', 'sent'))"
)
STEERS = Rows("steers", _SteerRow, _steer, key=_KEY, live=(_OPEN,))
