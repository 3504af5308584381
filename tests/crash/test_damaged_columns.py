"""One bad value in any column of any table costs its own thread, conversation or person only: the engine starts on it
and goes on, the row is named, and `clew repair` sets it aside."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from clew.config.settings import Budget, BudgetsConfig, Config, ThreadsConfig
from clew.engine.budgets.limits import day_of
from clew.model.messages import Person, Role
from clew.model.surface import SurfaceCan
from clew.store import Tx
from clew.store.damage import TABLES
from clew.store.tables import people
from tests.helpers.rig import Rig, Room

WORD, BLOB = "'soon'", "x'00ff'"
BUDGETS = BudgetsConfig(day=Budget(turns=1000), thread=Budget(turns=1000))
CONFIG = Config(threads=ThreadsConfig(runtime="scripted"), budgets=BUDGETS)
UNREAD = {  # columns that only SQL looks at, so that a bad value of them is nobody's trouble
    "threads": ["next_seq"],
    "gates": ["subject"],
    "deliveries": ["owner"],
    "inbox": ["pressed", "album"],
    "strangers": ["surface", "id", "told_at"],
    "handle_numbers": ["slug", "newest"],
    "set_aside": ["source", "name", "thread", "reason", "content", "at"],
}
OPENING = {"meta", "schema_version", "sqlite_sequence"}  # which say what the file is
READ = [(table, column) for table, rows in TABLES.items() for column in rows.columns]
SOME = [
    ("threads", "wake_at"),
    ("turns", "not_before"),
    ("turns", "request"),
    ("limits", "asked_at"),
    ("budget_limits", "measure"),
    ("places", "policy"),
    ("away", "address"),
    ("counters", "value"),
]
MORE = """
INSERT INTO rules (id, effect, kind, pattern, scope, place, created_at, created_by)
    VALUES ('01RULE', 'deny', 'command', 'nothing', 'everywhere', '', 1, 'ann');
INSERT INTO answers VALUES ('key', 'digest', 200, 'text/plain', 'x', 9000000000000);
INSERT INTO pairings VALUES ('room', '9', 'cid', 'x', 'ABC', 9000000000000);
INSERT INTO strangers VALUES ('room', '8', 9000000000000);
INSERT INTO edits (surface, address, message_id, sender_id, text) VALUES ('room', 'a', 'm', '1', 't');
INSERT INTO away (surface, address, since) VALUES ('room', 'w', 1);
INSERT INTO limits VALUES ('scripted', 'refusal', NULL, 9000000000000, 'ok', 300, 1, NULL, NULL);
INSERT INTO budget_limits VALUES ('thread', '{parked}', '', 'turns', 500, 'x', 1);
INSERT INTO budget_limits VALUES ('day', '', '{day}', 'turns', 500, 'x', 1);
INSERT INTO budget_passes VALUES ('{parked_turn}', 'x', 1);
INSERT INTO preludes SELECT id, 'scripted', NULL, 'text', 1, 0, 1 FROM turns WHERE state = 'waiting';
INSERT INTO steers (surface, address, message_id, turn, thread, message, state, seq)
    SELECT 'room', 'a', 's', id, thread, '{{"id":"s","author":"ann","text":"x"}}', 'offered', 1 FROM turns
    WHERE state = 'waiting';
INSERT INTO adoptions SELECT id, 'scripted', 'session', NULL, 1 FROM threads ORDER BY id LIMIT 1;
INSERT INTO handoffs (id, thread, surface, state, asked_by, say, quiet, requested_at, expires_at)
    SELECT '01H', id, 'room', 'pending', 'ann', '', 0, 1, 1 FROM threads ORDER BY id LIMIT 1;
INSERT INTO set_aside (source, name, thread, reason, content, at) VALUES ('gates', 'g', NULL, 'x', '{{}}', 1);
INSERT INTO items (turn, item, kind, phase, title, body, position)
    SELECT id, 'i', 'text', 'started', '', 'x', 1 FROM turns WHERE state = 'waiting';
UPDATE turns SET state = 'interrupted' WHERE id = '{parked_turn}';
UPDATE threads SET status = 'suspended', suspended_by = 'limit', suspend_message = 'x', wake_at = 9000000000000
    WHERE id = '{parked}';
