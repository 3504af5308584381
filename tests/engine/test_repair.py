"""`clew repair` sets aside what cannot be read, and loses neither history nor what was promised to people."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.messages import Fate
from clew.store import Row, Tx
from clew.store.damage import PAGE, pages
from tests.helpers.rig import Rig

QUEUED = (
    "INSERT INTO turns (id, thread, seq, state, origin, request, surface, address, queued_at, runtime)"
    " SELECT '01BAD', id, 9999, 'queued', 'message', '[{{', {}, {}, 1, runtime FROM threads"
)


async def damage(rig: Rig, sql: str) -> None:
    await rig.store.write(lambda tx: tx.run(sql))


async def rows(rig: Rig, sql: str) -> list[Row]:
    return await rig.store.read(lambda tx: tx.all(sql))


async def test_history_stays_whole_behind_a_damaged_node(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        second = await rig.say("!text 二")
        await rig.ended(second.turn)
        before = await rows(rig, "SELECT hash, prev FROM nodes ORDER BY hash")
        await damage(rig, "UPDATE nodes SET content = '{' WHERE hash = (SELECT head FROM threads)")
        [found] = await rig.engine.repair.find()
        assert (found.table, found.stays) == ("nodes", "history")
        assert await rig.engine.repair.apply() == []
        assert await rows(rig, "SELECT hash, prev FROM nodes ORDER BY hash") == before


@pytest.mark.parametrize("bad", ["received_at = 'then'", "sender = x'00ff'", "thread = CAST(x'ff00fe' AS TEXT)"])
async def test_a_message_whose_row_was_set_aside_never_runs_again(tmp_path: Path, bad: str) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one", id="m1")
        await rig.ended(first.turn)
        await damage(rig, f"UPDATE inbox SET {bad}")
        [done] = await rig.engine.repair.apply()
        assert done.table == "inbox" and await rig.engine.repair.find() == []
        again = await rig.say("!text one", id="m1")
        assert (again.fate, again.turn) == (Fate.REFUSED, None) and "accepted before" in again.words
        assert rig.kinds().count("turn.started") == 1


async def test_whoever_sent_a_message_that_is_set_aside_is_told(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        await damage(rig, QUEUED.format("'room'", "'a'"))
        [done] = await rig.engine.repair.apply()
        assert (done.key, done.message, done.conversation) == ("01BAD", "told", "room:a")
        await rig.delivered("01BAD:lost")
        assert "send it again" in rig.room.texts[-1]


async def test_a_damaged_thread_does_not_take_the_notice_with_it(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        await damage(rig, QUEUED.format("'room'", "'a'"))
        await damage(rig, "UPDATE threads SET title = x'00ff'")
        done = {each.table: each for each in await rig.engine.repair.apply()}
        assert done["turns"].message == "told"
        await rig.delivered("01BAD:lost")


@pytest.mark.parametrize(("surface", "where"), [("x'00ff'", None), ("'cli'", "cli")])
async def test_a_message_of_nobody_who_can_be_told_is_named(tmp_path: Path, surface: str, where: str | None) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        await damage(rig, QUEUED.format(surface, "''"))
        [done] = await rig.engine.repair.apply()
        assert (done.message, done.conversation) == ("not_told", where)


@pytest.mark.parametrize(
    ("table", "bad"),
    [("threads", "status = 'archived'"), ("turns", "state = 'paused'"), ("inbox", "fate = 'poll'")],
)
async def test_what_a_newer_version_may_have_written_stays(tmp_path: Path, table: str, bad: str) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        await damage(rig, f"UPDATE {table} SET {bad}")
        assert [(each.table, each.stays) for each in await rig.engine.repair.find()] == [(table, "newer")]
        assert await rig.engine.repair.apply() == []
        assert len(await rows(rig, f"SELECT 1 FROM {table} WHERE {bad}")) == 1


async def test_a_row_with_an_unknown_word_and_other_damage_is_set_aside(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        await damage(rig, "UPDATE turns SET state = 'paused', request = '{'")
        assert [each.table for each in await rig.engine.repair.apply()] == ["turns"]


async def test_a_person_whose_row_was_set_aside_may_only_watch(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await damage(rig, "INSERT INTO people VALUES ('room', '7', 'Ann', 'watcher', 'then', 'me')")
        assert [each.table for each in await rig.engine.repair.apply()] == ["people"]
        [person] = await rig.engine.access.all()
        assert (person.id, person.role) == ("room:7", "watcher") and await rig.engine.repair.find() == []


async def test_every_page_of_a_large_table_is_checked(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)

        def fill(tx: Tx) -> None:
            for number in range(2 * PAGE + 1):
                tx.run("INSERT INTO bindings VALUES ('room', ?, 'x', 'then', 0)", f"{number:05}")

        await rig.store.write(fill)
        found = await rig.engine.repair.find()
        assert len({each.key for each in found}) == len(found) == 2 * PAGE + 1
        assert {page.table for page in pages(live=True)} < {page.table for page in pages(live=False)}
