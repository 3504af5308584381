"""Adopting, without a vendor: the real engine, and a runtime whose sessions other programs use too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import Config, ThreadsConfig
from clew.engine.threads.adoption import Wanted
from clew.model.events import Activity, ActivityKind, Phase, TextDone, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.runtime import Seat, Session
from clew.model.shared_sessions import OutsideSession, PastTurn
from clew.model.threads import Continuity, ThreadSettings
from clew.model.turns import Problem, TurnState
from clew.store import audit
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, NotFound, Refused, RuntimeHeld
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.clocks import IdleClock
from tests.helpers.rig import TIMEOUT, Rig

AT = 1_763_258_400_000


class Shared(ScriptedRuntime):
    """The scripted runtime, with a program beside it that uses the same sessions."""

    name = "shared"

    def __init__(self, folder: Path) -> None:
        super().__init__(SystemClock(), FileLedger(folder / "shared"))
        self.can = replace(self.can, adopt=True)
        self.sessions: list[OutsideSession] = []
        self.done: dict[str, list[PastTurn]] = {}
        self.used_by: dict[str, str] = {}
        self.seats: list[Seat] = []
        self.is_guarded = False  # refuses as a runtime does where nothing can be seen from outside

    def begin(self, id: str, *texts: str, folder: str, title: str = "") -> None:
        at = AT + len(self.sessions)
        self.sessions.insert(0, OutsideSession(id, Continuity(id), title or texts[0], folder, "cli", at, at))
        self.done[id] = [past(f"{id}-{number}", text) for number, text in enumerate(texts)]

    async def outside(self, folders: Sequence[str] = ()) -> AsyncIterator[OutsideSession]:
        for each in self.sessions:
            if not folders or each.workspace in folders:
                yield each

    async def past(self, continuity: Continuity, after: str | None = None) -> list[PastTurn]:
        names = [each.runtime_turn for each in self.done[continuity.data]]
        return self.done[continuity.data][names.index(after) + 1 if after in names else 0 :]

    async def holders(self, sessions: Collection[Continuity]) -> Mapping[Continuity, str]:
        return (
            {} if self.is_guarded else {each: self.used_by[each.data] for each in sessions if each.data in self.used_by}
        )

    def way_back(self, continuity: Continuity) -> str:
        return f"shared resume {continuity.data}"

    async def open(self, seat: Seat) -> Session:
        if seat.continuity is not None and seat.continuity.data in self.used_by:
            raise RuntimeHeld("held")
        self.seats.append(seat)
        return await super().open(seat)


def past(name: str, text: str, *, ended: bool = True) -> PastTurn:
    events = (
        Activity(f"{name}-a", ActivityKind.COMMAND, Phase.DONE, "ls", "a\n"),
        TextDone(f"{name}-t", f"re: {text}"),
    )
    end = TurnEnded(TurnState.COMPLETED if ended else TurnState.INTERRUPTED, f"re: {text}", messages=frozenset({name}))
    return PastTurn(name, (PromptMessage(name, "you", text),), events, end, AT, AT + 5 if ended else None)


class Place:
    def __init__(self, rig: Rig, shared: Shared, folder: Path) -> None:
        self.rig, self.shared, self.folder = rig, shared, str(folder)

    async def adopt(self, session: str, **more: object) -> str:
        return await self.rig.engine.adoption.adopt(Wanted(session, "shared", **more))  # type: ignore[arg-type]

    async def told(self, thread: str) -> list[str]:
        passages = await self.rig.engine.threads.transcript(thread, 100)
        return [f"{'outside ' if passage.outside else ''}{passage.role}: {passage.text}" for passage in passages]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    shared = Shared(tmp_path)
    async with Rig(tmp_path, more={"shared": shared}) as rig:
        yield Place(rig, shared, tmp_path)


async def test_sessions_are_listed_by_folder_without_adopted_ones(place: Place) -> None:
    place.shared.begin("aa-1", "old", folder=place.folder)
    place.shared.begin("bb-2", "new", folder="/elsewhere")
    place.shared.used_by["bb-2"] = "shared, pid 7"
    every = await place.rig.engine.adoption.adoptable("shared", None, 10)
    assert [(each.id, each.title, each.in_use) for each in every] == [
        ("bb-2", "new", "shared, pid 7"),
        ("aa-1", "old", None),
    ]
    assert len(await place.rig.engine.adoption.adoptable(None, None, 1)) == 1
    assert await place.rig.engine.adoption.adoptable(None, "no\0folder", 10) == []
    await place.adopt("aa-1")
    assert await place.rig.engine.adoption.adoptable("shared", place.folder, 10) == []


async def test_imported_history_becomes_marked_turns_with_roles(place: Place) -> None:
    place.shared.begin("aa", "one\x1b[2J", "two", folder=place.folder)
    failed = TurnEnded(TurnState.FAILED, problem=Problem("x", "no luck"))
    steered = replace(
        past("aa-2", "three"),
        end=failed,
        said=(PromptMessage("m", "you", "three"), PromptMessage("n", "you", "and four")),
    )
    place.shared.done["aa"].append(steered)
    thread = await place.adopt("aa")
    assert await place.told(thread) == [
        "clew: (taken over from the shared session aa)",
        "outside person: one\x1b[2J",
        "outside agent: re: one\x1b[2J",
        "outside person: two",
        "outside agent: re: two",
        "outside person: three",
        "outside person: and four",
        "outside agent: no luck",
    ]
    view = await place.rig.engine.threads.get(thread)
    assert (view.adopted, view.workspace, view.status) == ("aa", place.folder, "idle")
    turn = await place.rig.engine.threads.turn(view.turn or "")
    assert (turn.origin, turn.state, turn.error, turn.request) == ("outside", "failed", "no luck", "three\n\nand four")
    assert turn.started_at == AT and turn.items[0].title == "ls"
    assert [verdict.sound async for verdict in place.rig.engine.threads.verify(thread)] == [True]
    assert await place.rig.store.read(audit.ended_without_delivery) == []
    fork = await place.rig.engine.threads.fork(thread, None, None)
    assert len(await place.told(fork.id)) == len(await place.told(thread)) + 1


async def test_what_cannot_be_adopted_is_refused_with_a_reason(place: Place, tmp_path: Path) -> None:
    adopting = place.rig.engine.adoption
    gone = tmp_path / "gone"
    place.shared.begin("aa-1", "one", folder=str(gone))
    place.shared.begin("aa-2", "two", folder=place.folder)
    with pytest.raises(NotFound, match="no shared session zz; `clew adopt --all`"):
        await place.adopt("zz")
    with pytest.raises(Refused, match="aa- could be aa-2 or aa-1"):
        await place.adopt("aa-")
    with pytest.raises(Refused, match="is not there any more"):
        await place.adopt("aa-1")
    thread = await place.adopt("AA-1", workspace=place.folder)
    assert (await place.rig.engine.threads.get(thread)).workspace == place.folder
    with pytest.raises(Refused, match=f"is thread {thread} already; `clew chat {thread}`"):
        await place.adopt("aa-1")
    with pytest.raises(Refused, match=r"sessions of scripted cannot be taken over.*these can: shared"):
        await adopting.adoptable("scripted", None, 10)
    with pytest.raises(BadInput, match="no runtime named 'other'"):
        await adopting.adopt(Wanted("x", "other"))
    own = await place.rig.start("!text hello")
    with pytest.raises(Refused, match="was begun in clew"):
        await adopting.release(own.thread or "")


async def test_without_a_runtime_that_shares_sessions_adoption_is_refused(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        with pytest.raises(Refused, match="No runtime here"):
            await rig.engine.adoption.adoptable(None, None, 10)


@pytest.mark.parametrize("is_guarded", [False, True], ids=["seen", "refused by the runtime"])
async def test_a_session_in_use_is_not_adopted_but_can_be_forked(place: Place, is_guarded: bool) -> None:
    place.shared.begin("aa", "one", folder=place.folder)
    place.shared.done["aa"].append(past("aa-1", "still at it", ended=False))
    place.shared.used_by["aa"] = "shared, pid 7"
    place.shared.is_guarded = is_guarded
    with pytest.raises(Refused, match=r"open in another program.*`clew adopt aa --fork`"):
        await place.adopt("aa")
    copy = await place.adopt("aa", fork=True)
    assert await place.told(copy) == [
        "clew: (taken over from the shared session aa)",
        "outside person: one",
        "outside agent: re: one",
    ]
    assert (await place.rig.engine.threads.get(copy)).adopted is None, "it is clew's own"
    await place.rig.ended((await place.rig.send(copy, "!text two")).turn)
    (seat,) = place.shared.seats
    assert seat.fork is not None and (seat.fork.continuity.data, seat.fork.runtime_turn) == ("aa", "aa-0")
    assert not seat.lent


async def test_of_two_concurrent_adoptions_one_succeeds(place: Place) -> None:
    place.shared.begin("aa", "one", folder=place.folder)
    both = await asyncio.gather(place.adopt("aa"), place.adopt("aa"), return_exceptions=True)
    (thread,) = [each for each in both if isinstance(each, str)]
    (refused,) = [each for each in both if isinstance(each, Refused)]
    assert thread in refused.message


async def test_turns_run_outside_precede_the_next_request_in_history(place: Place) -> None:
    place.shared.begin("aa", "one", folder=place.folder)
    thread = await place.adopt("aa")
    await place.rig.ended((await place.rig.send(thread, "!text between")).turn)
    await place.rig.engine.adoption.release(thread)
    place.shared.done["aa"] += [past("aa-1", "two"), past("aa-2", "cut off there", ended=False)]
    await place.rig.engine.threads.refresh(thread)
    assert (await place.told(thread))[-1] == "outside agent: re: two", "what may still run is left for later"
    await place.rig.ended((await place.rig.send(thread, "!text four")).turn)
    assert (await place.told(thread))[-4:] == [
        "outside person: cut off there",
        "outside agent: re: cut off there",
        "person: !text four",
        "agent: four",
    ]
    assert place.shared.seats[-1].lent
    await place.rig.engine.adoption.release(thread)
    await place.rig.engine.threads.refresh(thread)
    assert len([line for line in await place.told(thread) if "outside" in line]) == 6, "twice is once"


async def test_a_turn_fails_with_a_reason_if_another_program_has_the_session(place: Place) -> None:
    place.shared.begin("aa", "one", folder=place.folder)
    thread = await place.adopt("aa")
    place.shared.used_by["aa"] = "shared, pid 7"
    failed = await place.rig.ended((await place.rig.send(thread, "!text two")).turn)
    assert failed.state == "failed" and "(shared, pid 7)" in (failed.error or "")
    del place.shared.used_by["aa"]
    again = await place.rig.ended((await place.rig.send(thread, "!text two")).turn)
    assert again.state == "completed"


async def test_the_next_daemon_knows_adopted_sessions(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    shared.begin("aa", "one", folder=str(tmp_path))
    async with Rig(tmp_path, more={"shared": shared}) as rig:
        thread = await rig.engine.adoption.adopt(Wanted("aa"))
    async with Rig(tmp_path, more={"shared": shared}) as rig:
        shared.done["aa"].append(past("aa-1", "two"))
        await rig.ended((await rig.send(thread, "!text three")).turn)
        assert "re: two" in [passage.text for passage in await rig.engine.threads.transcript(thread, 10)]
        released = await rig.engine.adoption.release(thread)
        assert (released.thread, released.command) == (thread, "shared resume aa")
        assert "thread.released" in rig.kinds(thread)


async def test_a_restart_waits_for_a_turn_on_a_shared_session(place: Place) -> None:
    place.shared.can = replace(place.shared.can, outlives=True)
    place.shared.begin("aa", "one", folder=place.folder)
    turn = (await place.rig.send(await place.adopt("aa"), "!hold door\n!text two")).turn
    await place.shared.holds.held("door")
    settling = asyncio.create_task(place.rig.engine.drain(TIMEOUT, restart=True))
    await asyncio.wait([settling], timeout=0.05)
    assert not settling.done()
    place.shared.holds.release("door")
    assert (await place.rig.ended(turn)).text == "two"
    await settling


async def test_a_shared_session_is_opened_once_per_turn_and_then_released(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    shared.begin("aa", "one", folder=str(tmp_path))
    clock = IdleClock(1234.5)
    config = Config(threads=ThreadsConfig(runtime="scripted", release_after=clock.idle))
    async with Rig(tmp_path, more={"shared": shared}, config=config, clock=clock) as rig:
        thread = await rig.engine.adoption.adopt(Wanted("aa"))
        await rig.ended((await rig.send(thread, "!text two")).turn)
        clock.passed.set()
        await rig.saw("thread.released", thread)
        assert len(shared.seats) == 2, "once to adopt it, once for the turn"


async def test_a_session_that_other_programs_use_cannot_be_switched_but_its_fork_can(place: Place) -> None:
    place.shared.begin("aa", "one", folder=place.folder)
    thread = await place.adopt("aa")
    threads = place.rig.engine.threads
    with pytest.raises(Refused, match="Fork it"):
        await threads.change(thread, None, ThreadSettings(runtime="scripted"))
    fork = (await threads.fork(thread, None, None)).id
    assert (await threads.change(fork, None, ThreadSettings(runtime="scripted"))).runtime == "scripted"
