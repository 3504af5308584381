"""Pruning of the event log by days and rows, and clients whose next events have been pruned."""

from __future__ import annotations

import asyncio
import dataclasses
from itertools import islice
from pathlib import Path

import pytest

from clew.cli.follow import follow_turn
from clew.cli.view.events import Piece, TextChunk
from clew.cli.view.gates import command_hints
from clew.client.api import Clew as Door
from clew.config.settings import Config, EventsConfig, ThreadsConfig
from clew.engine.services import pruning
from clew.engine.services.pruning import DAY
from clew.store.tables import log
from clew.support.clock import SystemClock
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.rig import Rig


def keeping(days: float = 0.0, rows: int = 0) -> Config:
    return dataclasses.replace(Config(threads=ThreadsConfig(runtime="scripted")), events=EventsConfig(days, rows))


class Later(SystemClock):
    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


async def numbers(rig: Rig) -> list[int]:
    return [entry.seq for entry in await rig.store.read(lambda tx: log.after(tx, 0, None, 10_000))]


async def gone_up_to(rig: Rig, seq: int) -> None:
    """Pruning writes nothing into the log, so check whenever somebody else has written."""
    while await rig.store.read(log.pruned) < seq:
        await rig.store.write(lambda tx: None)


async def test_only_the_newest_rows_are_kept_and_numbers_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "EVERY", 5)
    monkeypatch.setattr(pruning, "BATCH", 2)
    async with Rig(tmp_path, config=keeping(rows=10)) as rig:
        for number in range(5):
            await rig.ended((await rig.say(f"!text {number}")).turn)
        newest = (await numbers(rig))[-1]
        await gone_up_to(rig, newest - 15)
        kept = await numbers(rig)
        assert kept[-1] - kept[0] < 15 and kept == list(range(kept[0], kept[-1] + 1))


async def test_old_entries_are_pruned_at_the_next_start(tmp_path: Path) -> None:
    clock = Later()
    async with Rig(tmp_path, config=keeping(days=2.0)) as rig:
        await rig.delivered(f"{(await rig.say('!text one')).turn}:final")  # nothing is written after that
        before = await numbers(rig)
    clock.ahead = 3 * DAY
    async with Rig(tmp_path, config=keeping(days=2.0), clock=clock) as rig:
        await gone_up_to(rig, before[-1] - 1)
        assert (await numbers(rig))[0] == before[-1], "the newest stays, so that numbers only grow"
        assert (await rig.engine.threads.transcript((await rig.say("!text two")).thread or "", 10))[
            0
        ].text == "!text one"


async def test_by_default_recent_entries_are_kept(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.ended((await rig.say("!text one")).turn)
        assert await rig.store.read(lambda tx: log.too_old(tx, 0, pruning.ANY, 10)) == []
        assert (await numbers(rig))[0] == 1


async def test_a_snapshot_contains_threads_turns_and_gates(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        held = await rig.start("!hold here")
        asked = await rig.start("!approve make deploy")
        await rig.held("here")
        await rig.saw("gate.opened", asked.thread)
        everything = await rig.engine.threads.snapshot(None)
        one = await rig.engine.threads.snapshot(held.thread)
    assert {view.id for view in everything.threads} == {held.thread, asked.thread}
    assert {turn.id for turn in everything.turns} == {held.turn, asked.turn}
    assert [gate.turn for gate in everything.gates] == [asked.turn]
    assert [view.id for view in one.threads] == [held.thread] and one.gates == ()


@pytest.mark.process
def test_clients_with_pruned_events_can_continue(tmp_path: Path) -> None:
    """`watch`, `run` and the Python API: the events that they missed are gone, so they get a snapshot."""
    with Clew(tmp_path / "home", f"{SCRIPTED}[events]\nkeep_rows = 1\n") as clew:
        old = clew.json("start", "!text one")
        clew.wait_ended(old)
        clew("restart")
        hello = event = None
        while event is None or event.kind != "reset":  # the daemon has begun, and perhaps not pruned yet
            hello, event = islice(clew.events(old["thread"], after=0), 2)
        assert hello is not None and hello.kind == "hello"
        assert event.data["snapshot"]["threads"][0]["id"] == old["thread"]
        assert asyncio.run(waited(clew, old["turn"])) == "one"
        shown: list[Piece] = []
        client = Client(clew.home, start=False)
        turn, _ = follow_turn(
            client, old["thread"], old["turn"], shown.extend, how=command_hints, at_gate=lambda gates: False
        )
        assert turn.text == "one" and [piece.text for piece in shown if isinstance(piece, TextChunk)] == ["one"]


async def waited(clew: Clew, turn: str) -> str:
    async with Door(clew.root) as door:
        return (await door.wait(turn)).text
