"""What the runtime kit runs on: a `Stage`, which is an agent that plays scripts, and helpers to run and follow its
turns."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, TypeVar

from clew.engine.agents.prelude_text import write
from clew.model import history
from clew.model.events import Event, GateOpened, TurnEnded, TurnStarted
from clew.model.gates import Answer, Decision, Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import Runtime, Seat, Session, TurnRequest
from clew.model.threads import Continuity, SessionBegan
from clew.model.turns import TurnState
from clew.process import scan
from clew.process.scan import Marks, Process
from clew.support.clock import Clock, SystemClock
from clew.support.errors import RuntimeTrouble
from clew.support.text import LONGEST

PATIENCE = 120.0  # seconds; the time limit of every wait
YES, NO = Answer(Decision.ACCEPT), Answer(Decision.DECLINE)

E = TypeVar("E", bound=Event)


class Oddity(StrEnum):
    """Odd output of an agent that a runtime must tolerate."""

    JUNK = "junk"  # lines that are not messages
    UNKNOWN = "unknown"  # unknown events and requests
    FLOOD = "flood"  # megabytes on stderr


class Trick(NamedTuple):
    """A trick of a hostile agent: it asks about one action, and makes the runtime do another, elsewhere, or twice."""

    script: str
    harm: Callable[[], str]  # returns what was done without a yes; empty: nothing
    shows: str = ""  # text that the title of its first gate must contain


class Stage(Protocol):
    """A runtime and an agent behind it that plays scripts. The author of a runtime implements it."""

    @property
    def workspace(self) -> Path:
        """The workspace of its threads."""

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        """Make the runtime, as a starting daemon does: it finds what an earlier one stored. None: the agent cannot be
        odd in this way."""

    async def wait_held(self, name: str) -> None:
        """Wait until the agent has reached `!hold NAME`."""

    def release(self, name: str) -> None:
        """Let the agent go on from `!hold NAME`."""

    def command(self, name: str) -> str:
        """Return a command that this agent asks about before it runs it, and that leaves a trace."""

    def runs(self, name: str) -> int:
        """Return how often that command was run."""

    def folders(self, name: str) -> list[str]:
        """Return the folder of each run of that command. Only called if `runs_commands`."""

    @property
    def tricks(self) -> Sequence[Trick]:
        """The tricks of a hostile agent. Empty if the agent does everything itself: a runtime can only check what it
        does for the agent."""

    @property
    def runs_commands(self) -> bool:
        """Whether the agent really runs commands in a shell."""

    async def kill(self, runtime: Runtime, children: Sequence[Process]) -> None:
        """Kill the agent at once. `children`: all processes with our marks, for `kill_all`."""

    def freeze(self, children: Sequence[Process]) -> bool:
        """Stop the agent without killing it, as with SIGSTOP. False: it cannot be frozen."""

    @property
    def deadline(self) -> float:
        """Seconds after which the runtime gives up on an agent that does not answer."""


def kill_all(children: Sequence[Process], number: int = 9) -> None:
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)


class Turn:
    """One turn: collects its events until it ends."""

    def __init__(self, id: str, session: Session, events: Callable[[], Awaitable[None]]) -> None:
        self.id = id
        self.events: list[Event] = []
        self.trouble: RuntimeTrouble | None = None
        self._session = session
        self._changed = asyncio.Condition()
        self._task = asyncio.ensure_future(events())

    async def add(self, event: Event) -> None:
        self.events.append(event)
        await self.notify()

    async def notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def wait_for(self, kind: type[E], condition: Callable[[E], object] = lambda _: True, number: int = 1) -> E:
        """Wait for the first event (or the one with that number) of a kind that meets the condition, and return it."""

        def found() -> list[E]:
            return [event for event in self.events if isinstance(event, kind) and condition(event)]

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(found()) >= number or self._task.done())
        assert len(found()) >= number, f"no {kind.__name__} event: {self.events}, {self.trouble}"
        return found()[number - 1]

    async def end(self) -> TurnEnded:
        """Wait for the end and return it. Asserts one start, which is first, and one end, which is last."""
        await self.wait_over()
        ends = [event for event in self.events if isinstance(event, TurnEnded)]
        assert self.trouble is None, f"the turn failed with {self.trouble!r}"
        assert len(ends) == 1 and self.events[-1] is ends[0], f"not one TurnEnded as last event: {self.events}"
        starts = [event for event in self.events if isinstance(event, TurnStarted)]
        assert starts == self.events[:1], f"not one TurnStarted as first event: {self.events}"
        return ends[0]

    async def wait_over(self) -> None:
        """Wait until the turn is over, with a TurnEnded or without."""
        async with asyncio.timeout(PATIENCE):
            await self._task

    async def interrupt(self) -> TurnEnded:
        async with asyncio.timeout(PATIENCE):
            await self._session.interrupt()
        return await self.end()

    async def gate(self, number: int = 1) -> GateOpened:
        return await self.wait_for(GateOpened, number=number)


class RuntimeRig:
    """A runtime under test. On exit it is closed, and no process of it may be left."""

    def __init__(self, stage: Stage, odd: Oddity | None = None) -> None:
        self.stage = stage
        self.clock = SystemClock()
        self._marks = Marks(f"kit{self.clock.token()[:10]}", "now")
        made = stage.runtime(self.clock, self._marks, odd)
        self.is_possible = made is not None
        self._runtime = made
        self._turns: list[Turn] = []
        self.past: list[history.Content] = []  # of the thread, oldest first
        self._told: list[Session] = []  # sessions that know it

    @property
    def runtime(self) -> Runtime:
        assert self._runtime is not None
        return self._runtime

    async def __aenter__(self) -> RuntimeRig:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._runtime is not None:
            async with asyncio.timeout(PATIENCE):
                await self.runtime.close()
        for turn in self._turns:
            turn._task.cancel()
        left = self.children()
        kill_all(left)
        assert kind is not None or not left, f"left behind: {[process.command for process in left]}"

    async def wait_held(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.stage.wait_held(name)

    def children(self) -> list[Process]:
        return scan.children(self._marks.store)

    async def open(
        self,
        continuity: Continuity | None = None,
        thread: str = "thread",
        longest_text: int = LONGEST,
        policy: Policy = Policy.CAREFUL,
        model: str | None = None,
        workspace: Path | None = None,
    ) -> Session:
        seat = Seat(
            thread,
            str(workspace or self.stage.workspace),
            continuity,
            model=model,
            policy=policy,
            has_past=bool(self.past),
            longest_text=longest_text,
        )
        async with asyncio.timeout(PATIENCE):
            return await self.runtime.open(seat)

    async def _whole(self) -> str:
        newest_first = list(reversed(self.past))
        return write("turn", newest_first, 12_000, self.runtime.name, is_new=True).text

    async def _prelude(self, session: Session) -> str:
        """What the engine would tell it: everything, if it says that it was begun anew."""
        is_told = any(session is each for each in self._told)
        is_new = not is_told and session.began() is not SessionBegan.RESUMED
        return await self._whole() if is_new else ""

    def start(self, session: Session, prompt: str) -> Turn:
        id = self.clock.ulid()
        messages = (PromptMessage(f"{id}:said", "ann", prompt),)

        async def follow() -> None:
            request = TurnRequest(id, messages, await self._prelude(session), self._whole)
            self._told.append(session)
            try:
                async for event in session.run(request):
                    await turn.add(event)
            except RuntimeTrouble as trouble:
                turn.trouble = trouble
            await turn.notify()

        turn = Turn(id, session, follow)
        self._turns.append(turn)
        return turn

    async def run(self, session: Session, prompt: str) -> TurnEnded:
        """Run a turn to its end, and accept everything that it asks."""
        turn = self.start(session, prompt)
        answering = asyncio.ensure_future(accept_all(session, turn))
        try:
            ended = await turn.end()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        self.past.append(history.Spoken(turn.id, 0, f"{turn.id}:said", "ann", prompt))
        self.past.append(history.Outcome(turn.id, 0, ended.state, "agent", ended.text))
        return ended

    async def assert_still_works(self, session: Session) -> None:
        ended = await self.run(session, "!text well and good")
        assert (ended.state, ended.text) == (TurnState.COMPLETED, "well and good"), (
            f"it does not work any more: {ended}"
        )


async def accept_all(session: Session, turn: Turn) -> None:
    await answer_all(session, turn, YES)


async def answer_all(session: Session, turn: Turn, answer: Answer, first: int = 1) -> None:
    """Answer every gate of the turn, from the gate with the number `first` on."""
    for number in itertools.count(first):
        gate = await turn.gate(number)
        await session.answer(gate.ref, answer)
