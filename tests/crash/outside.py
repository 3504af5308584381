"""Checks after a flow: nothing is lost, duplicated or stuck, and no process is left."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clew.store import Tx, audit
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import gates, handoffs
from tests.crash.conftest import System
from tests.crash.flows import Flow, ask, threads
from tests.helpers.daemons import TIMEOUT

UNASKED = "has ended without being asked to"


def check(system: System, folder: Path, flow: Flow, deaths: int) -> None:
    _check_runs(system, folder)
    fetched = [_last_answer(system, thread) for thread in threads(system) if thread["forked_from"]]
    system.clew("down")
    came, stuck = answers(system), unfinished(system.clew.home.database)
    assert died(system) == deaths, f"{died(system)} daemons died"
    assert came in [Counter(each) for each in flow.answers], came
    assert (fetched, stuck) == ([*flow.fetched], []), (fetched, stuck)
    assert (system.clew.children(), system.clew.alive()) == ([], []), "something is left"


def answers(system: System) -> Counter[str]:
    """Return the answers as a receiver that takes each key once sees them. Asserts that one key never had two
    bodies."""
    bodies: dict[str, set[bytes]] = {}
    for delivery in system.hook.deliveries:
        bodies.setdefault(delivery.id, set()).add(delivery.body)
    assert all(len(each) == 1 for each in bodies.values()), bodies
    said = [json.loads(body) for each in bodies.values() for body in each]
    return Counter(each["text"] for each in said if each["kind"] == "final")


def died(system: System) -> int:
    """Return how many daemons crashed; each next one logs it."""
    return system.clew.home.log.read_text().count(UNASKED)


def unfinished(database: Path) -> list[str]:
    """Return rows that are unfinished although no daemon runs."""
    with reading(database) as tx:
        asked = tx.all("SELECT code, state FROM gates WHERE state IN ('open', 'answered')")
        moving = [f"handoff {row.id} is {row.state}" for row in handoffs.all_open(tx)]
        waiting = [f"gate {dict(row)}" for row in asked]
        return [*audit.unfinished(tx), *audit.ended_without_delivery(tx), *waiting, *moving]


def wait_sent(database: Path, gate: str) -> None:
    """Wait until the answer to a gate was sent. That is no event, so poll the store."""
    deadline = time.monotonic() + TIMEOUT
    with reading(database) as tx:
        while (found := gates.get(tx, gate)) is None or found.sent_at is None:
            assert time.monotonic() < deadline, found


@contextmanager
def reading(database: Path) -> Iterator[Tx]:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as raw:
        yield Tx(SqliteConnection(raw))


def _last_answer(system: System, thread: Any) -> str:
    return str(ask(system, "threads", thread["id"], "transcript")[-1]["text"])


def _check_runs(system: System, folder: Path) -> None:
    """At most one run per yes; a possible repeat was announced before its yes."""
    runs = _lines(folder / "runs")
    asked = [gate for thread in threads(system) for gate in ask(system, "gates", thread=thread["id"])]
    yes = [gate for gate in asked if gate["answered_by"]]
    assert runs <= len(yes) and bool(runs) == bool(asked), (runs, asked)
    assert runs <= 1 or any("may already have run" in gate["warning"] for gate in yes), asked


def _lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0
