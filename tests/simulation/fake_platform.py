"""A chat platform as unreliable as real ones (slow, busy, unreachable, lost responses), and a surface for it. The
platform outlives every daemon, and sends unacknowledged messages again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Conversation, Fate, Inbound
from clew.model.surface import Backlog, Down, Gone, Inbox, InDoubt, Never, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.support.errors import StoreError
from tests.simulation.clock import EPOCH


class Showing(NamedTuple):
    """What people saw of one delivery."""

    number: int  # order of first appearance
    at: float  # when it first appeared
    text: str
    note: str


@dataclass(slots=True)
class Post:
    """A message that people see in a conversation."""

    id: str
    key: str  # the delivery's id
    kind: DeliveryKind
    conversation: str
    text: str
    note: str
    turn: str | None
    thread: str
    buttons: tuple[Button, ...]
    told: dict[str, Showing] = field(default_factory=dict)  # all deliveries that it has shown


@dataclass(slots=True)
class Letter:
    """A message of a person, and how often the platform delivers it."""

    at: float
    conversation: str
    id: str
    text: str
    copies: int = 1
    queue: bool = False
    late: float = 0.0  # delay in seconds
    quoted: str | None = None  # the message that it quotes, or whose button was pressed
    pressed: bool = False
    saw: tuple[str, ...] = ()  # of a button: codes of the open gates on the card
    about: str = ""  # of a button: the thread of the card


GONE = "this room is gone"
EVERYBODY = "everybody"  # who may speak there
HOME = "simulated-home"  # the direct chat of the owner
GROUP = "simulated-group"  # the home in some stories; nobody asks anything there
OWNER = "owner"
POCKET = "pocket"  # the second surface; prefix of its conversations
CLASSES = {
    "keyed": SurfaceCan(idempotency_window=3600.0, backlog=Backlog.PLATFORM, chat=True, buttons=8),
    "readable": SurfaceCan(read_back=True, backlog=Backlog.PLATFORM),
    "editable": SurfaceCan(edit=True, backlog=Backlog.PLATFORM, chat=True, max_length=2000, buttons=8),
    "plain": SurfaceCan(backlog=Backlog.PLATFORM),
}


def loop_time() -> float:
    return asyncio.get_running_loop().time()


def surface_of(conversation: str) -> str:
    return POCKET if conversation.startswith(POCKET) else "simulated"


@dataclass(slots=True)
class Platform:
    """The platform, which outlives the daemons."""

    chance: random.Random
    kind: str
    faults: float
    tell: Callable[[str], None]
    posts: list[Post] = field(default_factory=list)
    showings: int = 0
    letters: list[Letter] = field(default_factory=list)
    replies: Callable[[Post], None] = lambda post: None
    leaving: Callable[[str], None] = lambda delivery: None
    listeners: list[Callable[[], None]] = field(default_factory=list)  # called when something is shown
    topics: list[str] = field(default_factory=list)  # opened platform threads, by conversation
    gone: str = ""  # a room that refuses everything
    gone_at: float = 0.0
    fates: dict[str, Fate] = field(default_factory=dict)  # the result of each letter, as its sender was told

    @staticmethod
    def clock(at: float) -> int:
        """The time in whole seconds, as many platforms give it."""
        return (EPOCH // 1000 + int(at)) * 1000

    def show(self, outgoing: Outgoing) -> Post:
        known = next((post for post in self.posts if post.key == outgoing.id), None)
        if known is not None and self.kind == "keyed":
            return known
        post = Post(
            f"post-{len(self.posts) + 1}",
            outgoing.id,
            outgoing.kind,
            outgoing.conversation.address,
            outgoing.text,
            outgoing.note,
            outgoing.turn,
            outgoing.thread,
            outgoing.buttons,
        )
        self.posts.append(post)
        self.tell(f"platform shows {post.key} in {post.conversation}: {post.text[:50]!r} {post.note}")
        self.shown(post)
        return post

    def shown(self, post: Post) -> None:
        self.showings += 1
        number, at = post.told[post.key][:2] if post.key in post.told else (self.showings, loop_time())
        post.told[post.key] = Showing(number, at, post.text, post.note)
        self.replies(post)
        for listener in self.listeners:
            listener()

    def open_topic(self) -> str:
        self.topics.append(f"{POCKET}-topic-{len(self.topics) + 1}")
        self.tell(f"platform opens {self.topics[-1]}")
        return self.topics[-1]


class SimulatedSurface:
    """The surface of one daemon."""

    def __init__(self, platform: Platform, name: str = "simulated") -> None:
        self._platform = platform
        self.name = name
        self.can = CLASSES[platform.kind]
        if name == POCKET:
            self.can = replace(self.can, chat=True, threads=True)
        self.trouble = ""
        self.alive = True

    def resolve(self, address: str) -> Conversation:
        return Conversation(self.name, address or f"{self.name}-home")

    async def run(self, inbox: Inbox) -> None:
        """Deliver each letter until it was acknowledged as often as the platform sends it."""
        shown = asyncio.Event()
        self._platform.listeners.append(shown.set)
        async with asyncio.TaskGroup() as group:
            known = 0
            while True:
                shown.clear()
                for letter in self._platform.letters[known:]:
                    if surface_of(letter.conversation) == self.name:
                        group.create_task(self._receive(inbox, letter))
                known = len(self._platform.letters)
                await shown.wait()

    async def _receive(self, inbox: Inbox, letter: Letter) -> None:
        await asyncio.sleep(max(0.0, letter.at + letter.late - loop_time()))
        while letter.copies > 0:
            where = Conversation(self.name, letter.conversation)
            said_at = self._platform.clock(letter.at)
            inbound = Inbound(
                where,
                letter.id,
                letter.id,
                letter.text,
                sent_at=None if letter.pressed else said_at,  # as platforms do
                queue=letter.queue,
                sender_id=EVERYBODY,
                quoted=letter.quoted,
                pressed=letter.pressed,
            )
            try:
                accepted = await inbox.accept(inbound)
            except StoreError:  # unacknowledged, so the platform sends it again
                await asyncio.sleep(1.0)
                continue
            self._platform.tell(f"{letter.id} in {letter.conversation}: {accepted.fate} {accepted.words[:60]!r}")
            self._platform.fates[letter.id] = accepted.fate
            letter.copies -= 1
            await asyncio.sleep(self._platform.chance.random())

    async def send(self, outgoing: Outgoing) -> Receipt:
        chance = self._platform.chance
        self._platform.leaving(outgoing.id)
        await asyncio.sleep(chance.random() * 0.5)
        if not self.alive or chance.random() < self._platform.faults:
            self._fail(outgoing)
        if outgoing.conversation.address == self._platform.gone and loop_time() >= self._platform.gone_at:
            self._platform.tell(f"{outgoing.id} is refused: {self._platform.gone} is gone")
            raise Gone(GONE)
        post = self._platform.show(outgoing)
        await asyncio.sleep(chance.random() * 0.2)
        if chance.random() < self._platform.faults / 2:
            raise InDoubt("the answer was lost")
        return Receipt(outgoing.conversation, post.id)

    def _fail(self, outgoing: Outgoing) -> None:
        self._platform.tell(f"{outgoing.id} does not get through")
        kinds = (Down("no network"), TryAgain("busy", 3.0), TryAgain("error 500"), InDoubt("lost on the way"))
        raise self._platform.chance.choice(kinds)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        chance = self._platform.chance
        await asyncio.sleep(chance.random() * 0.2)
        if not self.alive or chance.random() < self._platform.faults:
            self._fail(outgoing)
        for post in self._platform.posts:
            if post.id == receipt.message_id:
                post.key, post.kind, post.text, post.note = outgoing.id, outgoing.kind, outgoing.text, outgoing.note
                post.buttons = outgoing.buttons
                self._platform.tell(f"platform edits {post.id} into {post.key}")
                self._platform.shown(post)

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        await asyncio.sleep(self._platform.chance.random() * 0.2)
        known = next((post for post in self._platform.posts if post.key == outgoing.id), None)
        return Receipt(outgoing.conversation, known.id) if known else None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """Open a thread; sometimes it fails, sometimes the response is lost."""
        chance = self._platform.chance
        await asyncio.sleep(chance.random() * 0.5)
        if not self.alive or chance.random() < self._platform.faults:
            raise chance.choice((Down("no network"), TryAgain("busy", 3.0), Never("no more topics")))
        if chance.random() < 0.2:
            return None
        topic = self._platform.open_topic()
        await asyncio.sleep(chance.random() * 0.2)
        if chance.random() < self._platform.faults / 2:
            raise InDoubt("the answer was lost")
        return Conversation(self.name, topic)

    def parent(self, conversation: Conversation) -> Conversation | None:
        return self.resolve("") if conversation.address in self._platform.topics else None

    async def close(self) -> None:
        return
