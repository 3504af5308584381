"""Frequent queries use an index: no query plan scans all threads, turns, nodes or deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.budgets import BudgetScope, Payer, Spent
from clew.model.messages import Conversation
from clew.model.threads import ListPosition, SuspendedBy, ThreadFilter, ThreadStatus
from clew.store import Row, Tx, damage, metrics
from clew.store.migrate import open_store
from clew.store.tables import bindings, deliveries, gates, inbox, log, nodes, threads, turns, usage
from clew.support.clock import SystemClock

PAYERS = (Payer(BudgetScope.THREAD, "x", ""), Payer(BudgetScope.DAY, "", "2026-11-18"))
HOT: dict[str, Callable[[Tx], object]] = {
    "list": lambda tx: threads.page(tx, ThreadFilter()),
    "history": lambda tx: threads.page(tx, ThreadFilter(history=True, before=ListPosition(9, "01Z"))),
    **{f"all {status}": partial(threads.page, wanted=ThreadFilter(status=status)) for status in ThreadStatus},
    "all running": lambda tx: threads.page(tx, ThreadFilter(running=True)),
    "show": lambda tx: threads.summary(tx, "x"),
    "find": lambda tx: threads.matching(tx, "01K"),
    "a repeated message": lambda tx: inbox.find(tx, Conversation("cli"), "x"),
    "where to read on": lambda tx: inbox.last_message_ids(tx, "cli"),
    "whether anything was heard": lambda tx: inbox.has_messages(tx, Conversation("cli")),
    "a binding": lambda tx: bindings.thread_at(tx, Conversation("cli")),
    "claim a turn": lambda tx: turns.claim(tx, "x", "me", 1),
    "the turn that would be claimed": lambda tx: turns.claimable(tx, "x", 1),
    "what runs in a folder": lambda tx: turns.count_running_beside(tx, "x"),
    "what was used for a budget": lambda tx: usage.totals(tx, PAYERS),
    "limits that a person set": lambda tx: usage.limits(tx, PAYERS),
    "whether a turn may run above a budget": lambda tx: usage.may_pass(tx, "x"),
    "add to the ledger": lambda tx: usage.add(tx, PAYERS, "codex", "", Spent(1)),
    "what waits for a budget": lambda tx: threads.suspended_by(tx, SuspendedBy.BUDGET),
    "priorities": threads.priorities,
    "when a turn waited": lambda tx: gates.waits_of_turn(tx, "x", 1),
    "what runs": turns.all_live,
    "what is queued": turns.threads_with_queued,
    "the queue of a thread": lambda tx: turns.queued(tx, "x"),
    "deliveries that can leave": lambda tx: deliveries.next_to_send(tx, "webhook", 9),
    "whether anything is owed there": lambda tx: deliveries.has_unsent(tx, "webhook"),
    "claim a delivery": lambda tx: deliveries.claim_pending(tx, "d", "me", None),
    "what a dead daemon was sending": lambda tx: deliveries.release_sending(tx, 1, "me"),
    "what has not arrived": lambda tx: deliveries.undelivered_finals(tx, failed=True, after=None, limit=10),
    "what has not arrived yet": lambda tx: deliveries.undelivered_finals(tx, failed=False, after=None, limit=10),
    "what is on its way": deliveries.sending_finals,
    "files that have not arrived": lambda tx: deliveries.unsent_files(tx),
    "what was put off": lambda tx: deliveries.retry_now(tx, 1),
    "receipts": lambda tx: deliveries.of_thread(tx, "x"),
    "a piece of history": lambda tx: nodes.back_from(tx, "x", 10),
    "the log of a thread": lambda tx: log.after(tx, 0, "x", 10),
    "what need not be kept of the log": lambda tx: log.too_old(tx, 1, 10, 10),
    "whether the log was pruned": lambda tx: log.is_lost(tx, -1, "x"),
    "where threads are bound": lambda tx: bindings.of_threads(tx, ["x", "y"]),
    "when turns began": lambda tx: turns.start_times(tx, ["x", "y"]),
    "the day": lambda tx: (metrics.turns_since(tx, 1), metrics.gates_since(tx, 1)),
    "what has not arrived anywhere": lambda tx: deliveries.outstanding(tx, 10),
    "gates settled in a conversation": lambda tx: gates.settled_at(tx, Conversation("cli"), 1),
    "what a group may be shown": lambda tx: bindings.known_at(tx, Conversation("cli"), 10),
    "the album of a message": lambda tx: inbox.of_album(tx, Conversation("cli"), "g1"),
    "open steers": lambda tx: inbox.open_steers(tx, "x"),
}


LISTS = [HOT[name] for name in HOT if name in ("list", "history") or name.startswith("all ")]


PARTIAL = ("turns_live", "turns_queued", "threads_", "deliveries_", "gates_open")


def _partial(plan: str) -> bool:
    """Whether a plan scans a partial index: that holds only open rows, so the scan is short."""
    return any(f"INDEX {name}" in plan for name in PARTIAL)


class Planner(Tx):
    """A transaction that collects the query plan of each statement before it runs it."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx._connection)
        self.plans: list[str] = []

    def run(self, sql: str, *params: object) -> int:
        self._explain(sql, params)
        return super().run(sql, *params)

    def all(self, sql: str, *params: object) -> list[Row]:
        self._explain(sql, params)
        return super().all(sql, *params)

    def one(self, sql: str, *params: object) -> Row | None:
        self._explain(sql, params)
        return super().one(sql, *params)

    def _explain(self, sql: str, params: tuple[object, ...]) -> None:
        rows = self._connection.all(f"EXPLAIN QUERY PLAN {sql}", params)
        self.plans += [row["detail"] for row in rows]


