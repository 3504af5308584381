"""The one way to read a row that may be damaged. A row is checked against the types of its columns; one that cannot be
read is noted in the transaction, so that the store can name it, and costs only what needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from clew.store.base import BadRow, Row, Tx
from clew.support.errors import UnreadableRow
from clew.support.text import clean, visible
from clew.texts.catalogue import say

T = TypeVar("T")
Moment = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # Unix milliseconds, up to the year 9999
Count = Annotated[int, Meta(ge=-(2**53), le=2**53)]
_LONGEST = 200  # characters of a key or a reason
_TROUBLES = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


class Rows(Generic[T]):
    """The rows of one table. `shape` has the type of each column that `make` needs; `key` are the columns of the
    primary key; `live`: the condition for rows that work may still wait for."""

    def __init__(
        self,
        table: str,
        shape: type[Struct],
        make: Callable[[Any], T],
        key: tuple[str, ...] = ("id",),
        live: str = "1 = 1",
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
        found = (self._try(tx, row) for row in rows)
        return [each for each in found if not isinstance(each, BadRow)]

    def read(self, tx: Tx, row: Row) -> T:
        found = self._try(tx, row)
        if isinstance(found, BadRow):
            words = say("daemon.bad_row", table=found.table, key=found.key, reason=found.reason)
            raise UnreadableRow(words, f"{found.table} {found.key}: {found.reason}")
        return found

    def check(self, tx: Tx, row: Row) -> BadRow | None:
        found = self._try(tx, row)
        return found if isinstance(found, BadRow) else None

    def _try(self, tx: Tx, row: Row) -> T | BadRow:
        try:
            msgspec.convert(row, self._shape)
            return self._make(row)
        except _TROUBLES as error:
            thread = row["id"] if self.table == "threads" else row.get("thread")
            key = "/".join(_shown(row.get(column)) for column in self.key)
            values = tuple(row.get(column) for column in self.key)
            bad = BadRow(self.table, key, _shown(thread) if thread else None, _shown(error), values)
            tx.bad.append(bad)
            return bad


def _shown(value: object) -> str:
    return visible(clean(str(value)))[:_LONGEST]
