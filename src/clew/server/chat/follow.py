"""One message followed to its answer, as bytes for a front end. Whoever goes away stops nothing; whoever asks again
with the same message id comes back into the same turn, at what it says by then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, aclosing
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.live import Frame as LiveFrame
from clew.engine.live import Live, Subscription
from clew.engine.services.conversations import ConversationService, Taken, TurnStatus
from clew.model.messages import Accepted, Attachment, Fate, Inbound
from clew.server.chat import inputs as hearing
from clew.server.chat.frames import Done, Error, Frame, Metadata, failure, wire
from clew.server.chat.inputs import (
    Asked,
    Began,
    Ended,
    Heard,
    Lost,
    MovedOn,
    Queued,
    Steered,
    Whole,
    Wrote,
    of_activity,
    safe,
)
from clew.server.chat.reducer import Told, tell
from clew.server.problems import unforeseen
from clew.server.sse import BEAT, HEARTBEAT
from clew.store.tables.items import TEXT, Item
from clew.support.errors import ClewError, StoreError

log = logging.getLogger(__name__)

T = TypeVar("T")
WhyOver = Callable[[], str | None]  # None while the daemon does not stop
Files = Callable[[str], AbstractAsyncContextManager[tuple[Attachment, ...]]]  # by thread: those of the message
AGAIN = "Ask again with the same message_id: the turn goes on without you."
ONCE = "Ask again with the same message_id: it runs once, whatever became of this try."
ENDINGS = {"stopping": "clew is being stopped.", "restarting": "clew is being restarted."}
UNTOLD = frozenset({TEXT, "gate", "notice"})  # items that are no activity
TRIES = 10  # of a read that somebody waits for
PAUSE = 1.0  # seconds between them: less than a daemon that stops leaves to its last answers


async def stream(
    conversing: ConversationService, live: Live, inbound: Inbound, files: Files, why_over: WhyOver
) -> AsyncIterator[bytes]:
    """The whole contract: metadata first, one end last, whatever fails in between."""
    about = About(inbound.conversation.address, inbound.message_id, inbound.runtime)
    is_begun = False
    try:
        async with aclosing(_stream(conversing, live, inbound, files, why_over, about)) as pieces:
            async for piece in pieces:
                is_begun = True
                yield piece
    except Exception as error:  # a front end waits for the end, whatever it was that failed
        yield _together([*(() if is_begun else (about.metadata(),)), _trouble(error, about)])


async def _stream(
    conversing: ConversationService, live: Live, inbound: Inbound, files: Files, why_over: WhyOver, about: About
) -> AsyncGenerator[bytes, None]:
    """Subscribed before it is accepted, where the thread is there already: what falls between is in both, and told
    once. In a new thread nothing happens before we look."""
    with ExitStack() as stack:
        bound = await conversing.bound(inbound.conversation)
        mailbox = stack.enter_context(live.subscribe(bound)) if bound else None
        async with files(bound or inbound.begins or "") as attachments:
            taken = await conversing.accept(replace(inbound, attachments=attachments))
        if taken.standing is None:
            yield _together(_without_turn(about, taken))
            return
        if mailbox is None or taken.standing.thread != bound:
            mailbox = stack.enter_context(live.subscribe(taken.standing.thread))
            taken = await _patiently(partial(conversing.again, taken), why_over)
        async for told in _follow(Following(conversing, about, taken, why_over), mailbox):
            yield told


def _trouble(error: Exception, about: About) -> Error:
    if not isinstance(error, ClewError):
        log.error("the chat stream of message %s broke", about.message_id, exc_info=error)
        return failure("internal", f"{unforeseen(error)}. {ONCE}")
    told = failure(error.code, error.message)
    return replace(told, message=f"{told.message.rstrip('.')}. {ONCE}") if told.retryable else told


async def _patiently(read: Callable[[], Awaitable[T]], why_over: WhyOver) -> T:
    """The turn is stored, and somebody waits for its answer: a read that fails for a moment is tried again."""
    for _ in range(TRIES - 1):
        try:
            return await read()
        except StoreError as error:
            if why_over():
                raise
            log.warning("the chat stream cannot read its turn, trying again: %s", error.message)
        await asyncio.sleep(PAUSE)
    return await read()


async def _follow(following: Following, mailbox: Subscription) -> AsyncIterator[bytes]:
    yield _together(following.first())
    while not following.told.over:
        frames = await _batch(mailbox)
        if frames is None:
            yield BEAT
        elif told := _together(await following.next(frames)):
            yield told


async def _batch(mailbox: Subscription) -> list[LiveFrame] | None:
    """None: nothing for a while. Empty: the daemon stops."""
    try:
        async with asyncio.timeout(HEARTBEAT):
            return await mailbox.batch()
    except TimeoutError:
        return None


class About(Struct, frozen=True):
    conversation_id: str
    message_id: str
    runtime: str | None  # that was asked for

    def metadata(self, taken: Taken | None = None) -> Metadata:
        standing = taken.standing if taken else None
        if taken is None or standing is None:
            thread = taken.accepted.thread if taken else None
            return Metadata(self.conversation_id, self.message_id, thread, runtime=self.runtime)
        return Metadata(
            self.conversation_id,
            self.message_id,
            standing.thread,
            standing.turn,
            standing.runtime,
            standing.model,
            taken.continuity,
        )


def _without_turn(about: About, taken: Taken) -> Iterator[Frame]:
    """What never became a turn: it was refused, or there was nothing to do but to say so."""
    accepted = taken.accepted
    yield about.metadata(taken)
    if accepted.fate is Fate.REFUSED:
        yield failure("refused", accepted.words)
    else:
        yield Done(about.conversation_id, about.message_id, accepted.words, accepted.fate)


class Following:
    """Which turn is followed now, and up to where the rows were told."""

    def __init__(self, conversing: ConversationService, about: About, taken: Taken, why_over: WhyOver) -> None:
        assert taken.standing is not None
        self._conversing = conversing
        self._about = about
        self._taken = taken
        self._why_over = why_over
        self._turn = taken.standing.turn
        self._seen = taken.standing.newest
        self.told = Told(about.conversation_id, about.message_id, taken.standing.runtime)

    def first(self) -> list[Frame]:
        standing = self._taken.standing
        assert standing is not None
        so_far = self._tell(*_fate(self._taken.accepted, standing), *_past(standing))
        ended = self._ended(standing) if standing.ended else []
        return [self._about.metadata(self._taken), *so_far, *ended]

    async def next(self, frames: list[LiveFrame]) -> list[Frame]:
        told: list[Frame] = []
        for frame in frames:
            told += await self._take(frame)
        if not frames:
            code = self._why_over() or "stopping"
            told += self._tell(Lost(code, f"{ENDINGS.get(code, code)} {AGAIN}"))
        return told

    async def _take(self, frame: LiveFrame) -> list[Frame]:
        if frame.seq is not None and frame.seq <= self._seen:
            return []
        if frame.kind == "cut":
            return self._tell(Lost("too_slow", f"This reader was too slow, so its stream was cut. {AGAIN}"))
        line = hearing.read(frame)
        if frame.kind == "steer.queued" and line.turn and line.data.get("message") == self._about.message_id:
            return self._move_on(line.turn, "queued")
        if line.turn != self._turn:
            return []
        if frame.kind == "turn.ended":
            return self._ended(await _patiently(partial(self._conversing.standing, self._turn), self._why_over))
        found = hearing.heard(frame.kind, line)
        return self._tell(found) if found is not None else []

    def _ended(self, standing: TurnStatus) -> list[Frame]:
        if standing.continued_by is not None:
            return self._move_on(standing.continued_by, "continued")
        return self._tell(Ended(standing.state, standing.text, standing.problem, standing.usage))

    def _move_on(self, turn: str, stage: str) -> list[Frame]:
        """What happens there comes in the mailbox: nothing of it has happened yet."""
        self._turn = turn
        return self._tell(MovedOn(stage))

    def _tell(self, *heard: Heard) -> list[Frame]:
        frames: list[Frame] = []
        for each in heard:
            self.told, more = tell(self.told, each)
            frames += more
        return frames


def _fate(accepted: Accepted, standing: TurnStatus) -> Iterator[Heard]:
    """What became of the message, where that is not simply a turn."""
    if accepted.fate is Fate.STEER and not standing.ended:
        yield Steered()
    elif standing.state == "queued" and accepted.words:
        yield Queued(safe(accepted.words))


def _past(standing: TurnStatus) -> Iterator[Heard]:
    """What happened before anybody followed. Of what is over only the end is told."""
    if standing.ended:
        return
    if standing.begun:
        yield Began()
    for item in standing.items:
        yield from _of_item(item)
    for gate in standing.gates:
        yield Asked(gate.gate, gate.code, safe(gate.title))


def _of_item(item: Item) -> Iterator[Heard]:
    if item.kind == TEXT:
        yield Whole(item.item, item.body) if item.phase == "done" else Wrote(item.item, 0, item.body)
    elif item.kind not in UNTOLD:
        yield of_activity(item.kind, item.title, "started", None)
        if item.phase == "done":
            yield of_activity(item.kind, item.title, item.phase, item.outcome)


def _together(frames: Iterable[Frame]) -> bytes:
    return b"".join(map(wire, frames))
