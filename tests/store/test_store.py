"""The writer with group commit, migrations, and files that cannot be used."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from clew.model.events.kinds import EventKind
from clew.model.events.logged import SessionReleased, StatusChanged, StopAsked
from clew.model.messages import Conversation, Fate, Inbound
from clew.store import Entry, Store, Tx, migrate
from clew.store.migrate import migrations, open_store
from clew.store.sqlite.driver import WriterThread
from clew.store.tables import inbox
from clew.support.clock import SystemClock
from clew.support.errors import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clew.db"


async def _close(store: Store) -> None:
    await asyncio.to_thread(store.close)


def _note(tx: Tx, name: str, value: str = "x") -> None:
    tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", name, value)


def _names(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("SELECT name FROM meta WHERE name != 'store' ORDER BY name")]


async def test_written_rows_survive_a_reopen(path: Path) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    await _close(store)
    again = open_store(path, SystemClock())
    assert await again.read(_names) == ["a"] and again.id == store.id
    await _close(again)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_failing_body_is_rolled_back_alone(path: Path) -> None:
    store = open_store(path, SystemClock())

    def broken(tx: Tx) -> None:
        _note(tx, "lost")
        raise ValueError("mine")

    results = await asyncio.gather(
        store.write(lambda tx: _note(tx, "a")),
        store.write(broken),
        store.write(lambda tx: _note(tx, "a")),
        store.write(lambda tx: _note(tx, "b")),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [type(None), ValueError, sqlite3.IntegrityError, type(None)]
    assert await store.read(_names) == ["a", "b"]
    await _close(store)


async def test_listeners_hear_of_a_commit_after_it_and_in_order(path: Path) -> None:
    store = open_store(path, SystemClock())
    heard: list[Entry] = []
    store.listen(heard.extend)

    def say(number: int, tx: Tx) -> None:
        tx.log("thread", None, number, StatusChanged(f"status-{number}"))
        if number % 3 == 0:
            raise ValueError

    writes = [store.write(lambda tx, n=n: say(n, tx)) for n in range(30)]  # type: ignore[misc]
    await asyncio.gather(*writes, return_exceptions=True)
    assert [entry.at for entry in heard] == [n for n in range(30) if n % 3]
    assert [entry.seq for entry in heard] == sorted(entry.seq for entry in heard)
    await _close(store)


async def test_many_writers_share_commits(path: Path) -> None:
    store = open_store(path, SystemClock())
    await asyncio.gather(*(store.write(lambda tx, n=n: _note(tx, f"{n:04}")) for n in range(1000)))  # type: ignore[misc]
    assert len(await store.read(_names)) == 1000
    await _close(store)


async def test_a_disk_that_fails_in_a_part_of_a_body_is_named_as_such(path: Path) -> None:
    """SQLite has then ended the transaction, with the savepoint of the part."""
    store = open_store(path, SystemClock())

    def part(tx: Tx) -> None:
        tx.run("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(StoreError, match="no room left"):
        await store.write(lambda tx: tx.attempt(lambda: part(tx), None))
    await store.write(lambda tx: _note(tx, "after"))
    assert await store.read(_names) == ["after"]
    await _close(store)


async def test_a_full_disk_fails_the_whole_commit_and_loses_nothing_before_it(path: Path) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "before"))
    pages = await store.write(lambda tx: tx.all("PRAGMA page_count")[0]["page_count"])
    await store.write(lambda tx: tx.all(f"PRAGMA max_page_count = {pages + 2}"))
    results = await asyncio.gather(
        *(store.write(lambda tx, n=n: _note(tx, f"{n}", "x" * 40_000)) for n in range(3)),  # type: ignore[misc]
        return_exceptions=True,
    )
    assert all(isinstance(result, StoreError) and "no room left" in result.message for result in results)
    assert await store.read(_names) == ["before"]
    await store.write(lambda tx: tx.all("PRAGMA max_page_count = 1000000"))
    await store.write(lambda tx: _note(tx, "after"))
    assert await store.read(_names) == ["after", "before"]
    await _close(store)


def _refused(path: Path) -> str:
    """The message with which opening the file fails; the file must be unchanged."""
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        open_store(path, SystemClock())
    assert path.read_bytes() == before
    return caught.value.message


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_bytes(b"these are my notes, not a database" * 100)
    assert "damaged" in _refused(path)


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE recipes (name TEXT)")
    raw.commit()
    raw.close()
    assert "another program" in _refused(path)


async def test_a_newer_database_than_the_program_is_left_alone(path: Path) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: tx.run("INSERT INTO schema_version (version, applied_at) VALUES (999, 1)"))
    await _close(store)
    assert "newer clew (schema 999" in _refused(path)


async def test_a_damaged_file_is_left_alone(path: Path) -> None:
    store = open_store(path, SystemClock())
    await _close(store)
    content = bytearray(path.read_bytes())
    content[100:4000] = os.urandom(3900)
    path.write_bytes(content)
    assert "damaged" in _refused(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        open_store(tmp_path / "no" / "such" / "clew.db", SystemClock())


def test_migrations_are_numbered_without_a_gap() -> None:
    """A database stores only its newest version, so a migration that fills a gap later would never run."""
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


async def test_a_migration_copies_the_file_first_and_runs_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    await _close(store)
    newest = migrations()[-1][0]
    sql = path.with_name("more.sql")
    sql.write_text("CREATE TABLE more (name TEXT); INSERT INTO more (name) VALUES ('once');")
    more = [*migrations(), (newest + 1, sql)]
    monkeypatch.setattr(migrate, "migrations", lambda: more)
    for _ in range(2):
        store = open_store(path, SystemClock())
        assert await store.read(lambda tx: len(tx.all("SELECT name FROM more"))) == 1
        assert await store.read(_names) == ["a"]
        await _close(store)
    copy = path.with_name(f"clew.db.before-{newest + 1:04}")
    assert sqlite3.connect(copy).execute("SELECT max(version) FROM schema_version").fetchone() == (newest,)


async def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    await _close(store)
    sql = path.with_name("broken.sql")
    sql.write_text("CREATE TABLE more (name TEXT); INSERT INTO nowhere VALUES (1);")
    broken = [*migrations(), (999, sql)]
    monkeypatch.setattr(migrate, "migrations", lambda: broken)
    with pytest.raises(StoreError):
        open_store(path, SystemClock())
    monkeypatch.undo()
    store = open_store(path, SystemClock())
    assert await store.read(_names) == ["a"]
    await _close(store)


async def test_a_reader_sees_one_snapshot_while_the_writer_continues(path: Path) -> None:
    store = open_store(path, SystemClock())
    began, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slowly(tx: Tx) -> tuple[int, int]:
        first = len(_names(tx))
        loop.call_soon_threadsafe(began.set)
        go_on.wait(60)
        return first, len(_names(tx))

    reading = asyncio.create_task(store.read(slowly))
    await began.wait()
    await store.write(lambda tx: _note(tx, "meanwhile"))
    go_on.set()
    assert await reading == (0, 0) and await store.read(_names) == ["meanwhile"]
    await _close(store)


async def test_a_read_cannot_write(path: Path) -> None:
    store = open_store(path, SystemClock())
    with pytest.raises(StoreError):
        await store.read(lambda tx: _note(tx, "a"))
    await _close(store)


async def test_a_cancelled_caller_does_not_stop_its_commit(path: Path) -> None:
    store = open_store(path, SystemClock())
    heard: list[Entry] = []
    store.listen(heard.extend)
    writing = asyncio.create_task(store.write(lambda tx: tx.log("thread", None, 1, SessionReleased())))
    await asyncio.sleep(0)
    writing.cancel()
    await store.write(lambda tx: None)
    assert [entry.kind for entry in heard] == [EventKind.THREAD_RELEASED]
    await _close(store)


def test_the_writer_is_durable(path: Path) -> None:
    """An fsync at every commit: 2 is FULL."""
    open_store(path, SystemClock()).close()
    writer = WriterThread(path)
    assert writer._connection.all("PRAGMA synchronous", ()) == [{"synchronous": 2}]
    assert writer._connection.all("PRAGMA journal_mode", ()) == [{"journal_mode": "wal"}]
    writer.close()


async def test_a_removed_file_stays_readable_and_is_not_replaced_by_an_empty_one(path: Path) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    path.unlink()
    assert await asyncio.gather(*(store.read(_names) for _ in range(8))) == [["a"]] * 8
    assert not path.exists()
    await _close(store)


async def test_a_file_that_cannot_be_inspected_is_neither_gone_nor_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(path, SystemClock())

    def fails(self: Path, **more: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", fails)
        for try_it in (store.read(_names), store.write(lambda tx: _note(tx, "a"))):
            with pytest.raises(StoreError, match="cannot be inspected: Input/output error"):
                await try_it
    await store.write(lambda tx: _note(tx, "b"))
    assert await store.read(_names) == ["b"]
    await _close(store)


@pytest.mark.parametrize("first", ["a read", "a write"])
async def test_a_replaced_file_is_saved_and_writes_are_refused(path: Path, first: str) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    await _close(open_store(path.with_name("other.db"), SystemClock()))
    path.with_name("other.db").rename(path)
    other = path.read_bytes()
    for _ in range(2):
        with pytest.raises(
            StoreError, match=r"was replaced while clew was running. Its old content is saved in .*clew.db.kept-1"
        ):
            await (store.read(_names) if first == "a read" else store.write(lambda tx: _note(tx, "b")))
    await _close(store)
    assert path.read_bytes() == other and not path.with_name("clew.db.kept-2").exists()
    for name, names in (("clew.db", []), ("clew.db.kept-1", ["a"])):
        again = open_store(path.with_name(name), SystemClock())
        assert await again.read(_names) == names
        await _close(again)


async def test_the_log_of_a_removed_file_is_not_read_into_a_new_one(path: Path) -> None:
    store = open_store(path, SystemClock())
    await store.write(lambda tx: _note(tx, "a"))
    wal = path.with_name("clew.db-wal").read_bytes()
    await _close(store)
    path.unlink()
    path.with_name("clew.db-wal").write_bytes(wal)
    store = open_store(path, SystemClock())
    assert await store.read(_names) == []
    assert path.with_name("clew.db-wal.left").read_bytes() == wal
    await _close(store)


async def test_what_is_logged_is_numbered_at_the_end_of_the_body(path: Path) -> None:
    """So a body that logs early holds no number while it works, and nobody waits for it."""
    store = open_store(path, SystemClock())
    heard: list[tuple[int, str]] = []
    store.listen(lambda entries: heard.extend((entry.seq, entry.kind) for entry in entries))

    def body(tx: Tx) -> int:
        tx.log("T", None, 1, StopAsked())
        tx.log("T", None, 2, SessionReleased())
        return len(tx.all("SELECT seq FROM log"))

    assert await store.write(body) == 0
    assert [kind for _, kind in heard] == ["turn.stop_asked", "thread.released"] and heard[0][0] + 1 == heard[1][0]
    await _close(store)


async def test_actions_run_after_the_commit_and_before_listeners_and_only_then(path: Path) -> None:
    store = open_store(path, SystemClock())
    order: list[str] = []
    store.listen(lambda entries: order.append("listener"))

    def body(tx: Tx) -> None:
        tx.after(lambda: 1 // 0)
        tx.after(lambda: order.append("action"))
        tx.log("T", None, 1, SessionReleased())
        order.append("body")

    def fails(tx: Tx) -> None:
        tx.after(lambda: order.append("never"))
        raise ZeroDivisionError

    await store.write(body)
    with pytest.raises(ZeroDivisionError):
        await store.write(fails)
    assert order == ["body", "action", "listener"]
    await _close(store)


async def test_fates_are_counted_in_several_rows_and_added_to_what_was_counted(path: Path) -> None:
    store = open_store(path, SystemClock())
    inbound = [Inbound(Conversation("room", "a"), f"m{number}", "ann", "hi") for number in range(100)]

    def body(tx: Tx) -> None:
        tx.run("INSERT INTO counters (name, value) VALUES ('fate.turn', 5)")  # as an earlier version counted
        for each in inbound:
            inbox.record(tx, each, inbox.Arrival(Fate.TURN, None, None, ""), 1)

    await store.write(body)
    assert (await store.read(inbox.fates))["turn"] == 105
    rows = await store.read(lambda tx: tx.all("SELECT value FROM counters WHERE name LIKE 'fate.turn.%'"))
    assert len(rows) > 8 and max(row["value"] for row in rows) < 30
    await _close(store)
