"""What a delivery is about stands in columns. A migration fills them for deliveries of earlier versions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from clew.store import migrate
from clew.store.migrate import open_store
from clew.support.clock import SystemClock

GATE, HANDOFF, TURN = "01GATE" + "0" * 20, "01HAND" + "0" * 20, "01TURN" + "0" * 20
ROWS = {
    f"{GATE}:ask": ("ask", (GATE, None, None, None)),
    f"{GATE}:remind:2": ("ask", (GATE, None, None, None)),
    f"{GATE}:ask:part:1": ("notice", (GATE, None, f"{GATE}:ask", 1)),
    f"{GATE}:ask:2:part:12": ("notice", (GATE, None, f"{GATE}:ask:2", 12)),
    f"{HANDOFF}:first": ("handoff", (None, HANDOFF, None, None)),
    f"{TURN}:final": ("final", (None, None, None, 1)),
    f"{TURN}:final:2": ("final", (None, None, None, 2)),
    f"{TURN}:final:12": ("final", (None, None, None, 12)),
    f"{TURN}:ask": ("ask", (None, None, None, None)),
    f"{TURN}:ask:copy": ("notice", (None, None, f"{TURN}:ask", None)),
    f"{TURN}:limit:2:copy:3": ("notice", (None, None, f"{TURN}:limit:2", None)),
    f"{TURN}:dropped": ("notice", (None, None, None, None)),
}


def test_references_of_earlier_deliveries_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = tmp_path / "clew.db", [each for each in migrate.migrations() if each[0] < 13]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: before)
        open_store(path, SystemClock()).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        columns = [
            row for row in raw.execute("PRAGMA table_info(gates)") if row[3] and row[4] is None and row[1] != "id"
        ]
        names = ", ".join(["id", *(row[1] for row in columns)])
        values = [GATE, *(0 if row[2] == "BIGINT" else "x" for row in columns)]
        raw.execute(f"INSERT INTO gates ({names}) VALUES ({', '.join('?' * len(values))})", values)
        for id, (kind, _) in ROWS.items():
            raw.execute(
                "INSERT INTO deliveries (id, kind, thread, turn, body, note, state, due_at, created_at)"
                " VALUES (?, ?, 'T', ?, '', '', 'sent', 0, 0)",
                (id, kind, None if id.endswith(":dropped") else id[:26]),
            )
    raw.close()
    open_store(path, SystemClock()).close()
    found = sqlite3.connect(path).execute("SELECT id, gate, handoff, card, part FROM deliveries").fetchall()
    assert {row[0]: tuple(row[1:]) for row in found} == {id: wanted for id, (_, wanted) in ROWS.items()}
