"""Rows of the usage ledger, of limits that a person set, and of turns that may run above a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from clew.model.budgets import BudgetScope, Measure, Payer, Spent
from clew.store.base import Row, Tx
from clew.store.rows import Count, Moment, Rows

_COUNTS = ("turns", "tokens", "input_tokens", "cached_input_tokens", "output_tokens", "time", "cost")
_SUMS = ", ".join(f"sum({name}) AS {name}" for name in _COUNTS)
_ADDED = ", ".join(f"{name} = usage_ledger.{name} + excluded.{name}" for name in _COUNTS)
_TOTAL = (
    f"SELECT scope, name, day, {_SUMS} FROM usage_ledger WHERE scope = ? AND name = ? AND day = ?"
    " GROUP BY scope, name, day"
)
_AT_ONCE = 100  # SQLite joins at most 500


class _UsageRow(Struct):
    scope: BudgetScope
    name: str
    day: str
    runtime: str
    model: str
    turns: Count
    tokens: Count
    input_tokens: Count
    cached_input_tokens: Count
    output_tokens: Count
    time: Count
    cost: Count


class _LimitRow(Struct):
    scope: BudgetScope
    name: str
    day: str
    measure: Measure
    value: Count
    set_by: str
    set_at: Moment


class _PassRow(Struct):
    turn: str
    set_by: str
    set_at: Moment


_LIMIT_COLUMNS = ", ".join(_LimitRow.__struct_fields__)
_LIMIT = f"SELECT {_LIMIT_COLUMNS} FROM budget_limits WHERE scope = ? AND name = ? AND day = ?"
_Limit = tuple[tuple[Payer, Measure], int]


class ModelUsage(Struct, frozen=True):
    """What somebody used on one model."""

    name: str
    runtime: str
    model: str
    spent: Spent


def add(tx: Tx, payers: Sequence[Payer], runtime: str, model: str, spent: Spent) -> None:
    """Add the usage of one turn to each account."""
    one = (runtime, model, *(getattr(spent, name) for name in _COUNTS))
    values = [value for payer in payers for value in (payer.scope, payer.name, payer.day, *one)]
    places = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(payers))
    tx.run(
        f"INSERT INTO usage_ledger (scope, name, day, runtime, model, {', '.join(_COUNTS)}) VALUES {places}"
        f" ON CONFLICT (scope, name, day, runtime, model) DO UPDATE SET {_ADDED}",
        *values,
    )


def totals(tx: Tx, payers: Sequence[Payer]) -> dict[Payer, Spent]:
    """What these have used. One look at the primary key for each: constant, however long the history is."""
    found: dict[Payer, Spent] = {}
    for begin in range(0, len(payers), _AT_ONCE):
        some = payers[begin : begin + _AT_ONCE]
        rows = tx.all(" UNION ALL ".join([_TOTAL] * len(some)), *_values(some))
        found.update((_payer(row), _spent(row)) for row in rows)
    return found


def since(tx: Tx, scope: BudgetScope, day: str) -> list[ModelUsage]:
    """The usage of a scope from this day on, by name and model. Of the scope `day` the names are the days."""
    name = "day" if scope is BudgetScope.DAY else "name"
    sql = (
        f"SELECT {name} AS who, runtime, model, {_SUMS} FROM usage_ledger WHERE scope = ? AND day >= ? AND day <> ''"
        f" GROUP BY {name}, runtime, model ORDER BY {name}, runtime, model"
    )
    return [ModelUsage(str(row["who"]), row["runtime"], row["model"], _spent(row)) for row in tx.all(sql, scope, day)]


def limits(tx: Tx, payers: Sequence[Payer]) -> dict[tuple[Payer, Measure], int]:
    """The limits that a person set or raised, of a few. A raised one that cannot be read is none. One of a thread may
    be narrower than that of the config: then UnreadableRow is raised."""
    rows = tx.all(" UNION ALL ".join([_LIMIT] * len(payers)), *_values(payers))
    own = LIMITS.all(tx, [row for row in rows if row["scope"] == BudgetScope.THREAD])
    return dict([*own, *LIMITS.readable(tx, [row for row in rows if row["scope"] != BudgetScope.THREAD])])


def all_limits(tx: Tx, day: str) -> dict[tuple[Payer, Measure], int]:
    """The limits that hold on this day; those of threads hold always."""
    rows = tx.all(f"SELECT {_LIMIT_COLUMNS} FROM budget_limits WHERE day IN ('', ?)", day)
    return dict(LIMITS.readable(tx, rows))


def threads_with_limits(tx: Tx) -> frozenset[str]:
    rows = tx.all("SELECT DISTINCT name FROM budget_limits WHERE scope = 'thread'")
    return frozenset(str(row["name"]) for row in rows)


def set_limit(tx: Tx, payer: Payer, measure: Measure, value: int | None, by: str, at: int) -> None:
    """None: the limit of the config holds again."""
    where = (payer.scope, payer.name, payer.day, measure)
    if value is None:
        tx.run("DELETE FROM budget_limits WHERE scope = ? AND name = ? AND day = ? AND measure = ?", *where)
        return
    tx.run(
        "INSERT INTO budget_limits (scope, name, day, measure, value, set_by, set_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (scope, name, day, measure)"
        " DO UPDATE SET value = excluded.value, set_by = excluded.set_by, set_at = excluded.set_at",
        *where,
        value,
        by,
        at,
    )


def let_pass(tx: Tx, turn: str, by: str, at: int) -> None:
    """Record that a person lets this turn run above its budgets."""
    sql = "INSERT INTO budget_passes (turn, set_by, set_at) VALUES (?, ?, ?) ON CONFLICT (turn) DO NOTHING"
    tx.run(sql, turn, by, at)


def may_pass(tx: Tx, turn: str) -> bool:
    return tx.one("SELECT 1 FROM budget_passes WHERE turn = ?", turn) is not None


def prune(tx: Tx, before: str, at: int) -> None:
    """Delete the usage and the limits of days before this one, and passes from before this time. What threads used in
    their whole life stays."""
    tx.run("DELETE FROM usage_ledger WHERE day <> '' AND day < ?", before)
    tx.run("DELETE FROM budget_limits WHERE day <> '' AND day < ?", before)
    tx.run("DELETE FROM budget_passes WHERE set_at < ?", at)


def _values(payers: Sequence[Payer]) -> list[str]:
    return [value for payer in payers for value in (payer.scope, payer.name, payer.day)]


def _payer(row: Row) -> Payer:
    return Payer(BudgetScope(row["scope"]), row["name"], row["day"])


def _limit(row: Row) -> _Limit:
    return (_payer(row), Measure(row["measure"])), row["value"]


def _spent(row: Mapping[str, object]) -> Spent:
    return Spent(*(_count(row[name]) for name in _COUNTS))


def _count(value: object) -> int:
    """A number of a row that may be damaged: nothing more than a count that is wrong."""
    return value if isinstance(value, int) else 0


_USED = ("scope", "name", "day", "runtime", "model")
USED = Rows("usage_ledger", _UsageRow, _spent, key=_USED, live=())  # of a bad row only the numbers count that are some
LIMITS = Rows("budget_limits", _LimitRow, _limit, key=("scope", "name", "day", "measure"))
PASSES = Rows("budget_passes", _PassRow, lambda row: str(row["turn"]), key=("turn",), live=())  # only its key is read
