"""Plays the steps of a script. The subclasses in `responses` and `chat` write them in the format of their API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Protocol, TypeVar

from clew.support.clock import Clock
from clew.testing.scripted_model.http_server import Reply
from clew.testing.scripted_model.script import (
    Approve,
    Aside,
    Ask,
    Cut,
    Error,
    Hold,
    Limit,
    Patch,
    Permit,
    Plan,
    Recall,
    Say,
    Shell,
    Status,
    Step,
    Think,
    Tool,
)

LONGEST = 2000  # characters of a recalled message

Trouble = Status | Cut | Error | Limit
SingleAct = Shell | Patch | Tool | Permit | Ask | Aside | Plan


class Remembering(Protocol):
    @property
    def prompts(self) -> list[str]: ...


R = TypeVar("R", bound=Remembering)


class Over(Exception):
    """The response ended before its script."""


class Player(ABC, Generic[R]):
    def __init__(
        self,
        request: R,
        reply: Reply,
        clock: Clock,
        hold: Callable[[str, Reply], Awaitable[bool]],
        happens: Callable[[Trouble], bool],
    ) -> None:
        self._request = request
        self._reply = reply
        self._clock = clock
        self._hold = hold
        self._happens = happens
        self._id = clock.token()[:12]

    async def play(self, steps: Iterable[Step]) -> None:
        try:
            for step in steps:
                await self._step(step)
        except Over:
            return
        await self._complete()
        await self._reply.end()

    async def _step(self, step: Step) -> None:
        match step:
            case Say():
                await self._say(step)
            case Recall():
                await self._say(Say(recall_text(self._request)))
            case Hold(name):
                if not await self._hold(name, self._reply):
                    raise Over
            case Think(text):
                await self._think(text)
            case Approve(commands):
                for command in commands:
                    await self._act(Shell(command))
            case Status() | Cut() | Error() | Limit():
                if self._happens(step):
                    await self._fail(step)
                    raise Over
            case _:
                await self._act(step)

    @abstractmethod
    async def _say(self, step: Say) -> None: ...

    @abstractmethod
    async def _think(self, text: str) -> None: ...

    @abstractmethod
    async def _act(self, step: SingleAct) -> None: ...

    @abstractmethod
    async def _fail(self, step: Trouble) -> None: ...

    @abstractmethod
    async def _complete(self) -> None:
        """Write the end of the response."""


def recall_text(request: Remembering) -> str:
    said = request.prompts
    lines = said[0].splitlines() if said else []
    own = [line for line in lines if not line.startswith("!")] or lines  # without its script, if there is other text
    first = " ".join(" ".join(own).split())[:LONGEST]
    return f"I remember {len(said)} messages. The first was: {first}" if said else "I remember nothing."