"""


def rig_on(folder: Path) -> Rig:
    return Rig(folder, room=Room(can=SurfaceCan(chat=True, buttons=4, replies=True, edit=True)), config=CONFIG)


def admit(tx: Tx) -> None:
    for id, role in (("1", Role.OWNER), ("2", Role.DRIVER)):
        people.add(tx, Person("room", id, f"person {id}", role, 0, "test"))


async def live(folder: Path) -> str:
    """A store with a thread at a gate, one that is parked, and conversations with settings. Returns the rows that are
    to be added, so that no table is empty."""
    async with rig_on(folder) as rig:
        await rig.store.write(admit)
        await rig.ended((await rig.say("!text early", room="e", sender_id="1")).turn)
        await rig.say("!approve make\n!text done", sender_id="1")
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        await rig.say("/queue !text behind", sender_id="1")
        for text in ("/policy read-only", "/dir .", "/home"):
            await rig.say(text, room="p", sender_id="1")
        parked = await rig.say("!hold q\n!text parked", room="l", sender_id="1")
        await rig.held("q")
        await rig.say("/queue !text later", room="l", sender_id="1")
        now = rig.clock.now()
    return MORE.format(day=day_of(now), parked=parked.thread, parked_turn=parked.turn)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sound")
    more = asyncio.run(live(folder))
    with closing(sqlite3.connect(folder / "clew.db")) as raw:
        raw.executescript(more)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    yield folder


async def works(folder: Path, table: str, where: str, *, is_bad: bool) -> None:
    """Another conversation's turn runs, and its answer is delivered; the damaged row is named and set aside, unless it
    was written anew."""
    async with rig_on(folder) as rig:
        said = await rig.say("!text hello", room="z", sender_id="1")
        arrives = asyncio.create_task(arrived(rig, said.turn))
        assert rig._task is not None
        done, _ = await asyncio.wait([arrives, rig._task], return_when="FIRST_COMPLETED")
        for task in done:
            task.result()
        assert not rig._task.done()
        is_there = await rig.store.read(lambda tx: tx.one(f"SELECT 1 FROM {table} WHERE {where}"))
        found = await rig.engine.repair.find()
        assert table in {row.table for row in found} or not (is_bad and is_there), found
        await rig.engine.repair.apply()
        assert all(row.stays for row in await rig.engine.repair.find())
        await rig.engine.status.fates()


async def arrived(rig: Rig, turn: str | None) -> None:
    await rig.ended(turn)
    await rig.delivered(f"{turn}:final")


async def damaged(sound: Path, folder: Path, table: str, column: str, value: str, *, is_bad: bool) -> None:
    shutil.copytree(sound, folder, dirs_exist_ok=True)
    with closing(sqlite3.connect(folder / "clew.db")) as raw:
        newest = f"rowid = (SELECT max(rowid) FROM {table})"
        try:
            assert raw.execute(f"UPDATE {table} SET {column} = {value} WHERE {newest}").rowcount == 1
        except sqlite3.IntegrityError:
            return  # SQLite itself forbids it
        raw.commit()
    await works(folder, table, f"{column} = {value}", is_bad=is_bad)


def is_bad(table: str, column: str, value: str) -> bool:
    """Whether the column cannot have this value."""
    [kind] = [each.type for each in msgspec.structs.fields(TABLES[table]._shape) if each.name == column]
    return value == BLOB or str not in (kind, *get_args(kind))


@pytest.mark.parametrize("value", [WORD, BLOB])
@pytest.mark.parametrize(("table", "column"), SOME)
async def test_a_bad_value_does_not_end_the_engine(
    sound: Path, tmp_path: Path, table: str, column: str, value: str
) -> None:
    await damaged(sound, tmp_path, table, column, value, is_bad=is_bad(table, column, value))


@pytest.mark.heavy
@pytest.mark.parametrize("value", [WORD, BLOB])
@pytest.mark.parametrize(("table", "column"), [each for each in READ if each not in SOME])
async def test_no_bad_value_ends_the_engine(sound: Path, tmp_path: Path, table: str, column: str, value: str) -> None:
    await damaged(sound, tmp_path, table, column, value, is_bad=is_bad(table, column, value))


@pytest.mark.heavy
@pytest.mark.parametrize("value", [WORD, BLOB])
@pytest.mark.parametrize(("table", "column"), [(table, each) for table, columns in UNREAD.items() for each in columns])
async def test_a_column_that_only_sql_looks_at_ends_nothing(
    sound: Path, tmp_path: Path, table: str, column: str, value: str
) -> None:
    await damaged(sound, tmp_path, table, column, value, is_bad=False)


def test_every_column_is_tried(sound: Path) -> None:
    with closing(sqlite3.connect(sound / "clew.db")) as raw:
        tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} - OPENING
        columns = {(table, row[1]) for table in tables for row in raw.execute(f"PRAGMA table_info({table})")}
        filled = {table for table in tables if raw.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()}
    tried = {*READ, *((table, each) for table, names in UNREAD.items() for each in names)}
    assert {(table, column) for table, column in columns - tried if column != "seq"} == set()
    assert tables - filled == set()
