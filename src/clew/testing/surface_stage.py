"""What the surface kit runs on: a `Stage`, which is a chat platform as a person sees it, and a daemon with a recording
surface."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from clew.config.settings import Config, InboxConfig, ThreadsConfig
from clew.engine.engine import Engine
from clew.model.delivery import DeliveryKind
from clew.model.messages import Accepted, Conversation, Inbound, Person, Role
from clew.model.surface import (
    Backlog,
    Inbox,
    KnownConversation,
    Outgoing,
    Reacts,
    Receipt,
    ShowsTyping,
    Surface,
    SurfaceCan,
)
from clew.store.migrate import open_store
from clew.store.tables import people
from clew.support.clock import Clock, SystemClock
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from clew.texts import chat_messages

PATIENCE = 60.0  # seconds; the time limit of every wait
READING_TIME = 2_000  # milliseconds added to when the person speaks: people read before they answer
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Shown(Struct, frozen=True):
    """A message of clew as the platform shows it now."""

    id: str
    text: str
    buttons: tuple[str, ...] = ()  # their labels
    attached: str = ""  # `image` or `file`; empty: a text message
    replies_to: str = ""  # the id of the message that it replies to


class Stage(Protocol):
    """A platform, real or fake, with one person who may speak. The author of a surface implements it."""

    @property
    def person(self) -> str:
        """The person's id on the platform, as in `Inbound.sender_id`."""

    @property
    def target(self) -> str:
        """The address of the person's chat with clew, as they would type it after `--notify SURFACE:`."""

    def surface(self, clock: Clock, files: Path) -> Surface:
        """Make the surface, as a starting daemon does."""

    async def wait_listening(self) -> None:
        """Wait until the newest surface listens. Not called with `Backlog.PLATFORM`."""

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
        beside: str | None = None,
    ) -> str:
        """Send a message to clew, directly or by mentioning it, and return the platform's id of it. `stranger`: sent by
        an unknown person. `where`: in a thread that was opened. `fresh`: as the first message of a new platform thread
        that starts with the quoted message, or quotes it. `beside`: in the place that shows this message of clew; not
        as a quote of it."""

    async def press(self, message: str, label: str) -> str:
        """Press a button as the person, and return what the platform shows at once; "" if nothing."""

    async def change(self, message: str, text: str) -> bool:
        """Edit a message as the person. False: the platform does not tell clew of edits."""

    async def delete(self, message: str) -> bool:
        """Delete a message as the person. False: the platform does not tell clew of deletions."""

    async def wait_shown(self, condition: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        """Wait until the condition holds for clew's messages, oldest first, and return them."""

    async def is_acknowledged(self, message: str) -> bool:
        """Whether the platform counts the message as received. Only called with `Backlog.PLATFORM`."""

    async def wait_acknowledged(self, message: str) -> None:
        """Wait until the platform counts the message as received. Only called with `Backlog.PLATFORM`."""

    async def redeliver(self, message: str) -> None:
        """Let the platform send the message again, as if it had not been acknowledged."""

    async def disconnect(self) -> None:
        """Make the platform unreachable: close open connections and refuse new ones."""

    async def reconnect(self) -> None:
        """Make the platform reachable again."""

    async def rate_limit_once(self, seconds: float) -> None:
        """Refuse clew's next message and ask it to retry after so many seconds."""

    async def lose_response_once(self) -> None:
        """Deliver clew's next message, but lose the response to clew."""

    async def delete_thread(self, where: Conversation) -> None:
        """Delete a thread that was opened, as a person does, with all messages in it. Only called with
        `can.threads`."""


class RecordingSurface:
    """Wraps a surface and records what passes. With `hold`, messages are accepted only once that event is set."""

    def __init__(self, surface: Surface, hold: asyncio.Event | None) -> None:
        self._surface = surface
        self._hold = hold
        self._inbox: Inbox | None = None
        self._changed = asyncio.Condition()
        self.received: list[Inbound] = []
        self.accepted: list[Accepted] = []
        self.accepted_ids: list[str] = []  # message ids, in the order of `accepted`
        self.changed: list[str] = []  # messages that were edited
        self.gone: list[str] = []  # messages that were deleted
        self.reacted: list[str] = []  # messages that were marked as heard
        self.sent: list[Outgoing] = []  # deliveries passed to `send`
        self.edits: list[tuple[str, float]] = []  # message id and time of each edit of a placeholder
        self.live: list[str] = []  # the text being written, in each of them

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
        self.received.append(inbound)
        await self._notify()
        if self._hold is not None:
            await self._hold.wait()
        later = None if inbound.sent_at is None else inbound.sent_at + READING_TIME
        accepted = await self._inbox.accept(replace(inbound, sent_at=later))
        self.accepted.append(accepted)
        self.accepted_ids.append(inbound.message_id)
        await self._notify()
        return accepted

    async def edited(self, inbound: Inbound) -> None:
        assert self._inbox is not None
        await self._inbox.edited(inbound)
        self.changed.append(inbound.message_id)
        await self._notify()

    async def deleted(self, surface: str, message: str) -> None:
        assert self._inbox is not None
        await self._inbox.deleted(surface, message)
        self.gone.append(message)
        await self._notify()

    async def known(self, surface: str) -> Sequence[KnownConversation]:
        assert self._inbox is not None
        return await self._inbox.known(surface)

    async def moved(self, old: Conversation, new: Conversation) -> None:
        assert self._inbox is not None
        await self._inbox.moved(old, new)

    async def wait_until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(condition)

    async def send(self, outgoing: Outgoing) -> Receipt:
        self.sent.append(outgoing)
        return await self._surface.send(outgoing)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        if outgoing.kind is DeliveryKind.PLACEHOLDER:
            self.edits.append((receipt.message_id, time.monotonic()))
            self.live.append(outgoing.live)
            await self._notify()
        await self._surface.edit(receipt, outgoing)

    async def typing(self, where: Conversation) -> None:
        await cast(ShowsTyping, self._surface).typing(where)

    async def react(self, where: Conversation, message: str) -> None:
        if isinstance(self._surface, Reacts):
            await self._surface.react(where, message)
        self.reacted.append(message)
        await self._notify()

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return await self._surface.find(outgoing)

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return await self._surface.open_thread(parent, title)

    def parent(self, conversation: Conversation) -> Conversation | None:
        return self._surface.parent(conversation)

    async def close(self) -> None:
        await self._surface.close()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class Daemon:
    """The real engine in a folder, with an agent that plays scripts (`clew.testing.scripted_model.script`) and one
    surface. On exit everything ends at once, as if killed. A second Daemon in the same folder acts as the next
    daemon."""

    def __init__(self, stage: Stage, folder: Path, *, hold: asyncio.Event | None = None) -> None:
        clock = SystemClock()
        self._stage = stage
        self._store = open_store(folder / "clew.db", clock)
        self.agent = ScriptedRuntime(clock, FileLedger(folder / "scripted"))
        self.agent.can = replace(self.agent.can, steer=False)  # so that each message is a turn with its own answer
        self.surface = RecordingSurface(stage.surface(clock, folder / "files"), hold)
        self.engine = Engine(
            store=self._store,
            clock=clock,
            config=Config(threads=ThreadsConfig(runtime="scripted"), inbox=InboxConfig(debounce=0)),
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
            await self._stage.wait_listening()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._working is not None
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)
        await self.surface.close()
        await asyncio.to_thread(self._store.close)

    async def wait_held(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.agent.holds.held(name)


async def wait_answered(stage: Stage, *answers: str) -> Sequence[Shown]:
    """Wait until these answers are shown, and assert that each is shown once and in this order."""
    shown = await stage.wait_shown(lambda shown: all(with_text(shown, answer) for answer in answers))
    found = [answer for message in shown for answer in answers if message in with_text(shown, answer)]
    assert found == [*answers], f"shown are {found}, in place of {answers}"
    return shown


def with_text(shown: Sequence[Shown], text: str) -> list[Shown]:
    """Return the messages that contain the text, without placeholders that are still being written."""
    final = (
        message
        for message in shown
        if text == chat_messages.WORKING or not message.text.startswith(chat_messages.WORKING)
    )
    return [message for message in final if text in _without_handle(message.text)]


def _without_handle(text: str) -> str:
    """The line below an answer ends with the handle of its thread, which is made of the first message."""
    before, _, last = text.rstrip().rpartition(" · ")
    return before if before and last.split() == [last] else text


async def start_working(stage: Stage, clew: Daemon) -> Sequence[Shown]:
    """Start a turn that waits at the hold `here` before it answers `alpha`. With `can.edit`, wait for its
    placeholder."""
    await stage.say("!hold here\n!text alpha")
    await clew.wait_held("here")
    return await stage.wait_shown(lambda shown: not clew.surface.can.edit or with_text(shown, chat_messages.WORKING))


async def wait_accepted(stage: Stage, clew: Daemon, message: str) -> None:
    """Wait until a message is accepted and, with `Backlog.PLATFORM`, acknowledged."""
    if clew.surface.can.backlog is Backlog.PLATFORM:
        await stage.wait_acknowledged(message)
    else:
        await clew.surface.wait_until(lambda: message in clew.surface.accepted_ids)


def cards(shown: Sequence[Shown]) -> list[Shown]:
    """Return the messages with buttons, without placeholders, which have one that stops the turn."""
    return [message for message in shown if message.buttons and message.buttons != (chat_messages.STOP_BUTTON,)]
