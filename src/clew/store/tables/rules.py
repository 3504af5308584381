"""Rows of rules: what a person allowed, denied or wants to be asked about, with scope and expiry."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from clew.model.gates import Effect, Rule, RuleKind, Scope
from clew.store.base import BadRow, Row, Tx
from clew.store.rows import Moment, Rows


class _RuleRow(Struct):
    id: str
    effect: Effect
    kind: RuleKind
    pattern: str
    scope: Scope
    place: str
    until: Moment | None
    created_at: Moment
    created_by: str


_COLUMNS = ", ".join(_RuleRow.__struct_fields__)
_SCOPES = sorted(Scope)
_UNKNOWN_SCOPE = " OR ".join(  # as ranges, which the index on scopes can search
    [
        f"scope < '{_SCOPES[0]}'",
        *(f"(scope > '{one}' AND scope < '{next}')" for one, next in pairwise(_SCOPES)),
        f"scope > '{_SCOPES[-1]}'",
    ]
)


def insert(tx: Tx, rule: Rule) -> None:
    tx.run(
        f"INSERT INTO rules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rule.id,
        rule.effect,
        rule.kind,
        rule.pattern,
        rule.scope,
        rule.place,
        rule.until,
        rule.created_at,
        rule.created_by,
    )


def get(tx: Tx, rule: str) -> Rule | None:
    row = tx.one(f"SELECT {_COLUMNS} FROM rules WHERE id = ?", rule)
    return ROWS.one(tx, row)


def remove(tx: Tx, rule: str) -> bool:
    """Delete a rule. False if there is none with this id."""
    return tx.run("DELETE FROM rules WHERE id = ?", rule) == 1


def of_scopes(tx: Tx, thread: str, workspace: str) -> list[Rule]:
    """Rules that may apply to a thread, including expired ones: the engine decides which apply. One that cannot be read
    may forbid anything, so it applies to every thread as a rule that asks."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM rules WHERE scope = ? OR (scope = ? AND place = ?) OR (scope = ? AND place = ?)"
        f" OR {_UNKNOWN_SCOPE} ORDER BY id",
        Scope.EVERYWHERE,
        Scope.THREAD,
        thread,
        Scope.WORKSPACE,
        workspace,
    )
    return [_rule_or_unreadable(tx, row) for row in rows]


def all_rules(tx: Tx) -> list[Rule]:
    return [_rule_or_unreadable(tx, row) for row in tx.all(f"SELECT {_COLUMNS} FROM rules ORDER BY id")]


def matching(tx: Tx, prefix: str) -> list[str]:
    """Ids that begin with `prefix`, at most two: enough to know whether it is unique."""
    rows = tx.all("SELECT id FROM rules WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", prefix, prefix + "~")
    return [row["id"] for row in rows]


def _rule(row: Row) -> Rule:
    return Rule(
        id=row["id"],
        effect=Effect(row["effect"]),
        kind=RuleKind(row["kind"]),
        pattern=row["pattern"],
        scope=Scope(row["scope"]),
        place=row["place"],
        until=row["until"],
        created_at=row["created_at"],
        created_by=row["created_by"],
    )


def _rule_or_unreadable(tx: Tx, row: Row) -> Rule:
    bad = ROWS.check(tx, row)
    return _unreadable(bad) if bad is not None else _rule(row)


def _unreadable(bad: BadRow) -> Rule:
    return Rule(bad.key, Effect.ASK, RuleKind.EXACT, "", Scope.EVERYWHERE, "", 0, is_readable=False)


ROWS = Rows("rules", _RuleRow, _rule)
