"""What the kit of surfaces (`conformance`) plays on: a platform as a person sees it, and a daemon whose one surface is
listened to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from clew.config.settings import Config, ThreadsConfig
from clew.engine.engine import Engine
from clew.model.delivery import DeliveryKind
from clew.model.messages import Accepted, Conversation, Inbound, Person, Role
from clew.model.surface import Backlog, Inbox, KnownConversation, Outgoing, Receipt, Surface, SurfaceCan
from clew.store.migrate import open_store
from clew.store.tables import people
from clew.support.clock import Clock, SystemClock
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from clew.texts import messages

PATIENCE = 60.0  # seconds that anything may take at most
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Shown(Struct, frozen=True):
    """A message of clew's, as it stands there now."""

    id: str
    text: str
    buttons: tuple[str, ...] = ()  # what is written on them
    attached: str = ""  # `image` or `file`, where it is one


class Stage(Protocol):
    """A platform with one person who may speak. Its `say` says it to clew: alone with it, or by name."""

    @property
    def person(self) -> str:
        """The platform's own name for them, as in `Inbound.sender_id`."""

    def surface(self, clock: Clock, files: Path) -> Surface:
        """As a daemon that starts would make it."""

    async def listening(self) -> None:
        """Until the surface that was made last listens. Asked where the platform does not keep what nobody hears."""

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
    ) -> str:
        """By the person, or by somebody nobody knows; the platform's id of it. `where`: a thread that was opened.
        `fresh`: the first in a thread of the platform that begins with the quoted message, or in which it is quoted."""

    async def press(self, message: str, label: str) -> str:
        """The person presses a button; what they are told at once, "" where nothing."""

    async def seen(self, so: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        """What clew has said, oldest first, as soon as it is so."""

    async def is_acknowledged(self, message: str) -> bool:
        """Whether the platform counts it as received. Asked where the platform keeps the backlog, and only there."""

    async def acknowledged(self, message: str) -> None:
        """Until it does."""

    async def repeat(self, message: str) -> None:
        """The platform brings it once more, as if it had never been acknowledged."""

    async def cut(self) -> None:
        """The platform is out of reach: what is open is cut, and nothing new gets through."""

    async def mend(self) -> None: ...

    async def busy(self, seconds: float) -> None:
        """It refuses the next message of clew's, and says to come again after so long."""

    async def lose_answer(self) -> None:
        """The next message of clew's arrives, and clew does not hear so."""


class Overheard:
    """A surface, and what it told the inbox. With `hold`, nothing is accepted before that is set."""

    def __init__(self, surface: Surface, hold: asyncio.Event | None) -> None:
        self._surface = surface
        self._hold = hold
        self._inbox: Inbox | None = None
        self._changed = asyncio.Condition()
        self.came: list[Inbound] = []
        self.accepted: list[Accepted] = []
        self.taken: list[str] = []  # the ids of what was accepted
        self.given: list[Outgoing] = []  # to send
        self.edits: list[tuple[str, float]] = []  # what was rewritten while a turn ran, and when

    @property
    def name(self) -> str:
        return self._surface.name

    @property
    def can(self) -> SurfaceCan:
        return self._surface.can

    @property
    def trouble(self) -> str:
        return self._surface.trouble

    def resolve(self, address: str) -> Conversation:
        return self._surface.resolve(address)

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await self._surface.run(self)

    async def welcomes(self, inbound: Inbound) -> bool:
        assert self._inbox is not None
        return await self._inbox.welcomes(inbound)

    async def accept(self, inbound: Inbound) -> Accepted:
        assert self._inbox is not None
        self.came.append(inbound)
        await self._tell()
        if self._hold is not None:
            await self._hold.wait()
        accepted = await self._inbox.accept(inbound)
        self.accepted.append(accepted)
        self.taken.append(inbound.message_id)
        await self._tell()
        return accepted

    async def known(self, surface: str) -> Sequence[KnownConversation]:
        assert self._inbox is not None
        return await self._inbox.known(surface)

    async def until(self, so: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(so)

    async def send(self, outgoing: Outgoing) -> Receipt:
        self.given.append(outgoing)
        return await self._surface.send(outgoing)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        if outgoing.kind is DeliveryKind.PLACEHOLDER:
            self.edits.append((receipt.message_id, time.monotonic()))
            await self._tell()
        await self._surface.edit(receipt, outgoing)

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return await self._surface.find(outgoing)

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return await self._surface.open_thread(parent, title)

    async def close(self) -> None:
        await self._surface.close()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class Daemon:
    """The real engine on a folder, with an agent that plays scripts (`clew.testing.scripted_model.script`) and one
    surface.
    Leaving it ends everything where it stands, as a kill would; a second one on the same folder is the next daemon."""

    def __init__(self, stage: Stage, folder: Path, *, hold: asyncio.Event | None = None) -> None:
        clock = SystemClock()
        self._stage = stage
        self._store = open_store(folder / "clew.db", clock)
        self.agent = ScriptedRuntime(clock, FileLedger(folder / "scripted"))
        self.agent.can = replace(self.agent.can, steer=False)  # each message is then a turn, and its answer is seen
        self.surface = Overheard(stage.surface(clock, folder / "files"), hold)
        self.engine = Engine(
            store=self._store,
            clock=clock,
            config=Config(threads=ThreadsConfig(runtime="scripted")),
            incarnation=clock.token(),
            runtimes={"scripted": self.agent},
            surfaces={self.surface.name: self.surface},
            workspace=str(folder),
            files=folder / "files",
        )
        self._working: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Daemon:
        known = Person(self.surface.name, self._stage.person, "Ann", Role.DRIVER, 0, "the kit")
        await self._store.write(lambda tx: people.add(tx, known))
        self._working = asyncio.create_task(self.engine.run())
        if self.surface.can.backlog is not Backlog.PLATFORM:
            await self._stage.listening()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._working is not None
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)
        await self.surface.close()
        await asyncio.to_thread(self._store.close)

    async def held(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.agent.holds.held(name)


async def answered(stage: Stage, *answers: str) -> Sequence[Shown]:
    """Each of them is shown once, and in this order."""
    shown = await stage.seen(lambda shown: all(with_text(shown, answer) for answer in answers))
    found = [answer for message in shown for answer in answers if message in with_text(shown, answer)]
    assert found == [*answers], f"shown are {found}, in place of {answers}"
    return shown


def with_text(shown: Sequence[Shown], text: str) -> list[Shown]:
    """Not where it is only being written."""
    settled = (
        message for message in shown if text == messages.WORKING or not message.text.startswith(messages.WORKING)
    )
    return [message for message in settled if text in message.text]


async def working(stage: Stage, clew: Daemon) -> Sequence[Shown]:
    """The agent has begun, and stops `here` before it answers `alpha`. Where there can be a placeholder, it is up."""
    await stage.say("!hold here\n!text alpha")
    await clew.held("here")
    return await stage.seen(lambda shown: not clew.surface.can.edit or with_text(shown, messages.WORKING))


async def taken(stage: Stage, clew: Daemon, message: str) -> None:
    """It is stored, and where the platform keeps the backlog, it knows."""
    if clew.surface.can.backlog is Backlog.PLATFORM:
        await stage.acknowledged(message)
    else:
        await clew.surface.until(lambda: message in clew.surface.taken)
