"""Columns of threads: what a person chose for a thread whose agent cannot work."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from clew.model.threads import LimitChoices
from clew.store.base import Row, Tx

OnLimit = Literal["auto", "ask", "never"]
QuietHours = Annotated[str, Meta(pattern=r"^(\d\d:\d\d-\d\d:\d\d)?$")]
_NONE = LimitChoices()


def set_choices(tx: Tx, thread: str, choices: LimitChoices) -> None:
    sql = "UPDATE threads SET fallback = ?, on_limit = ?, most_waits = ?, quiet_hours = ? WHERE id = ?"
    tx.run(sql, *as_columns(choices), thread)


def as_columns(choices: LimitChoices) -> tuple[str | None, str | None, int | None, str | None]:
    order = None if choices.fallback is None else " ".join(choices.fallback)
    return order, choices.on_limit, choices.limit_waits, choices.quiet_hours


def choices_of(row: Row) -> LimitChoices:
    order = row["fallback"]
    given = (None if order is None else tuple(order.split()), row["on_limit"], row["most_waits"], row["quiet_hours"])
    return _NONE if given == (None,) * 4 else LimitChoices(*given)
