"""Two daemons race for the same handoffs: two processes, one store file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from clew.model.handoff import Handoff, HandoffState
from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.tables import handoffs
from clew.support.clock import SystemClock
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.process

ROWS = 40
TIMEOUT = 60.0


def ask_for(tx: Tx, clock: SystemClock) -> None:
    for number in range(ROWS):
        row = Handoff(clock.ulid(), f"thread-{number}", "phone", None, HandoffState.PENDING, "ann", 0, 60_000)
        assert handoffs.request(tx, row)


def racer(database: Path, name: str) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-m", "tests.store.racer", str(database), name], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)


def step(racers: Collection[subprocess.Popen[str]]) -> None:
    """Wait until both are ready, and let them start."""
    for each in racers:
        assert each.stdout is not None and int(each.stdout.readline()) == ROWS
    for each in racers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()


async def test_each_handoff_is_claimed_by_exactly_one_of_two_daemons(tmp_path: Path) -> None:
    clock, database = SystemClock(), tmp_path / "clew.db"
    store = open_store(database, clock)
    await store.write(lambda tx: ask_for(tx, clock))
    racers = {name: racer(database, name) for name in ("one", "two")}
    for _ in ("claim", "carry out"):
        step(racers.values())
    won = {name: set(json.loads(each.communicate(timeout=TIMEOUT)[0])) for name, each in racers.items()}
    rows = await store.read(lambda tx: handoffs.newest(tx, ROWS))
    store.close()
    assert (len(won["one"]) + len(won["two"]), won["one"] & won["two"]) == (ROWS, set())
    for row in rows:
        winner = "one" if row.id in won["one"] else "two"
        assert (row.state, str(row.opened), row.generation) == (HandoffState.COMPLETED, f"phone:{winner}", 1)
