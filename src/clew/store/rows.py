"""The one way to read a row that may be damaged. A row is checked against the types of its columns; one that cannot be
read is noted in the transaction, so that the store can name it, and costs only what needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from clew.store.base import BadRow, Row, Tx
from clew.support.errors import UnreadableRow
from clew.support.text import clean, visible
from clew.texts.catalogue import say

T = TypeVar("T")
LATEST = 253_402_300_799_999  # Unix milliseconds: the end of the year 9999
Moment = Annotated[int, Meta(ge=0, le=LATEST)]
Count = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Among = tuple[str, ...] | None  # ids that a query is limited to; None: it is not
_LONGEST = 200  # characters of a key or a reason
_WORD = re.compile("[a-z][a-z_]{0,39}")  # as the values of our enumerations look
# Conditions for `live`. An index serves each of them, so that the check at every start is quick; most select keys
# first, because SQLite would otherwise read the whole table in the order of its key.
RUNNING = "SELECT id FROM turns WHERE state IN ('running', 'waiting')"
OF_OPEN_TURNS = (
    "thread IN (SELECT thread FROM turns WHERE state = 'queued')",
    "thread IN (SELECT thread FROM turns WHERE state IN ('running', 'waiting'))",
)
NEVER = "1 = 0"
_TROUBLES = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


def among(column: str, values: Sequence[object]) -> str:
    """The condition that a column has one of these values, which are passed as parameters. PostgreSQL refuses the
    empty list that SQLite takes, so this is the one place that writes a list of parameters."""
    return f"{column} IN ({', '.join('?' * len(values))})" if values else NEVER


class Rows(Generic[T]):
    """The rows of one table. `shape` has the type of each column that `make` needs; `key` are the columns of the
    primary key; `live`: the conditions for rows that work may still wait for."""

    def __init__(
        self,
        table: str,
        shape: type[Struct],
        make: Callable[[Any], T],
        key: tuple[str, ...] = ("id",),
        live: tuple[str, ...] = ("1 = 1",),
    ) -> None:
        self.table = table
        self.key = key
        self.live = live
        self.columns = shape.__struct_fields__
        self._shape = shape
        self._make = make

    def one(self, tx: Tx, row: Row | None) -> T | None:
        """The row, if there is one. Raises UnreadableRow."""
        return None if row is None else self.read(tx, row)

    def all(self, tx: Tx, rows: Iterable[Row]) -> list[T]:
        """Rows of one thread, which mean something only together. Raises UnreadableRow."""
        return [self.read(tx, row) for row in rows]

    def readable(self, tx: Tx, rows: Iterable[Row]) -> list[T]:
        """Rows of many threads, without those that cannot be read."""
        found = (self.try_read(tx, row) for row in rows)
        return [each for each in found if not isinstance(each, BadRow)]

    def read(self, tx: Tx, row: Row) -> T:
        found = self.try_read(tx, row)
        if isinstance(found, BadRow):
            words = say("daemon.bad_row", table=found.table, key=found.key, reason=found.reason)
            raise UnreadableRow(words, f"{found.table} {found.key}: {found.reason}")
        return found

    def check(self, tx: Tx, row: Row) -> BadRow | None:
        found = self.try_read(tx, row)
        return found if isinstance(found, BadRow) else None

    def try_read(self, tx: Tx, row: Row) -> T | BadRow:
        """The row, or what is wrong with it, which is noted."""
        try:
            msgspec.convert(row, self._shape)
            return self._make(row)
        except _TROUBLES as error:
            thread = row["id"] if self.table == "threads" else row.get("thread")
            key = "/".join(_shown(row.get(column)) for column in self.key)
            values = tuple(row.get(column) for column in self.key)
            bad = BadRow(
                self.table, key, _shown(thread) if thread else None, _shown(error), values, self._is_of_newer(row)
            )
            tx.bad.append(bad)
            return bad

    def _is_of_newer(self, row: Row) -> bool:
        """Whether only words keep us from reading the row that a newer version may know."""
        known = {name: words[0] for name, words in self._words().items() if _is_unknown(row.get(name), words)}
        try:
            filled = {**row, **known}
            msgspec.convert(filled, self._shape)
            self._make(filled)
        except _TROUBLES:
            return False
        return bool(known)

    def _words(self) -> dict[str, list[str]]:
        """The words of each column that has an enumeration."""
        return {
            column.name: [each.value for each in kind]
            for column in msgspec.structs.fields(self._shape)
            for kind in get_args(column.type) or (column.type,)
            if isinstance(kind, type) and issubclass(kind, Enum)
        }


def within(ids: Among, column: str = "id") -> tuple[str, tuple[str, ...]]:
    """The condition that limits a query to these ids, and its values."""
    return ("", ()) if ids is None else (f"AND {among(column, ids)}", ids)


def literal(text: str) -> str:
    """A text in a pattern of LIKE … ESCAPE '!', in which nothing is a wildcard."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _is_unknown(value: object, words: list[str]) -> bool:
    return isinstance(value, str) and value not in words and _WORD.fullmatch(value) is not None


def _shown(value: object) -> str:
    return visible(clean(str(value)))[:_LONGEST]
