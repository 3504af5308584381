"""The real engine on a real database in a folder, with the scripted runtime and a surface that records deliveries.

async with Rig(tmp_path) as rig:
    accepted = await rig.say("!text hello")
    await rig.ended(accepted.turn)
    assert rig.room.texts == ["hello"]
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from clew.config.settings import Config, InboxConfig, ThreadsConfig, TurnsConfig
from clew.engine.core import Core
from clew.engine.engine import NO_HOOKS, Engine
from clew.engine.gates import dispatch
from clew.engine.seams import Hooks
from clew.model.gates import Gate
from clew.model.messages import LOCAL_CLIENT, Accepted, Conversation, Inbound, Person, Role
from clew.model.runtime import Runtime, Session
from clew.model.surface import Inbox, Never, NotSent, Outgoing, Receipt, Surface, SurfaceCan
from clew.model.threads import SessionKey, ThreadKind
from clew.model.views import NewThread, TurnView
from clew.store import Entry, Store
from clew.store.tables import deliveries, people
from clew.support.clock import Clock, SystemClock
from clew.support.errors import BadInput
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.stores import open_quickly

TIMEOUT = 60.0  # seconds that anything may take at most


@dataclass
class Room:
    """A surface that records every delivery. It raises `troubles` one by one instead of sending, and the errors in
    `after` one by one after sending."""

    can: SurfaceCan = field(default_factory=SurfaceCan)
    name: str = "room"
    trouble: str = ""
    sent: list[Outgoing] = field(default_factory=list)
    edits: list[tuple[str, Outgoing]] = field(default_factory=list)
    troubles: list[NotSent] = field(default_factory=list)
    after: list[NotSent] = field(default_factory=list)
    hold: asyncio.Event | None = None
    refuses: str = ""  # for good, what has this in its id
    reacted: list[str] = field(default_factory=list)
    react_error: Exception | None = None
    marked: asyncio.Event = field(default_factory=asyncio.Event)
    edited: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def texts(self) -> list[str]:
        return [outgoing.text for outgoing in self.sent]

    def resolve(self, address: str) -> Conversation:
        return Conversation(self.name, address)

    async def run(self, inbox: Inbox) -> None:
        await asyncio.Event().wait()

    async def send(self, outgoing: Outgoing) -> Receipt:
        if self.hold is not None:
            await self.hold.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        if self.refuses and self.refuses in outgoing.id:
            raise Never("refused")
        self.sent.append(outgoing)
        if self.after:
            raise self.after.pop(0)
        return Receipt(outgoing.conversation, f"message-{len(self.sent)}")

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        self.edits.append((receipt.message_id, outgoing))
        self.edited.set()

    async def react(self, where: Conversation, message: str) -> None:
        self.reacted.append(message)
        self.marked.set()
        if self.react_error is not None:
            raise self.react_error

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        known = [number for number, sent in enumerate(self.sent, 1) if sent.id == outgoing.id]
        return Receipt(outgoing.conversation, f"message-{known[0]}") if known else None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return None

    def parent(self, conversation: Conversation) -> Conversation | None:
        chat, _, topic = conversation.address.partition("/")
        return Conversation(self.name, chat) if topic else None

    async def close(self) -> None:
        return


class Homeless(Room):
    """A surface whose config names no home, until `fixed` is set."""

    fixed = ""

    def resolve(self, address: str) -> Conversation:
        if not address and not self.fixed:
            raise BadInput("name a conversation")
        return Conversation(self.name, address or self.fixed)


SEND = dispatch._send_one


class Rig:
    """The engine of one daemon. Leaving it cancels everything at once and leaves the rows as a killed process would; a
    second Rig on the same folder is the next daemon."""

    _numbers = itertools.count(1)

    def __init__(
        self,
        folder: Path,
        *,
        room: Room | None = None,
        runtime: Runtime | None = None,
        clock: Clock | None = None,
        config: Config | None = None,
        outlives: bool = False,
        surfaces: Mapping[str, Surface] | None = None,
        more: Mapping[str, Runtime] | None = None,
        hooks: Hooks = NO_HOOKS,
        debounce: float = 0.0,
        memory: Callable[[], int] = lambda: 0,
        memory_limit: int = 0,
    ) -> None:
        """`debounce`: seconds that a message waits for more of its sender; by default none waits."""
        self.folder = folder
        self.clock = clock or SystemClock()
        self.room = room or Room()
        self.store: Store = open_quickly(folder / "clew.db", self.clock)
        self.scripted = ScriptedRuntime(self.clock, FileLedger(folder / "scripted"), outlives=outlives)
        given = config or Config(threads=ThreadsConfig(runtime="scripted"))
        self.config = replace(given, inbox=replace(given.inbox, debounce=debounce))
        self._entries: list[Entry] = []
        self._holds_answers = False
        self._news = asyncio.Event()
        self.store.listen(self._hear)
        self.engine = Engine(
            store=self.store,
            clock=self.clock,
            config=self.config,
            incarnation=f"rig-{next(self._numbers)}",
            runtimes={"scripted": runtime or self.scripted, **(more or {})},
            surfaces={"room": self.room} if surfaces is None else surfaces,
            workspace=str(folder),
            files=folder / "files",
            hooks=hooks,
            memory=memory,
            memory_limit=memory_limit,
        )
        self._task: asyncio.Task[None] | None = None
        self._dead = False

    async def __aenter__(self) -> Rig:
        ready = asyncio.Event()
        self._task = asyncio.create_task(self.engine.run(ready.set))
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait([self._task, asyncio.create_task(ready.wait())], return_when="FIRST_COMPLETED")
        if self._task.done():
            self._task.result()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.kill()

    async def kill(self) -> None:
        """Stop the engine at once. The rows stay as they are."""
        if self._dead:
            return
        self._dead = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._holds_answers:
            dispatch._send_one = SEND
        await asyncio.to_thread(self.store.close)

    def hold_answers(self) -> None:
        """From now on this daemon sends no answer to a runtime, whatever it was about to do."""

        async def hold(core: Core, session: Session, gate: Gate) -> None:
            return

        self._holds_answers = True
        dispatch._send_one = hold

    # What people do

    def where(self, room: str = "a") -> Conversation:
        return Conversation("room", room)

    async def allow(self, sender_id: str) -> None:
        """Allow somebody to write, if the room is a chat."""
        person = Person("room", sender_id, "ann", Role.OWNER, 0, "test")
        await self.store.write(lambda tx: people.add(tx, person))

    async def say(self, text: str, *, id: str | None = None, room: str = "a", **more: object) -> Accepted:
        """Send a message in a room."""
        inbound = Inbound(self.where(room), id or self.clock.ulid(), "ann", text, **more)  # type: ignore[arg-type]
        return await self.engine.inbox.accept(inbound)

    async def start(self, text: str, *, kind: ThreadKind = ThreadKind.TASK, **more: object) -> Accepted:
        """Start a thread as the local client does."""
        new = NewThread(self.clock.ulid(), text, kind=kind, **more)  # type: ignore[arg-type]
        return await self.engine.threads.start(new)

    async def send(self, thread: str | None, text: str, *, queue: bool = False) -> Accepted:
        return await self.engine.inbox.accept(
            Inbound(LOCAL_CLIENT, self.clock.ulid(), "ann", text, thread=thread, queue=queue)
        )

    def fall_silent(self, turn: str | None) -> None:
        """Let the silence timeout of a turn expire now."""
        patience = self.engine._runner._consumers[turn or ""]._timeout
        assert patience is not None
        patience.reschedule(asyncio.get_running_loop().time())

    async def hasten(self) -> None:
        """Send postponed deliveries now."""
        await self.store.write(lambda tx: deliveries.retry_now(tx, self.clock.now()))
        for name in self.engine._core.surfaces:
            self.engine._outbox.wake(name)

    async def scripted_session(self, thread: str | None) -> Session:
        """The session that the thread's turn runs on."""
        return self.engine._runner._sessions._open[SessionKey(thread or "", "scripted")]

    # What happens

    async def held(self, name: str) -> None:
        """Wait until a turn is blocked at `!hold NAME`."""
        async with asyncio.timeout(TIMEOUT):
            await self.scripted.holds.held(name)

    async def until(self, happened: Callable[[Entry], bool]) -> Entry:
        """Wait for the first entry of the log, past or future, for which `happened` is true."""
        async with asyncio.timeout(TIMEOUT):
            seen = 0
            while True:
                for entry in self._entries[seen:]:
                    if happened(entry):
                        return entry
                seen = len(self._entries)
                self._news.clear()
                await self._news.wait()

    async def ended(self, turn: str | None) -> TurnView:
        assert turn is not None
        await self.until(lambda entry: entry.kind == "turn.ended" and entry.turn == turn)
        return await self.engine.threads.turn(turn)

    async def started(self, turn: str | None) -> None:
        await self.until(lambda entry: entry.kind == "turn.started" and entry.turn == turn)

    async def delivered(self, delivery: str) -> None:
        """Wait until it is sent. All gates that belong on a card are open by now, so it need not wait for more."""

        def is_it(entry: Entry) -> bool:
            return entry.kind == "delivery.sent" and entry.data["delivery"] == delivery

        if not any(is_it(entry) for entry in self._entries):
            await self.hasten()
        await self.until(is_it)

    async def saw(self, kind: str, thread: str | None = None) -> Entry:
        return await self.until(lambda entry: entry.kind == kind and thread in (None, entry.thread))

    def kinds(self, thread: str | None = None) -> list[str]:
        return [entry.kind for entry in self._entries if thread in (None, entry.thread)]

    def _hear(self, entries: object) -> None:
        self._entries.extend(entries)  # type: ignore[arg-type]
        self._news.set()


def patient(silence: float = 600.0, stale_after: float = 900.0, parallel: int = 16) -> Config:
    return Config(
        threads=ThreadsConfig(runtime="scripted"),
        turns=TurnsConfig(parallel=parallel, silence=silence),
        inbox=InboxConfig(stale_after=stale_after),
    )
