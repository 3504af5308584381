"""Checks of usage and budgets after a story: the ledger adds up with the turns, and no turn began above a budget unless
a person said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clew.model.events.kinds import EventKind
from clew.store import Row, Tx
from tests.simulation.world import World


def adds_up(world: World, tx: Tx) -> Iterator[str]:
    """Each ended turn that ran is counted once in each scope. What refused attempts used is no turn."""
    ran = tx.all("SELECT id, thread FROM turns WHERE node IS NOT NULL AND origin != 'outside'")
    whole = {"day": len(ran), "account": len(ran)}
    for scope, expected in whole.items():
        [row] = tx.all("SELECT coalesce(sum(turns), 0) AS n FROM usage_ledger WHERE scope = ?", scope)
        if row["n"] != expected:
            yield f"the ledger of each {scope} says {row['n']} turns, and {expected} ended"
    lives = tx.all("SELECT name, sum(turns) AS n FROM usage_ledger WHERE scope = 'thread' AND day = '' GROUP BY name")
    if (said := {row["name"]: row["n"] for row in lives if row["n"]}) != (
        counted := Counter(row["thread"] for row in ran)
    ):
        yield f"the ledger of threads says {said}, and there ended {dict(counted)}"


def within_budgets(world: World, tx: Tx) -> Iterator[str]:
    """A turn begins only below its thread's budget, or with a pass of its own, or of the turn that it continues."""
    limit = world.budgets.thread.turns
    if limit is None:
        return
    raised = tx.all("SELECT name, value FROM budget_limits WHERE scope = 'thread' AND measure = 'turns'")
    limits = {row["name"]: row["value"] for row in raised}
    passes = {row["turn"] for row in tx.all("SELECT turn FROM budget_passes")}
    rows = {row["id"]: row for row in tx.all("SELECT id, continues, node FROM turns")}
    ended: Counter[str] = Counter()
    for row in tx.all("SELECT thread, turn, kind FROM log WHERE kind IN ('turn.claimed', 'turn.ended') ORDER BY seq"):
        if row["kind"] == EventKind.TURN_ENDED:
            ended[row["thread"]] += rows[row["turn"]]["node"] is not None
        elif ended[row["thread"]] >= limits.get(row["thread"], limit) and not passes & _chain(rows, row["turn"]):
            yield f"turn {row['turn']} began above its budget, and nobody said so"


def _chain(rows: dict[str, Row], turn: str | None) -> set[str]:
    found: set[str] = set()
    while turn is not None:
        found.add(turn)
        turn = rows[turn]["continues"] if turn in rows else None
    return found
