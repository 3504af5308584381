"""Faults that need another clock or many people: the real engine with a real database."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine import core
from clew.engine.engine import Engine
from clew.model.messages import Conversation, Inbound
from clew.model.surface import Down, Outgoing, Receipt, TryAgain
from clew.store import Store, Tx, audit
from clew.store.migrate import migrate
from clew.store.sqlite.driver import Inline, SqliteConnection
from clew.store.tables import deliveries
from clew.support.clock import SystemClock
from clew.support.errors import StoreError
from clew.testing.scripted_runtime import MemoryLedger, ScriptedRuntime
from tests.helpers.rig import TIMEOUT, Rig, Room
from tests.simulation.clock import VirtualClock
from tests.simulation.loop import VirtualLoop

pytestmark = pytest.mark.process

HOUR = 3600
CROWD = 10_000


class WrongClock(SystemClock):
    behind = 0

    def now(self) -> int:
        return super().now() - self.behind


async def test_a_clock_set_back_by_an_hour_delays_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, put_off = WrongClock(), deliveries.postpone

    def then_set_back(*args: object, **more: object) -> None:
        put_off(*args, **more)  # type: ignore[arg-type]
        clock.behind = HOUR * 1000

    monkeypatch.setattr(deliveries, "postpone", then_set_back)
    async with Rig(tmp_path, room=Room(troubles=[TryAgain("busy", 0.1)]), clock=clock) as rig:
        for text in ("one", "two"):
            accepted = await rig.say(f"!text {text}")
            await rig.delivered(f"{accepted.turn}:final")
        assert rig.room.texts == ["one", "two"]


async def test_a_read_only_store_refuses_messages_and_an_end_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SQLite's own read-only error. test_faults_store covers a read-only file system."""
    put_off = asyncio.Event()
    monkeypatch.setattr(core._log, "error", lambda *words: put_off.set())
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!hold door\n!text kept")
        await rig.held("door")
        writer = rig.store._executor._connection.raw  # type: ignore[attr-defined]
        writer.execute("PRAGMA query_only = 1")
        rig.scripted.holds.release("door")
        await asyncio.wait_for(put_off.wait(), TIMEOUT)
        with pytest.raises(StoreError, match="cannot write"):
            await rig.say("!text late", id="m2")
        assert rig.room.texts == []
        writer.execute("PRAGMA query_only = 0")
        await rig.delivered(f"{accepted.turn}:final")
        late = await rig.say("!text late", id="m2")
        await rig.delivered(f"{late.turn}:final")
        assert rig.room.texts == ["kept", "late"]


async def test_ten_thousand_messages_at_once_are_each_taken_once(tmp_path: Path) -> None:
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


class Days:
    """Daemons in virtual time, one after the other with one database; each runs until it is killed or settles."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.connection = SqliteConnection(sqlite3.connect(":memory:", isolation_level=None))
        self._clock = VirtualClock(random.Random(1))
        self._store = migrate(self.connection, self._clock)
        self._ledger = MemoryLedger()

    def __enter__(self) -> Days:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.raw.close()

    def live(self, act: Callable[[Engine, VirtualLoop], Awaitable[None]], begin: float = 0.0) -> bool:
        """Run a daemon, and return whether it settled."""
        store, loop = Store(Inline(self.connection), self._store), VirtualLoop(begin, 1_000_000)

        async def main() -> None:
            engine = Engine(
                store=store,
                clock=self._clock,
                config=Config(threads=ThreadsConfig(runtime="scripted")),
                incarnation=f"begun at {begin}",
                runtimes={"scripted": ScriptedRuntime(self._clock, self._ledger)},
                surfaces={"room": self.room},
                workspace="/nowhere",
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(engine.run())
                await act(engine, loop)

        return loop.live(main(), store.close)


HEAVY = (pytest.mark.heavy, pytest.mark.timeout(1200))


@pytest.mark.parametrize("crowd", [1000, pytest.param(CROWD, marks=HEAVY)])
def test_thousands_of_waiting_messages_are_each_answered_once(crowd: int) -> None:
    """In a hundred rooms, each of which is asked what to do with its waiting messages."""
    said = [Inbound(Conversation("room", f"{n % 100}"), f"m{n}", "ann", f"!text {n}", queue=True) for n in range(crowd)]

    async def say_all_and_die(engine: Engine, loop: VirtualLoop) -> None:
        await asyncio.gather(*map(engine.inbox.accept, said))
        loop.doom()

    async def say_all_again(engine: Engine, loop: VirtualLoop) -> None:
        again = await asyncio.gather(*map(engine.inbox.accept, said))
        assert all(accepted.repeated for accepted in again)
        for n in range(100):
            await engine.inbox.accept(Inbound(Conversation("room", f"{n}"), f"word-{n}", "ann", "run all"))

    with Days(Room()) as days:
        assert not days.live(say_all_and_die)
        assert days.live(say_all_again, begin=HOUR)
        assert audit.unfinished(Tx(days.connection)) == []
    answers = Counter(sent.text for sent in days.room.sent if sent.kind == "final")
    assert answers == Counter(f"{n}" for n in range(crowd))


@dataclass
class Away(Room):
    """A surface that is unreachable for the first hour of the loop's time."""

    came: list[float] = field(default_factory=list)

    async def send(self, outgoing: Outgoing) -> Receipt:
        now = asyncio.get_running_loop().time()
        if now < HOUR:
            raise Down("nobody listens there")
        self.came.append(now)
        return await super().send(outgoing)


def test_a_receiver_down_for_an_hour_gets_every_answer_once() -> None:
    room = Away()

    async def say(engine: Engine, loop: VirtualLoop) -> None:
        for number in range(20):
            where = Conversation("room", f"{number % 5}")
            await engine.inbox.accept(Inbound(where, f"m{number}", "ann", f"!text {number}", queue=True))

    with Days(room) as days:
        assert days.live(say)
        rows = days.connection.all("SELECT attempts FROM deliveries", ())
    assert Counter(room.texts) == Counter(str(number) for number in range(20))
    assert max(room.came) <= HOUR + 60
    assert max(int(row["attempts"]) for row in rows) == 1, "a surface that is down costs no attempt"
