"""`clew verify` ends on any chain of nodes, and finds a head that was set back. A thread whose status nobody knows is
listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model import history
from clew.model.gate_views import Verdict
from clew.model.threads import ThreadFilter
from clew.store import Tx
from clew.store.tables import threads
from clew.support.coded import Text, coded_of
from clew.texts.catalogue import restore
from tests.helpers.rig import Rig


async def verdict_of(rig: Rig, thread: str) -> Verdict:
    [verdict] = [each async for each in rig.engine.threads.verify(thread)]
    return verdict


def code_of(verdict: Verdict) -> str:
    reason = restore(verdict.texts["reason"], verdict.reason or "")
    assert isinstance(reason, Text) and coded_of(reason) is not None
    return reason.coded.code


async def spoken(rig: Rig, *texts: str) -> str:
    """A thread with these answers."""
    for text in texts:
        accepted = await rig.say(f"!text {text}")
        await rig.ended(accepted.turn)
    return accepted.thread or ""


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_verify_ends_on_a_chain_that_leads_back_to_itself(tmp_path: Path, length: int) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one", "two")

        def close(tx: Tx) -> None:
            """The node that is `length` steps before the head names the head as its predecessor."""
            head = node = threads.head(tx, thread)
            for _ in range(length - 1):
                row = tx.one("SELECT prev FROM nodes WHERE hash = ?", node)
                node = row["prev"] if row else None
            tx.run("UPDATE nodes SET prev = ? WHERE hash = ?", head, node)

        await rig.store.write(close)
        verdict = await verdict_of(rig, thread)
    assert (verdict.sound, verdict.nodes, code_of(verdict)) == (False, length, "threads.history_loops")


async def test_verify_finds_a_head_that_was_set_back(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one")
        before = await rig.store.read(lambda tx: threads.head(tx, thread))
        await spoken(rig, "two")
        assert (await verdict_of(rig, thread)).sound
        await rig.store.write(lambda tx: tx.run("UPDATE threads SET head = ? WHERE id = ?", before, thread))
        verdict = await verdict_of(rig, thread)
    assert (verdict.sound, code_of(verdict)) == (False, "threads.head_set_back")


@pytest.mark.parametrize(("kind", "content"), [("dream", "{}"), ("outcome", '{"turn": 1}')])
async def test_verify_says_in_clews_words_that_a_node_cannot_be_read(tmp_path: Path, kind: str, content: str) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one")

        def damage(tx: Tx) -> None:
            head = threads.head(tx, thread)
            sound = history.digest(kind, content, head)
            tx.run("INSERT INTO nodes (hash, type, prev, content) VALUES (?, ?, ?, ?)", sound, kind, head, content)
            tx.run("UPDATE threads SET head = ? WHERE id = ?", sound, thread)

        await rig.store.write(damage)
        verdict = await verdict_of(rig, thread)
    assert (verdict.sound, code_of(verdict)) == (False, "threads.node_unreadable")


async def test_a_fork_is_sound_although_its_source_went_on(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one")
        fork = await rig.engine.threads.fork(thread, None, None)
        await spoken(rig, "two")
        assert (await verdict_of(rig, thread)).sound and (await verdict_of(rig, fork.id)).sound


@pytest.mark.parametrize("status", ["lost", "", "Idle"])
async def test_a_thread_of_unknown_status_is_listed_as_damaged(tmp_path: Path, status: str) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one")
        await rig.store.write(lambda tx: tx.run("UPDATE threads SET status = ?", status))
        pages = [await rig.engine.threads.page(ThreadFilter(history=history)) for history in (False, True)]
        shown = await rig.engine.threads.get(thread)
    assert [[(view.id, view.status) for view in page.threads] for page in pages] == [[(thread, "damaged")], []]
    assert shown.status == "damaged" and "clew repair" in shown.title


async def test_a_damaged_answer_does_not_hide_the_threads(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await spoken(rig, "one")
        damage = "UPDATE deliveries SET body = x'00ff', error = x'00ff', sent_at = 'then'"
        await rig.store.write(lambda tx: tx.run(damage))
        await rig.store.write(lambda tx: tx.run("UPDATE turns SET node = x'00ff', problem_message = x'00ff'"))
        page = await rig.engine.threads.page(ThreadFilter())
    assert [view.id for view in page.threads] == [thread]
