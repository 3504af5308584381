"""Rows of rules: what a person allowed, denied or wants to be asked about, with scope and expiry."""

from __future__ import annotations

from clew.model.gates import Effect, Rule, RuleKind, Scope
from clew.store.base import Row, Tx

_COLUMNS = "id, effect, kind, pattern, scope, place, until, created_at, created_by"


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
    return _rule(row) if row else None


def remove(tx: Tx, rule: str) -> bool:
    """Delete a rule. False if there is none with this id."""
    return tx.run("DELETE FROM rules WHERE id = ?", rule) == 1


def of_scopes(tx: Tx, thread: str, workspace: str) -> list[Rule]:
    """Rules that may apply to a thread, including expired ones: the engine decides which apply."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM rules WHERE scope = ? OR (scope = ? AND place = ?) OR (scope = ? AND place = ?)"
        " ORDER BY id",
        Scope.EVERYWHERE,
        Scope.THREAD,
        thread,
        Scope.WORKSPACE,
        workspace,
    )
    return [_rule(row) for row in rows]


def all_rules(tx: Tx) -> list[Rule]:
    return [_rule(row) for row in tx.all(f"SELECT {_COLUMNS} FROM rules ORDER BY id")]


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
