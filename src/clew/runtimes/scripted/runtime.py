"""Playing a script, step by step, as events; every step is in the ledger before it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

from clew.asking import Answer
from clew.clock import Clock
from clew.errors import RuntimeLost, RuntimeTrouble
from clew.events import (
    Activity,
    ActivityKind,
    Event,
    Notice,
    NoticeKind,
    Outcome,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
    Usage,
)
from clew.model import Problem, Said, TurnState
from clew.model import Usage as Tokens
from clew.runtimes.base import (
    Continuity,
    Health,
    HealthState,
    RecordState,
    RuntimeCan,
    Seat,
    Session,
    TurnRecord,
    TurnRequest,
)
from clew.runtimes.scripted.holds import Holds
from clew.runtimes.scripted.ledger import Ledger, Played
from clew.scripted_model import script
from clew.scripted_model.script import Step

Script = Callable[[TurnRequest], tuple[Step, ...]]
Act = script.Shell | script.Patch | script.Plan | script.Think


def from_prompt(request: TurnRequest) -> tuple[Step, ...]:
    """The script that the messages carry; what clew itself adds to them is not part of it."""
    return script.parse("\n".join(said.text for said in request.messages if said.author != "clew"))


class ScriptedRuntime:
    name = "scripted"

    def __init__(
        self,
        clock: Clock,
        ledger: Ledger,
        *,
        holds: Holds | None = None,
        play: Script = from_prompt,
        outlives: bool = False,
        pace: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.clock = clock
        self.ledger = ledger
        self.holds = holds or Holds()
        self.play = play
        self.pace = pace  # seconds before each step
        self.can = RuntimeCan(
            steer=True, interrupt=True, record=True, fork=True, images=True, questions=False, outlives=outlives
        )
        self._lost = asyncio.Event()
        self._closed = False

    async def open(self, seat: Seat) -> Session:
        if self._closed:
            raise RuntimeTrouble("the scripted runtime is closed")
        if seat.continuity is not None:
            return ScriptedSession(self, seat.continuity.data, self._lost)
        name = f"scripted-{seat.thread}"
        if seat.fork is not None:
            self._copy(seat.fork.continuity.data, name, seat.fork.runtime_turn)
        return ScriptedSession(self, name, self._lost)

    async def health(self) -> Health:
        return Health(HealthState.STOPPED, "closed") if self._closed else Health(HealthState.HEALTHY)

    async def close(self) -> None:
        self._closed = True
        self.lose()

    def lose(self) -> None:
        """As if its process had died: whoever runs on it is told, and a new one is there at once."""
        self._lost.set()
        self._lost = asyncio.Event()

    def _copy(self, source: str, target: str, last: str | None) -> None:
        played = self.ledger.load(source)
        ids = [entry.turn for entry in played]
        self.ledger.save(target, played[: ids.index(last) + 1] if last in ids else played)


class ScriptedSession:
    """One thread. Each turn is an entry of its ledger."""

    def __init__(self, runtime: ScriptedRuntime, name: str, lost: asyncio.Event) -> None:
        self._runtime = runtime
        self._name = name
        self._lost = lost
        self._stop: asyncio.Event | None = None  # there while a turn runs
        self._items = 0

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        await self._pause()
        self._write(Played(request.turn, request.messages))
        async for event in self._play(request.turn):
            yield event

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        async for event in self._play(turn):
            yield event

    async def steer(self, message: Said) -> bool:
        entry = self._last()
        if self._stop is None or entry is None or entry.state is not TurnState.RUNNING:
            return False
        self._write(replace(entry, steers=(*entry.steers, message)))
        return True

    async def interrupt(self) -> None:
        if self._stop is not None:
            self._stop.set()

    async def answer(self, ref: str, answer: Answer) -> bool:
        return False

    async def record(self, turn: str) -> TurnRecord | None:
        self._check()
        entry = self._entry(turn)
        if entry is None:
            return None
        return TurnRecord(
            self._record_state(entry),
            entry.turn,
            entry.text if entry.state is TurnState.COMPLETED else "",
            entry.problem,
            None,
            entry.activities,
            _message_ids(entry),
        )

    def continuity(self) -> Continuity | None:
        return Continuity(self._name)

    async def close(self) -> None:
        return

    def _record_state(self, entry: Played) -> RecordState:
        if entry.state is TurnState.RUNNING:
            return RecordState.ALIVE if self._runtime.can.outlives else RecordState.CUT
        known = {TurnState.COMPLETED: RecordState.COMPLETED, TurnState.FAILED: RecordState.FAILED}
        return known.get(entry.state, RecordState.CUT)

    async def _play(self, turn: str) -> AsyncIterator[Event]:
        """From where the ledger stands to the end."""
        self._stop = asyncio.Event()
        try:
            yield TurnStarted(turn)
            entry = self._must(turn)
            steps = self._runtime.play(TurnRequest(turn, entry.messages))
            while (entry := self._must(turn)).position < len(steps):
                async for event in self._step(entry, steps[entry.position]):
                    yield event
                if self._must(turn).state is not TurnState.RUNNING:
                    break
            else:
                async for event in self._acknowledge_steers(turn):
                    yield event
                self._change(turn, state=TurnState.COMPLETED)
            yield Usage(Tokens(10, 0, 5, 0, 15))
            yield self._end(turn)
        except _Stopped:
            self._change(turn, state=TurnState.INTERRUPTED)
            yield self._end(turn)
        finally:
            self._stop = None

    def _end(self, turn: str) -> TurnEnded:
        entry = self._must(turn)
        text = entry.text if entry.state is TurnState.COMPLETED else ""
        return TurnEnded(entry.state, text, entry.problem, _message_ids(entry))

    async def _acknowledge_steers(self, turn: str) -> AsyncIterator[Event]:
        """What was steered in shows in the answer."""
        steers = self._must(turn).steers
        if steers:
            heard = "; ".join(said.text for said in steers)
            async for event in self._say(turn, script.Say(f"{self._must(turn).text} (heard: {heard})".strip())):
                yield event

    async def _step(self, entry: Played, step: Step) -> AsyncIterator[Event]:
        await self._pause()
        match step:
            case script.Say():
                async for event in self._say(entry.turn, step):
                    yield event
            case script.Recall():
                async for event in self._say(entry.turn, script.Say(self._recall())):
                    yield event
            case script.Hold(name):
                await self._or_stopped(self._runtime.holds.wait(name))
            case script.Shell() | script.Patch() | script.Plan() | script.Think():
                async for event in self._act(entry.turn, step):
                    yield event
            case script.Ask(question=question):
                yield Notice(NoticeKind.DECLINED, f"declined: nobody can be asked yet: {question}")
            case script.Status(code=code) | script.Error(code=code):
                self._change(entry.turn, state=TurnState.FAILED, problem=Problem("model", f"The model said {code}."))
            case script.Cut():
                self._change(entry.turn, state=TurnState.INTERRUPTED)
                raise RuntimeLost("the scripted runtime was told to die")
        self._change(entry.turn, position=entry.position + 1)

    async def _act(self, turn: str, step: Act) -> AsyncIterator[Event]:
        started = _activity(step, self._next_item())
        yield started
        await self._pause()
        ended = replace(started, phase=Phase.DONE, outcome=Outcome.OK)
        self._change(turn, activities=(*self._must(turn).activities, ended))
        yield ended

    async def _say(self, turn: str, step: script.Say) -> AsyncIterator[Event]:
        item, offset = self._next_item(), 0
        for word in step.words:
            await self._pause(step.interval_ms / 1000)
            yield TextDelta(item, offset, word)
            offset += len(word)
        self._change(turn, texts=(*self._must(turn).texts, step.text))
        yield TextDone(item, step.text)

    def _recall(self) -> str:
        said = [message.text for entry in self._runtime.ledger.load(self._name) for message in entry.messages]
        return f"I know {len(said)} messages. The first: {said[0] if said else '(none)'}"

    async def _pause(self, seconds: float = 0.0) -> None:
        await self._or_stopped(self._runtime.clock.sleep(seconds + self._runtime.pace()))

    async def _or_stopped(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Wait for something, unless a person stops the turn or the process dies first."""
        self._check()
        stop = self._stop or asyncio.Event()
        tasks = [asyncio.ensure_future(waiting), *(asyncio.ensure_future(e.wait()) for e in (stop, self._lost))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        self._check()
        if stop.is_set():
            raise _Stopped

    def _check(self) -> None:
        if self._lost.is_set():
            raise RuntimeLost("the scripted runtime died")

    def _next_item(self) -> str:
        self._items += 1
        return f"item-{self._items}"

    def _entry(self, turn: str) -> Played | None:
        return next((entry for entry in reversed(self._runtime.ledger.load(self._name)) if entry.turn == turn), None)

    def _must(self, turn: str) -> Played:
        entry = self._entry(turn)
        assert entry is not None, turn
        return entry

    def _last(self) -> Played | None:
        played = self._runtime.ledger.load(self._name)
        return played[-1] if played else None

    def _change(self, turn: str, **changes: Any) -> None:
        """On what the ledger says now: a steer may have come meanwhile."""
        self._write(replace(self._must(turn), **changes))

    def _write(self, entry: Played) -> None:
        self._check()
        others = [old for old in self._runtime.ledger.load(self._name) if old.turn != entry.turn]
        self._runtime.ledger.save(self._name, [*others, entry])


class _Stopped(Exception):
    """A person stopped the turn."""


def _activity(step: Act, item: str) -> Activity:
    match step:
        case script.Shell(command):
            return Activity(item, ActivityKind.COMMAND, Phase.STARTED, command)
        case script.Patch(path, text):
            return Activity(item, ActivityKind.CHANGE, Phase.STARTED, path, text)
        case script.Plan(steps):
            return Activity(item, ActivityKind.PLAN, Phase.STARTED, " | ".join(steps))
        case script.Think(text):
            return Activity(item, ActivityKind.THOUGHT, Phase.STARTED, "", text)


def _message_ids(entry: Played) -> frozenset[str]:
    return frozenset({entry.turn, *(said.id for said in (*entry.messages, *entry.steers))})
