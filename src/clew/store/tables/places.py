"""Rows of settings for new threads of a conversation, of each surface's home and direct chat of an owner, and of where
the person is away."""

from __future__ import annotations

from msgspec import Struct

from clew.model.gates import Policy
from clew.model.messages import Conversation
from clew.store.base import Row, Tx
from clew.store.rows import Moment, Rows

COLUMNS = frozenset({"runtime", "model", "effort", "policy", "workspace", "language"})


class Place(Struct, frozen=True):
    runtime: str | None = None
    model: str | None = None
    workspace: str | None = None
    language: str | None = None
    effort: str | None = None
    policy: Policy | None = None


class _PlaceRow(Struct):
    surface: str
    address: str
    runtime: str | None
    model: str | None
    workspace: str | None
    language: str | None
    effort: str | None
    policy: Policy | None


class _HomeRow(Struct):
    surface: str
    address: str


class _OwnerChatRow(Struct):
    surface: str
    address: str
    owner: str


class _AwayRow(Struct):
    surface: str
    address: str
    since: Moment


_PLACE = ", ".join(_PlaceRow.__struct_fields__)
_UNREADABLE = Place(policy=Policy.READ_ONLY)  # a strict policy may have been set there


def get(tx: Tx, where: Conversation) -> Place:
    """The settings of a conversation; of a row that cannot be read, the strictest policy."""
    row = tx.one(f"SELECT {_PLACE} FROM places WHERE surface = ? AND address = ?", where.surface, where.address)
    if row is None:
        return Place()
    found = PLACES.readable(tx, [row])
    return found[0] if found else _UNREADABLE


def put(tx: Tx, where: Conversation, column: str, value: str) -> None:
    assert column in COLUMNS, column
    tx.run(
        f"INSERT INTO places (surface, address, {column}) VALUES (?, ?, ?)"
        f" ON CONFLICT (surface, address) DO UPDATE SET {column} = excluded.{column}",
        where.surface,
        where.address,
        value,
    )


def set_home(tx: Tx, where: Conversation) -> None:
    tx.run(
        "INSERT INTO homes (surface, address) VALUES (?, ?)"
        " ON CONFLICT (surface) DO UPDATE SET address = excluded.address",
        where.surface,
        where.address,
    )


def set_owner_chat(tx: Tx, where: Conversation, owner: str) -> None:
    """Record the direct chat of an owner, unless the surface has another such chat."""
    tx.run(
        "INSERT INTO owner_chats (surface, address, owner) VALUES (?, ?, ?) ON CONFLICT (surface) DO NOTHING",
        where.surface,
        where.address,
        owner,
    )


def forget_owner_chat(tx: Tx, surface: str, owner: str) -> None:
    tx.run("DELETE FROM owner_chats WHERE surface = ? AND owner = ?", surface, owner)


def set_away(tx: Tx, where: Conversation, at: int) -> None:
    come_back(tx)
    tx.run("INSERT INTO away (surface, address, since) VALUES (?, ?, ?)", where.surface, where.address, at)


def come_back(tx: Tx) -> bool:
    """End away mode. False if the person was not away."""
    return tx.run("DELETE FROM away") > 0


def away(tx: Tx) -> Conversation | None:
    """The conversation that gets messages while the person is away; None: not away."""
    found = AWAY.readable(tx, tx.all("SELECT surface, address, since FROM away"))
    return found[0] if found else None


def home(tx: Tx, surface: str) -> Conversation | None:
    """The conversation in which somebody said `/home`."""
    found = HOMES.readable(tx, tx.all("SELECT surface, address FROM homes WHERE surface = ?", surface))
    return found[0] if found else None


def move(tx: Tx, old: Conversation, new: Conversation) -> None:
    """Move settings, home, away mode and the notices of threads to the conversation's new address; settings that are
    there stay."""
    if get(tx, new) == Place():
        tx.run("DELETE FROM places WHERE surface = ? AND address = ?", new.surface, new.address)
        tx.run("UPDATE places SET address = ? WHERE surface = ? AND address = ?", new.address, old.surface, old.address)
    for table in ("homes", "owner_chats", "away"):
        sql = f"UPDATE {table} SET address = ? WHERE surface = ? AND address = ?"
        tx.run(sql, new.address, old.surface, old.address)
    tx.run("UPDATE threads SET notify_target = ? WHERE notify_target = ?", str(new), str(old))


def owner_chat(tx: Tx, surface: str) -> tuple[Conversation, str] | None:
    """The direct chat of an owner, with the platform's id of that person."""
    rows = tx.all("SELECT surface, address, owner FROM owner_chats WHERE surface = ?", surface)
    found = OWNER_CHATS.readable(tx, rows)
    return found[0] if found else None


def _place(row: Row) -> Place:
    policy = Policy(row["policy"]) if row["policy"] else None
    return Place(row["runtime"], row["model"], row["workspace"], row["language"], row["effort"], policy)


def _conversation(row: Row) -> Conversation:
    return Conversation(row["surface"], row["address"])


def _owner_chat(row: Row) -> tuple[Conversation, str]:
    return _conversation(row), row["owner"]


PLACES = Rows("places", _PlaceRow, _place, key=("surface", "address"), live=())
HOMES = Rows("homes", _HomeRow, _conversation, key=("surface",))
OWNER_CHATS = Rows("owner_chats", _OwnerChatRow, _owner_chat, key=("surface",))
AWAY = Rows("away", _AwayRow, _conversation, key=("surface", "address"))
