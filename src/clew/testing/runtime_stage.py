"""What the kit of runtimes (`conformance`) plays on: an agent that plays scripts, and one turn of it, followed."""

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

from clew.model.events import Event, GateOpened, TurnEnded, TurnStarted
from clew.model.gates import Answer, Decision, Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import Continuity, PastMessage, Runtime, Seat, Session, TurnRequest
from clew.model.turns import TurnState
from clew.process import scan
from clew.process.scan import Marks, Process
from clew.support.clock import Clock, SystemClock
from clew.support.errors import RuntimeTrouble
from clew.support.text import LONGEST

PATIENCE = 120.0  # seconds that anything may take at most
YES, NO = Answer(Decision.ACCEPT), Answer(Decision.DECLINE)

E = TypeVar("E", bound=Event)


class Oddity(StrEnum):
    """How an agent may talk strangely, and has to be understood all the same."""

    JUNK = "junk"  # lines that are no messages
    UNKNOWN = "unknown"  # events and requests that nobody has heard of
    FLOOD = "flood"  # megabytes on stderr


class Trick(NamedTuple):
    """What a hostile agent tries: it asks about one thing, and has the runtime do another, elsewhere, or once more."""

    script: str
    harm: Callable[[], str]  # what it got done that nobody said yes to; empty: nothing
    shows: str = ""  # what a person has to see of it where it asks first


class Stage(Protocol):
    """An agent that plays scripts."""

    @property
    def workspace(self) -> Path:
        """The folder of its threads."""

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        """As a daemon that starts would make it: each finds what an earlier one has kept. None: it cannot be odd."""

    async def held(self, name: str) -> None:
        """Until the agent has come to `!hold NAME`."""

    def release(self, name: str) -> None: ...

    def command(self, name: str) -> str:
        """One that this agent asks about before it runs it, and that leaves a trace."""

    def runs(self, name: str) -> int:
        """How often that command was run."""

    def folders(self, name: str) -> list[str]:
        """In which folder that command ran, each time. Not asked of an agent that runs nothing for real."""

    @property
    def tricks(self) -> Sequence[Trick]:
        """With a double that is hostile. None of an agent that has nothing done by the runtime: what it does with its
        own hands, no runtime can hold back."""

    @property
    def runs_commands(self) -> bool:
        """For real, in a shell."""

    async def kill(self, runtime: Runtime, children: Sequence[Process]) -> None:
        """The agent dies at once. `children` is what carries our marks: `kill_all` is for them."""

    def freeze(self, children: Sequence[Process]) -> bool:
        """The agent does nothing any more, and is not dead. False: this one cannot freeze."""

    @property
    def deadline(self) -> float:
        """Seconds in which the runtime gives up on an agent that does not answer."""


def kill_all(children: Sequence[Process], number: int = 9) -> None:
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)


class Turn:
    """One turn, followed to its end."""

    def __init__(self, id: str, session: Session, events: Callable[[], Awaitable[None]]) -> None:
        self.id = id
        self.events: list[Event] = []
        self.trouble: RuntimeTrouble | None = None
        self._session = session
        self._changed = asyncio.Condition()
        self._task = asyncio.ensure_future(events())

    async def took(self, event: Event) -> None:
        self.events.append(event)
        await self.tell()

    async def tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, kind: type[E], so: Callable[[E], object] = lambda _: True, number: int = 1) -> E:
        """The first event that is so, as soon as it is there; or the second, and so on."""

        def found() -> list[E]:
            return [event for event in self.events if isinstance(event, kind) and so(event)]

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(found()) >= number or self._task.done())
        assert len(found()) >= number, f"no {kind.__name__} came: {self.events}, {self.trouble}"
        return found()[number - 1]

    async def end(self) -> TurnEnded:
        """Its only end, and nothing came after it."""
        await self.over()
        ends = [event for event in self.events if isinstance(event, TurnEnded)]
        assert self.trouble is None, f"it broke off: {self.trouble}"
        assert len(ends) == 1 and self.events[-1] is ends[0], f"one end, and last: {self.events}"
        starts = [event for event in self.events if isinstance(event, TurnStarted)]
        assert starts == self.events[:1], f"one start, and first: {self.events}"
        return ends[0]

    async def over(self) -> None:
        """With an end or without one."""
        async with asyncio.timeout(PATIENCE):
            await self._task

    async def interrupt(self) -> TurnEnded:
        async with asyncio.timeout(PATIENCE):
            await self._session.interrupt()
        return await self.end()

    async def gate(self, number: int = 1) -> GateOpened:
        return await self.until(GateOpened, number=number)


class Play:
    """A runtime on its stage, with one thread. After it nothing of it is left on the machine."""

    def __init__(self, stage: Stage, odd: Oddity | None = None) -> None:
        self.stage = stage
        self.clock = SystemClock()
        self._marks = Marks(f"kit{self.clock.token()[:10]}", "now")
        made = stage.runtime(self.clock, self._marks, odd)
        self.is_possible = made is not None
        self._runtime = made
        self._turns: list[Turn] = []
        self.past: list[PastMessage] = []

    @property
    def runtime(self) -> Runtime:
        assert self._runtime is not None
        return self._runtime

    async def __aenter__(self) -> Play:
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

    async def held(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.stage.held(name)

    def children(self) -> list[Process]:
        return scan.children(self._marks.store)

    async def open(
        self, continuity: Continuity | None = None, thread: str = "thread", longest_text: int = LONGEST
    ) -> Session:
        seat = Seat(
            thread,
            str(self.stage.workspace),
            continuity,
            policy=Policy.CAREFUL,
            history=self._history,
            longest_text=longest_text,
        )
        async with asyncio.timeout(PATIENCE):
            return await self.runtime.open(seat)

    async def _history(self) -> tuple[PastMessage, ...]:
        return tuple(self.past)

    def begin(self, session: Session, prompt: str) -> Turn:
        id = self.clock.ulid()
        request = TurnRequest(id, (PromptMessage(f"{id}:said", "ann", prompt),))

        async def follow() -> None:
            try:
                async for event in session.run(request):
                    await turn.took(event)
            except RuntimeTrouble as trouble:
                turn.trouble = trouble
            await turn.tell()

        turn = Turn(id, session, follow)
        self._turns.append(turn)
        return turn

    async def run(self, session: Session, prompt: str) -> TurnEnded:
        """To its end; what is asked gets its yes."""
        turn = self.begin(session, prompt)
        answering = asyncio.ensure_future(yes_to_all(session, turn))
        try:
            ended = await turn.end()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        self.past += [PastMessage("ann", prompt), PastMessage("agent", ended.text, by_agent=True)]
        return ended

    async def still_works(self, session: Session) -> None:
        ended = await self.run(session, "!text well and good")
        assert (ended.state, ended.text) == (TurnState.COMPLETED, "well and good"), f"it is of no use now: {ended}"


async def yes_to_all(session: Session, turn: Turn) -> None:
    await answer_all(session, turn, YES)


async def answer_all(session: Session, turn: Turn, answer: Answer, first: int = 1) -> None:
    """All that it asks, from that gate on."""
    for number in itertools.count(first):
        gate = await turn.gate(number)
        await session.answer(gate.ref, answer)
