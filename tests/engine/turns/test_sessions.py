"""Sessions by thread, runtime and role: how they begin, and how far they have seen the thread."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.engine.turns.queueing import queue_turn
from clew.model.messages import PromptMessage
from clew.model.threads import SessionBegan, SessionKey
from clew.model.turns import Origin
from clew.model.views import TurnView
from clew.store.tables import continuity, threads, turns
from clew.store.tables.continuity import RuntimeLink
from clew.support.clock import SystemClock
from clew.testing.scripted_runtime import FileLedger, MemoryLedger, ScriptedRuntime
from clew.testing.scripted_runtime.session import ScriptedSession
from tests.helpers.rig import Rig

FRESH, REBUILT, RESUMED = SessionBegan.FRESH, SessionBegan.REBUILT, SessionBegan.RESUMED


def two_runtimes(folder: Path) -> Rig:
    """A daemon with a second runtime, which keeps its own record."""
    return Rig(folder, more={"other": ScriptedRuntime(SystemClock(), FileLedger(folder / "other"))})


async def run_on(rig: Rig, thread: str | None, text: str, runtime: str, role: str = "") -> TurnView:
    """Run a turn of the thread in another session than its main one."""
    session, said = SessionKey(thread or "", runtime, role), PromptMessage(rig.clock.ulid(), "ann", text)
    turn = await rig.store.write(lambda tx: queue_turn(tx, rig.clock, session, Origin.MESSAGE, (said,), None))
    return await rig.ended(turn.id)


async def links(rig: Rig, thread: str | None) -> dict[tuple[str, str], RuntimeLink]:
    found = await rig.store.read(lambda tx: continuity.links(tx, thread or ""))
    return {(link.runtime, link.role): link for link in found}


async def head(rig: Rig, thread: str | None) -> str | None:
    return await rig.store.read(lambda tx: threads.head(tx, thread or ""))


async def test_two_runtimes_in_one_thread_keep_separate_continuity(tmp_path: Path) -> None:
    async with two_runtimes(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        before = (await links(rig, first.thread))["scripted", ""]
        second = await run_on(rig, first.thread, "!text two", "other")
        third = await run_on(rig, first.thread, "!text three", "scripted", "critic")
        after = await links(rig, first.thread)
    assert (second.runtime, second.role, second.text) == ("other", "", "two")
    assert (third.runtime, third.role, third.text) == ("scripted", "critic", "three")
    assert list(after) == [("other", ""), ("scripted", ""), ("scripted", "critic")]
    assert after["scripted", ""] == before
    assert after["scripted", "critic"].reference != before.reference


async def test_a_turn_sets_how_far_its_runtime_has_seen_the_thread(tmp_path: Path) -> None:
    async with two_runtimes(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        one = await head(rig, first.thread)
        await run_on(rig, first.thread, "!text two", "other")
        two = await head(rig, first.thread)
        seen = {runtime: link.seen for (runtime, _), link in (await links(rig, first.thread)).items()}
        row = await rig.store.read(lambda tx: turns.get(tx, first.turn or ""))
    assert row is not None and one == row.node and one != two
    assert seen == {"scripted": one, "other": two}


async def test_a_turn_that_its_runtime_never_got_is_not_seen(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        seen = await head(rig, first.thread)
        failed = await run_on(rig, first.thread, "!text two", "nobody")
        found = await links(rig, first.thread)
    assert failed.state == "failed" and "there is no runtime named 'nobody'" in (failed.error or "")
    assert (found["scripted", ""].seen, found["nobody", ""].seen, found["nobody", ""].began) == (seen, None, None)


async def test_a_session_is_fresh_in_a_new_thread_and_resumed_by_the_next_daemon(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        begun = (await links(rig, first.thread))["scripted", ""]
    async with Rig(tmp_path) as rig:
        again = await rig.ended((await rig.say("!recall")).turn)
        resumed = (await links(rig, first.thread))["scripted", ""]
        assert resumed.seen == await head(rig, first.thread)
    assert "I know 2 messages" in again.text
    assert (begun.began, begun.status, begun.restarts) == (FRESH, "cold", 0)
    assert (resumed.began, resumed.status, resumed.restarts) == (RESUMED, "resumed", 1)


async def test_a_session_of_a_thread_with_a_past_is_rebuilt_then_resumed(tmp_path: Path) -> None:
    async with two_runtimes(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        joined = await run_on(rig, first.thread, "!recall", "other")
        rebuilt = (await links(rig, first.thread))["other", ""]
    async with two_runtimes(tmp_path) as rig:
        again = await run_on(rig, first.thread, "!recall", "other")
        resumed = (await links(rig, first.thread))["other", ""]
    assert joined.text == "I know 2 messages. The first: !text one" and rebuilt.began is REBUILT
    assert again.text == "I know 3 messages. The first: !text one" and resumed.began is RESUMED


async def test_a_session_that_was_lost_has_seen_nothing_until_its_next_turn_ends(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
    lost = ScriptedRuntime(SystemClock(), MemoryLedger())
    async with Rig(tmp_path, runtime=lost) as rig:
        held = await rig.say("!hold here\n!text two")
        async with asyncio.timeout(60):
            await lost.holds.held("here")
        during = (await links(rig, first.thread))["scripted", ""]
        lost.holds.release("here")
        await rig.ended(held.turn)
        after = (await links(rig, first.thread))["scripted", ""]
        newest = await head(rig, first.thread)
    assert (during.began, during.seen) == (REBUILT, None)
    assert (after.began, after.seen) == (REBUILT, newest)


async def test_a_fork_takes_every_session_along_up_to_its_turn(tmp_path: Path) -> None:
    async with two_runtimes(tmp_path) as rig:
        first = await rig.say("!text one")
        await rig.ended(first.turn)
        one = await head(rig, first.thread)
        other = await run_on(rig, first.thread, "!text two", "other")
        two = await head(rig, first.thread)
        whole = (await rig.engine.threads.fork(first.thread or "", None, None)).id
        part = (await rig.engine.threads.fork(first.thread or "", first.turn, None)).id
        seen = {key: link.seen for key, link in (await links(rig, whole)).items()}
        assert seen == {("other", ""): two, ("scripted", ""): one}
        assert list(await links(rig, part)) == [("scripted", "")]
        told = await run_on(rig, whole, "!recall", "other")
        forked = (await links(rig, whole))["other", ""]
    assert other.state == "completed" and told.text == "I know 3 messages. The first: !text one"
    assert forked.began is RESUMED


async def test_a_session_of_an_older_plugin_is_taken_at_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ScriptedSession, "began")
    for expected in (FRESH, RESUMED):
        async with Rig(tmp_path) as rig:
            accepted = await rig.say("!text hello")
            assert (await rig.ended(accepted.turn)).state == "completed"
            assert (await links(rig, accepted.thread))["scripted", ""].began is expected
