"""Plays a script step by step and yields its events. Each step is in the ledger before its event is sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, Protocol

from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Event,
    GateClosed,
    GateOpened,
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
from clew.model.events.long_text import GrowingText
from clew.model.gates import Answer, Asked, Decision, GateKind
from clew.model.messages import PromptMessage
from clew.model.runtime import RecordState, RuntimeCan, Seat, TurnRecord, TurnRequest
from clew.model.threads import Continuity, SessionBegan
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens
from clew.support.clock import Clock
from clew.support.errors import RuntimeLost
from clew.testing.scripted_model import script
from clew.testing.scripted_model.script import Step
from clew.testing.scripted_runtime import gates
from clew.testing.scripted_runtime.holds import Holds
from clew.testing.scripted_runtime.ledger import Ledger, Played

Script = Callable[[TurnRequest], tuple[Step, ...]]
SHORT = 0.5  # seconds; a shorter sleep is not interrupted by a stop
_SAID = re.compile(r"^[^\n>]+ said:\n((?:>[^\n]*\n)+)", re.MULTILINE)
Act = script.Shell | script.Patch | script.Tool | script.Plan | script.Think


def from_prompt(request: TurnRequest) -> tuple[Step, ...]:
    """Parse the script in the messages, without what clew itself added."""
    return script.parse("\n".join(said.text for said in request.messages if said.author != "clew"))


def told(prelude: str) -> list[str]:
    """What people had said, by a prelude."""
    return [re.sub("^> ?", "", quoted, flags=re.MULTILINE).rstrip("\n") for quoted in _SAID.findall(prelude)]


# What is wrong, by the code of the error.
_PROBLEMS = {"server_is_overloaded": "overloaded", "rate_limit_exceeded": "rate_limit"}


class Stage(Protocol):
    """What a session needs of its runtime."""

    clock: Clock
    ledger: Ledger
    holds: Holds
    answer_signal: gates.AnswerSignal
    play: Script
    pace: Callable[[], float]
    can: RuntimeCan
    free_at: int | None


class ScriptedSession:
    """One thread. Each turn is an entry in its ledger."""

    def __init__(
        self,
        runtime: Stage,
        name: str,
        lost: asyncio.Event,
        seat: Seat,
        *,
        began: SessionBegan = SessionBegan.RESUMED,
    ) -> None:
        self._runtime = runtime
        self._name = name
        self._lost = lost
        self._longest = seat.longest_text
        self.seat = seat
        self._began = began
        self._open_gates: dict[str, Asked] = {}  # the open gates of the turn
        self._stop: asyncio.Event | None = None  # None: no turn runs
        self._ends: tuple[asyncio.Task[object], ...] = ()  # wait for a stop or for the loss of the process
        self._items = 0

    async def reseat(self, seat: Seat) -> None:
        self.seat = seat

    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        await self._pause()
        self._write(Played(request.turn, request.messages, prelude=request.prelude))
        async for event in self._play(request.turn):
            yield event

    async def attach(self, turn: str) -> AsyncIterator[Event]:
        async for event in self._play(turn):
            yield event

    async def steer(self, message: PromptMessage) -> bool:
        entry = self._last()
        if self._stop is None or entry is None or entry.state is not TurnState.RUNNING:
            return False
        self._write(replace(entry, steers=(*entry.steers, message)))
        return True

    async def interrupt(self) -> None:
        if self._stop is not None:
            for ref in list(self._open_gates):
                await self.answer(ref, gates.CANCELLED)
            self._stop.set()

    async def answer(self, ref: str, answer: Answer) -> bool:
        """Store the answer in the ledger first: a runtime that outlives the daemon must not forget it."""
        self._check_alive()
        entry, asked = self._last(), self._open_gates.get(ref)
        if entry is None or asked is None or _answer(entry, ref) is not None:
            return False
        gates.check(asked, answer)
        if (known := gates.without_secrets(asked, answer)) != answer:
            self._runtime.answer_signal.secrets[ref] = answer
        self._change(entry.turn, answers=(*entry.answers, (ref, known)))
        self._runtime.answer_signal.notify()
        return True

    async def record(self, turn: str) -> TurnRecord | None:
        self._check_alive()
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

    def began(self) -> SessionBegan:
        return self._began

    async def close(self) -> None:
        return

    def _record_state(self, entry: Played) -> RecordState:
        if entry.state is TurnState.RUNNING:
            plays = self._stop is not None and entry == self._last()
            return RecordState.ALIVE if plays or self._runtime.can.outlives else RecordState.CUT
        known = {TurnState.COMPLETED: RecordState.COMPLETED, TurnState.FAILED: RecordState.FAILED}
        return known.get(entry.state, RecordState.CUT)

    async def _play(self, turn: str) -> AsyncIterator[Event]:
        """Play the turn from its position in the ledger to the end."""
        self._stop = asyncio.Event()
        self._ends = tuple(asyncio.ensure_future(event.wait()) for event in (self._stop, self._lost))
        try:
            yield TurnStarted(turn)
            entry = self._get_entry(turn)
            steps = self._runtime.play(TurnRequest(turn, entry.messages))
            self._items = sum(map(_items_of, steps[: entry.position]))  # a replayed step has the same item ids
            while (entry := self._get_entry(turn)).position < len(steps):
                async for event in self._step(entry, steps[entry.position]):
                    yield event
                if self._get_entry(turn).state is not TurnState.RUNNING:
                    break
            else:
                async for event in self._acknowledge_steers(turn):
                    yield event
                if steps == (script.Say(""),):
                    problem = Problem("no_answer", "The model answered nothing.")
                    self._change(turn, state=TurnState.FAILED, problem=problem)
                else:
                    self._change(turn, state=TurnState.COMPLETED)
            yield Usage(Tokens(10, 0, 5, 0, 15))
            yield self._end(turn)
        except _Stopped:
            self._change(turn, state=TurnState.INTERRUPTED)
            for ref in self._open_gates:
                yield GateClosed(ref)
            yield self._end(turn)
        finally:
            for end in self._ends:
                end.cancel()
            self._stop = None
            self._open_gates, self._ends = {}, ()

    def _end(self, turn: str) -> TurnEnded:
        entry = self._get_entry(turn)
        text = entry.text if entry.state is TurnState.COMPLETED else ""
        return TurnEnded(entry.state, text, entry.problem, _message_ids(entry))

    async def _acknowledge_steers(self, turn: str) -> AsyncIterator[Event]:
        """Add the steered messages to the answer."""
        steers = self._get_entry(turn).steers
        if steers:
            heard = "; ".join(said.text for said in steers)
            async for event in self._say(turn, script.Say(f"{self._get_entry(turn).text} (heard: {heard})".strip())):
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
                await self._wait_unless_stopped(self._runtime.holds.wait(name))
            case script.Shell() | script.Patch() | script.Tool() | script.Plan() | script.Think():
                async for event in self._act(entry.turn, step):
                    yield event
            case script.Aside():
                yield GateOpened(self._ref(entry, 0), gates.asked(step)[0])
            case script.Approve() | script.Permit() | script.Ask():
                async for event in self._ask(entry, gates.asked(step)):
                    yield event
            case script.Error(code="insufficient_quota"):
                limit = Problem("usage_limit", "The account is at its usage limit.", until=self._runtime.free_at)
                self._change(entry.turn, state=TurnState.FAILED, problem=limit)
            case script.Status(code=code) | script.Error(code=code):
                name = _PROBLEMS.get(str(code), "model")
                self._change(entry.turn, state=TurnState.FAILED, problem=Problem(name, f"The model said {code}."))
            case script.Cut(times=int() as times):
                for number in range(times):
                    async for event in self._retry(number + 1):
                        yield event
            case script.Cut():
                self._change(entry.turn, state=TurnState.INTERRUPTED)
                raise RuntimeLost("the scripted runtime was told to die")
        self._change(entry.turn, position=entry.position + 1)

    async def _retry(self, number: int) -> AsyncIterator[Event]:
        """Send a text that is given up, as when the connection to a model breaks."""
        item, text = self._next_item(), script.filler(2)
        yield TextDelta(item, 0, text)
        yield TextDone(item, text, cut=True)
        yield Notice(NoticeKind.RETRYING, f"The connection broke; trying again ({number}).")

    async def _act(self, turn: str, step: Act) -> AsyncIterator[Event]:
        started = _activity(step, self._next_item())
        yield started
        await self._pause()
        ended = replace(started, phase=Phase.DONE, outcome=Outcome.OK)
        self._change(turn, activities=(*self._get_entry(turn).activities, ended))
        yield ended

    async def _ask(self, entry: Played, asked: Iterable[Asked]) -> AsyncIterator[Event]:
        """Open gates and wait until all are answered. After a new `attach`, open gates are sent again with the same
        reference."""
        refs = {self._ref(entry, number): each for number, each in enumerate(asked)}
        self._open_gates = {ref: replace(each, item=ref) for ref, each in refs.items()}
        for ref, each in self._open_gates.items():
            if each.kind is GateKind.COMMAND:
                yield Activity(ref, ActivityKind.COMMAND, Phase.STARTED, each.title)
            if _answer(entry, ref) is None:
                yield GateOpened(ref, each)
        while self._open_gates:
            ref, answer = await self._next_answer(entry.turn)
            async for event in self._apply_answer(entry.turn, ref, answer):
                yield event

    async def _next_answer(self, turn: str) -> tuple[str, Answer]:
        """Wait for the next answer, in the order in which they were given."""
        while True:
            answer_signal = self._runtime.answer_signal.next
            for ref, answer in self._get_entry(turn).answers:
                if ref in self._open_gates:
                    return ref, self._runtime.answer_signal.secrets.pop(ref, answer)
            await self._wait_unless_stopped(answer_signal.wait())

    async def _apply_answer(self, turn: str, ref: str, answer: Answer) -> AsyncIterator[Event]:
        if answer.decision is Decision.CANCEL:
            raise _Stopped
        asked = self._open_gates.pop(ref)
        yield GateClosed(ref)
        if asked.kind is GateKind.COMMAND:
            await self._pause()
            yield self._execute(turn, ref, asked.title, answer)
        if asked.kind is not GateKind.COMMAND or not answer.is_yes:
            async for event in self._say(turn, script.Say(gates.reply_text(asked, answer))):
                yield event

    def _execute(self, turn: str, ref: str, command: str, answer: Answer) -> Activity:
        """Record the execution of a command, once per yes: what is in the ledger is not done again."""
        entry = self._get_entry(turn)
        outcome = Outcome.OK if answer.is_yes else Outcome.DECLINED
        done = Activity(ref, ActivityKind.COMMAND, Phase.DONE, command, outcome=outcome)
        if ref not in {act.item for act in entry.activities}:
            ran = (command,) if answer.is_yes else ()
            self._change(turn, activities=(*entry.activities, done), executions=(*entry.executions, *ran))
        return done

    def _ref(self, entry: Played, number: int) -> str:
        return f"{self._name}:{entry.turn}:{entry.position}.{number}"

    async def _say(self, turn: str, step: script.Say) -> AsyncIterator[Event]:
        item, text = self._next_item(), GrowingText(self._longest)
        for word in step.words:
            await self._pause(step.interval_ms / 1000)
            offset = text.length
            if shown := text.add(word):
                yield TextDelta(item, offset, shown)
            for notice in text.news():
                yield notice
        self._change(turn, texts=(*self._get_entry(turn).texts, text.whole()))
        yield TextDone(item, text.whole())

    def _recall(self) -> str:
        played = self._runtime.ledger.load(self._name)
        said = [
            text for entry in played for text in (*told(entry.prelude), *(message.text for message in entry.messages))
        ]
        return f"I know {len(said)} messages. The first: {said[0] if said else '(none)'}"

    async def _pause(self, seconds: float = 0.0) -> None:
        wait = seconds + self._runtime.pace()
        if wait > SHORT:
            await self._wait_unless_stopped(self._runtime.clock.sleep(wait))
            return
        self._check_alive()
        await self._runtime.clock.sleep(wait)
        self._check_not_stopped()

    async def _wait_unless_stopped(self, waiting: Coroutine[Any, Any, object]) -> None:
        """Wait for something, unless a person stops the turn or the process dies first."""
        if self._lost.is_set():
            waiting.close()
        self._check_alive()
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait((task, *self._ends), return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
        self._check_not_stopped()

    def _check_not_stopped(self) -> None:
        """Raises _Stopped or RuntimeLost if the turn was stopped or the process died."""
        self._check_alive()
        if self._stop is not None and self._stop.is_set():
            raise _Stopped

    def _check_alive(self) -> None:
        if self._lost.is_set():
            raise RuntimeLost("the scripted runtime died")

    def _next_item(self) -> str:
        self._items += 1
        return f"item-{self._items}"

    def _entry(self, turn: str) -> Played | None:
        return next((entry for entry in reversed(self._runtime.ledger.load(self._name)) if entry.turn == turn), None)

    def _get_entry(self, turn: str) -> Played:
        entry = self._entry(turn)
        assert entry is not None, turn
        return entry

    def _last(self) -> Played | None:
        played = self._runtime.ledger.load(self._name)
        return played[-1] if played else None

    def _change(self, turn: str, **changes: Any) -> None:
        """Change the newest entry in the ledger: a steer may have changed it meanwhile."""
        self._write(replace(self._get_entry(turn), **changes))

    def _write(self, entry: Played) -> None:
        self._check_alive()
        others = [old for old in self._runtime.ledger.load(self._name) if old.turn != entry.turn]
        self._runtime.ledger.save(self._name, [*others, entry])


def _items_of(step: Step) -> int:
    """Return how many items a step has."""
    match step:
        case script.Cut(times=int() as times):
            return times
        case script.Say() | script.Recall():
            return 1
        case script.Shell() | script.Patch() | script.Tool() | script.Plan() | script.Think():
            return 1
    return 0


class _Stopped(Exception):
    """A person stopped the turn."""


def _activity(step: Act, item: str) -> Activity:
    match step:
        case script.Shell(command):
            return Activity(item, ActivityKind.COMMAND, Phase.STARTED, command)
        case script.Patch(path, text):
            return Activity(item, ActivityKind.CHANGE, Phase.STARTED, path, f"--- /dev/null\n+++ {path}\n+{text}\n")
        case script.Tool(server, name):
            return Activity(item, ActivityKind.TOOL, Phase.STARTED, f"{server}.{name}")
        case script.Plan(steps):
            return Activity(item, ActivityKind.PLAN, Phase.STARTED, " | ".join(steps))
        case script.Think(text):
            return Activity(item, ActivityKind.THOUGHT, Phase.STARTED, "", text)


def _message_ids(entry: Played) -> frozenset[str]:
    return frozenset({entry.turn, *(said.id for said in (*entry.messages, *entry.steers))})


def _answer(entry: Played, ref: str) -> Answer | None:
    return next((answer for given, answer in entry.answers if given == ref), None)
