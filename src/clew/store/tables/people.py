"""Rows of who may write on which surface, of pairing requests, and of wrong pairing codes."""

from __future__ import annotations

from msgspec import Struct

from clew.model.messages import Conversation, Person, Role
from clew.store.base import Row, Tx
from clew.store.rows import Moment, Rows
from clew.store.tables import counters


class _PersonRow(Struct):
    surface: str
    id: str
    name: str
    role: Role
    added_at: Moment
    added_by: str


class _PairingRow(Struct):
    surface: str
    id: str
    name: str
    address: str
    code: str
    asked_at: Moment


_PERSON = ", ".join(_PersonRow.__struct_fields__)
_PAIRING = ", ".join(_PairingRow.__struct_fields__)
_FAILURES, _LOCKED = "pairing.failures", "pairing.locked_until"


class PairingRequest(Struct, frozen=True):
    """An unknown person who has written to clew, and the code that lets them in."""

    where: Conversation
    id: str
    name: str
    code: str
    at: int


def get(tx: Tx, surface: str, id: str) -> Person | None:
    """None also if the row cannot be read; `has_row` tells."""
    row = tx.one(f"SELECT {_PERSON} FROM people WHERE surface = ? AND id = ?", surface, id)
    known = PEOPLE.readable(tx, [row] if row else [])
    return known[0] if known else None


def has_row(tx: Tx, surface: str, id: str) -> bool:
    """Whether the person was given a role, also if the row cannot be read."""
    return tx.one("SELECT 1 FROM people WHERE surface = ? AND id = ?", surface, id) is not None


def mark_stranger_told(tx: Tx, surface: str, id: str, now: int, lasts: int) -> bool:
    """Record that a stranger was told that clew does not know them. False if that happened less than `lasts` ago. A
    time in the future means that the clock was set back, and is ignored."""
    tx.run("DELETE FROM strangers WHERE told_at <= ? OR told_at > ?", now - lasts, now)
    sql = "INSERT INTO strangers (surface, id, told_at) VALUES (?, ?, ?) ON CONFLICT (surface, id) DO NOTHING"
    return tx.run(sql, surface, id, now) == 1


def all_people(tx: Tx) -> list[Person]:
    return PEOPLE.readable(tx, tx.all(f"SELECT {_PERSON} FROM people ORDER BY surface, added_at, id"))


def add(tx: Tx, person: Person) -> None:
    """Add a person, or change the role of a known one."""
    tx.run(
        f"INSERT INTO people ({_PERSON}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (surface, id) DO UPDATE SET"
        " name = excluded.name, role = excluded.role, added_at = excluded.added_at, added_by = excluded.added_by",
        person.surface,
        person.id,
        person.name,
        person.role,
        person.added_at,
        person.added_by,
    )


def remove(tx: Tx, surface: str, id: str) -> bool:
    return tx.run("DELETE FROM people WHERE surface = ? AND id = ?", surface, id) == 1


def request_pairing(tx: Tx, asking: PairingRequest) -> None:
    tx.run(
        f"INSERT INTO pairings ({_PAIRING}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (surface, id) DO UPDATE SET"
        " name = excluded.name, address = excluded.address, code = excluded.code, asked_at = excluded.asked_at",
        asking.where.surface,
        asking.id,
        asking.name,
        asking.where.address,
        asking.code,
        asking.at,
    )


def pairing_requests(tx: Tx, since: int) -> list[PairingRequest]:
    sql = f"SELECT {_PAIRING} FROM pairings WHERE asked_at > ? ORDER BY asked_at"
    return PAIRINGS.readable(tx, tx.all(sql, since))


def asked_at(tx: Tx, surface: str, id: str) -> int | None:
    row = tx.one(f"SELECT {_PAIRING} FROM pairings WHERE surface = ? AND id = ?", surface, id)
    found = PAIRINGS.readable(tx, [row] if row else [])
    return found[0].at if found else None


def count_asked(tx: Tx, surface: str, since: int) -> int:
    row = tx.one("SELECT count(*) AS n FROM pairings WHERE surface = ? AND asked_at > ?", surface, since)
    return int(row["n"]) if row else 0


def redeem_code(tx: Tx, code: str, since: int) -> PairingRequest | None:
    """Take the pairing request with this code. A code works once."""
    row = tx.one(f"DELETE FROM pairings WHERE code = ? AND asked_at > ? RETURNING {_PAIRING}", code, since)
    return PAIRINGS.one(tx, row)


def failures(tx: Tx) -> tuple[int, int]:
    """How many wrong codes were given in a row, and until when codes are refused."""
    found = counters.named(tx, "pair")
    return found.get(_FAILURES, 0), found.get(_LOCKED, 0)


def set_failures(tx: Tx, count: int, locked_until: int) -> None:
    for name, value in ((_FAILURES, count), (_LOCKED, locked_until)):
        tx.run(
            "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )


def _asking(row: Row) -> PairingRequest:
    return PairingRequest(
        Conversation(row["surface"], row["address"]), row["id"], row["name"], row["code"], row["asked_at"]
    )


def _person(row: Row) -> Person:
    return Person(row["surface"], row["id"], row["name"], Role(row["role"]), row["added_at"], row["added_by"])


PEOPLE = Rows("people", _PersonRow, _person, key=("surface", "id"))
PAIRINGS = Rows("pairings", _PairingRow, _asking, key=("surface", "id"))