LIVE = {f"{page.table}: {page.condition}": page for page in damage.pages(live=True)}
SMALL = {  # a person wrote each row, or there are a few for each runtime or surface
    *("rules", "people", "pairings", "limits", "budget_limits", "adoptions"),
    *("homes", "owner_chats", "away", "counters"),
}
FEW = {  # by table: the indexes that hold only open rows, or find the rows of one turn or thread
    "threads": ("threads_active",),
    "turns": ("turns_queued", "turns_live", "(id=?)"),
    "items": ("sqlite_autoindex_items_1 (turn=?",),
    "steers": ("steers_open", "(surface=? AND address=? AND message_id=?)"),
    "gates": ("gates_open", "gates_turn", "(id=?)"),
    "deliveries": ("deliveries_open", "(id=?)"),
    "handoffs": ("handoffs_open", "(id=?)"),
    "bindings": ("bindings_thread (thread=?", "bindings_driver"),
    "continuity": ("sqlite_autoindex_continuity_1 (thread=?",),
}


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("name", LIVE)
async def test_the_check_at_every_start_reads_only_open_rows(tmp_path: Path, name: str, is_first: bool) -> None:
    page = LIVE[name]
    if page.table in SMALL:
        return
    after = () if is_first else ("0",) * len(damage.TABLES[page.table].key)
    store = open_store(tmp_path / "clew.db", SystemClock())

    def body(tx: Tx) -> list[str]:
        planner = Planner(tx)
        damage.check(planner, replace(page, after=after))
        return planner.plans

    plans = [plan.split(" ", 2) for plan in await store.read(body)]
    await asyncio.to_thread(store.close)
    read = [(rest[0], rest[1]) for verb, *rest in plans if verb in ("SCAN", "SEARCH") and rest[0] in FEW]
    assert read and all(any(index in how for index in FEW[table]) for table, how in read), plans


@pytest.mark.parametrize("name", HOT)
async def test_the_query_uses_an_index(tmp_path: Path, name: str) -> None:
    store = open_store(tmp_path / "clew.db", SystemClock())

    def body(tx: Tx) -> list[str]:
        planner = Planner(tx)
        HOT[name](planner)
        return planner.plans

    plans = await store.write(body)
    await asyncio.to_thread(store.close)
    tables = (
        "threads",
        "turns",
        "nodes",
        "deliveries",
        "inbox",
        "log",
        "steers",
        "gates",
        "bindings",
        "usage_ledger",
        "budget_limits",
        "q",
        "l",
        "d",
        "e",
    )
    walks = [plan for plan in plans if plan.startswith("SCAN ") and plan.split()[1] in tables and not _partial(plan)]
    sorts = [plan for plan in plans if "TEMP B-TREE FOR ORDER BY" in plan and HOT[name] in LISTS]
    assert walks == [], plans
    most = 2 if name == "all running" else 1  # the page itself; and the few threads that run
    assert len(sorts) <= most, plans
