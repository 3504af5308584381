"""Faults that need another clock, or more people than one has: the real engine on a real database."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from clew.clock import SystemClock
from clew.config import Config, ThreadsConfig
from clew.engine import Engine
from clew.model import Conversation, Inbound
from clew.runtimes.scripted import MemoryLedger, ScriptedRuntime
from clew.simulation.clock import VirtualClock
from clew.simulation.loop import VirtualLoop
from clew.store import Store, audit, deliveries
from clew.store.migrate import migrate
from clew.store.sqlite import Inline, SqliteConnection
from clew.surfaces.base import Down, Outgoing, Receipt, TryAgain
from tests.rig import Rig, Room

HOUR = 3600
CROWD = 10_000


class WrongClock(SystemClock):
    behind = 0

    def now(self) -> int:
        return super().now() - self.behind


async def test_a_clock_that_is_set_back_by_an_hour_keeps_no_answer_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, put_off = WrongClock(), deliveries.later

    def then_set_back(*args: object, **more: object) -> None:
        put_off(*args, **more)  # type: ignore[arg-type]
        clock.behind = HOUR * 1000

    monkeypatch.setattr(deliveries, "later", then_set_back)
    async with Rig(tmp_path, room=Room(troubles=[TryAgain("busy", 0.1)]), clock=clock) as rig:
        for text in ("one", "two"):
            accepted = await rig.say(f"!text {text}")
            await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts == ["one", "two"]


async def test_ten_thousand_messages_at_once_are_each_taken_once_also_after_a_death(tmp_path: Path) -> None:
    said = [(f"m{number}", f"room-{number % 100}") for number in range(CROWD)]

    async def say_all(rig: Rig) -> Counter[bool]:
        taken = await asyncio.gather(*(rig.say("!text hi", id=id, room=room, queue=True) for id, room in said))
        return Counter(accepted.repeated for accepted in taken)

    async with Rig(tmp_path) as rig:
        assert await say_all(rig) == {False: CROWD}
    async with Rig(tmp_path) as rig:
        assert await say_all(rig) == {True: CROWD}
        fates = await rig.store.read(audit.all_fates)
        asked = await rig.store.read(audit.times_asked)
    assert len(fates) == CROWD and {fate for _, fate in fates} == {"turn"}
    assert asked == Counter(dict.fromkeys((id for id, _ in said), 1))


class Away(Room):
    """Out of reach for the first hour of the loop's time."""

    tries = 0

    async def send(self, outgoing: Outgoing) -> Receipt:
        self.tries += 1
        if asyncio.get_running_loop().time() < HOUR:
            raise Down("nobody listens there")
        return await super().send(outgoing)


def test_a_receiver_that_is_down_for_an_hour_gets_every_answer_once_within_a_minute_of_its_return() -> None:
    room, clock, loop = Away(), VirtualClock(random.Random(1)), VirtualLoop(0.0, 1_000_000)
    connection = SqliteConnection(sqlite3.connect(":memory:", isolation_level=None))
    store = Store(Inline(connection), migrate(connection, clock))

    async def live() -> None:
        engine = Engine(
            store=store,
            clock=clock,
            config=Config(threads=ThreadsConfig(runtime="scripted")),
            incarnation="one",
            runtimes={"scripted": ScriptedRuntime(clock, MemoryLedger())},
            surfaces={"room": room},
            workspace="/nowhere",
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            for number in range(20):
                where = Conversation("room", f"{number % 5}")
                await engine.say(Inbound(where, f"m{number}", "ann", f"!text {number}", queue=True))

    assert loop.live(live(), store.close)
    assert Counter(room.texts) == Counter(str(number) for number in range(20))
    assert HOUR <= clock.start < HOUR + 60 or loop.time() < HOUR + 120
    rows = connection.all("SELECT attempts FROM deliveries", ())
    assert max(int(row["attempts"]) for row in rows) == 1, "a surface that is down costs no attempt"
    connection.raw.close()
