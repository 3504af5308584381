"""Follows one message to its answer, as bytes for a front end. A client that disconnects stops nothing; a request with
the same message id joins the same turn again, at its current text."""

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
from clew.engine.services.conversations import CUT, AcceptedMessage, ConversationService, TurnStatus
from clew.model.events import Phase
from clew.model.events.live import Cut, TextDone, TextPiece
from clew.model.events.logged import ActivityChanged, SteerQueued, TurnEnded, TurnStarted
from clew.model.events.stream import opened, typed
from clew.model.messages import Accepted, Attachment, Fate, Inbound
from clew.model.turns import TEXT, Item
from clew.server.chat.frames import GATE, Done, Error, Frame, Metadata, Progress, failure, wire
from clew.server.chat.inputs import (
    Input,
    Queued,
    Steered,
    StreamEnded,
    TurnReplaced,
    TurnResult,
    safe,
    to_input,
)
from clew.server.chat.reducer import ChatState, reduce
from clew.server.problems import unexpected
from clew.server.sse import BEAT, HEARTBEAT
from clew.support.errors import ClewError, StoreError
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

T = TypeVar("T")
StopReason = Callable[[], str | None]  # returns None while the daemon runs
Files = Callable[[str], AbstractAsyncContextManager[tuple[Attachment, ...]]]  # the files of the message, by thread
ENDINGS = {"stopping": "daemon.stream_stopping", "restarting": "daemon.stream_restarting"}
NOT_ACTIVITIES = frozenset({TEXT, "gate", "notice"})  # kinds of items
TRIES = 10  # of a read from the store
PAUSE = 1.0  # seconds between tries: shorter than the time that a stopping daemon gives open requests


async def stream(
    conversations: ConversationService, live: Live, inbound: Inbound, files: Files, stop_reason: StopReason
) -> AsyncIterator[bytes]:
    """The complete contract: metadata first, one final frame last, whatever fails in between."""
    info = StreamInfo(inbound.conversation.address, inbound.message_id, inbound.runtime)
    is_begun = False
    try:
        async with aclosing(_stream(conversations, live, inbound, files, stop_reason, info)) as pieces:
            async for piece in pieces:
                is_begun = True
                yield piece
    except Exception as error:  # the front end needs a final frame, whatever failed
        yield _encode([*(() if is_begun else (info.metadata(),)), _error_frame(error, info)])


async def _stream(
    conversations: ConversationService,
    live: Live,
    inbound: Inbound,
    files: Files,
    stop_reason: StopReason,
    info: StreamInfo,
) -> AsyncGenerator[bytes, None]:
    """Subscribe before the message is accepted if the thread exists: an event in between is in both, and is sent
    once. A new thread has no earlier events."""
    with ExitStack() as stack:
        bound = await conversations.bound(inbound.conversation)
        subscription = stack.enter_context(live.subscribe(bound)) if bound else None
        async with files(bound or inbound.begins or "") as attachments:
            taken = await conversations.accept(replace(inbound, attachments=attachments))
        if taken.standing is None:
            yield _encode(_without_turn(info, taken))
            return
        if subscription is None or taken.standing.thread != bound:
            subscription = stack.enter_context(live.subscribe(taken.standing.thread))
            taken = await _read_with_retry(partial(conversations.again, taken), stop_reason)
        async for chunk in _follow(TurnFollower(conversations, info, taken, stop_reason), subscription):
            yield chunk


def _error_frame(error: Exception, info: StreamInfo) -> Error:
    if not isinstance(error, ClewError):
        log.error("the chat stream of message %s failed", info.message_id, exc_info=error)
        return failure("internal", say("daemon.stream_failed", why=unexpected(error)))
    frame = failure(error.code, error.words)
    return failure(error.code, say("daemon.stream_failed", why=error.words)) if frame.retryable else frame


async def _read_with_retry(read: Callable[[], Awaitable[T]], stop_reason: StopReason) -> T:
    """Retry a read that fails: the turn is stored, and somebody waits for its answer."""
    for _ in range(TRIES - 1):
        try:
            return await read()
        except StoreError as error:
            if stop_reason():
                raise
            log.warning("the chat stream cannot read its turn, trying again: %s", error.message)
        await asyncio.sleep(PAUSE)
    return await read()


async def _follow(follower: TurnFollower, subscription: Subscription) -> AsyncIterator[bytes]:
    yield follower.handed_over(follower.first())
    while not follower.chat.is_over:
        frames = await _batch(subscription)
        if frames is None:
            yield BEAT
        elif chunk := follower.handed_over(await follower.next(frames)):
            yield chunk


async def _batch(subscription: Subscription) -> list[LiveFrame] | None:
    """None: nothing came in time, so a heartbeat is due. Empty: the daemon stops."""
    try:
        async with asyncio.timeout(HEARTBEAT):
            return await subscription.batch()
    except TimeoutError:
        return None


class StreamInfo(Struct, frozen=True):
    conversation_id: str
    message_id: str
    runtime: str | None  # as requested

    def metadata(self, taken: AcceptedMessage | None = None) -> Metadata:
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


def _without_turn(info: StreamInfo, taken: AcceptedMessage) -> Iterator[Frame]:
    """Frames for a message without a turn: it was refused, or it was a command or an answer."""
    accepted = taken.accepted
    yield info.metadata(taken)
    if accepted.fate is Fate.REFUSED:
        yield failure("refused", accepted.words)
    else:
        yield Done(info.conversation_id, info.message_id, accepted.words, accepted.fate)


class TurnFollower:
    """The turn that is followed now, and up to which event it was sent."""

    def __init__(
        self, conversations: ConversationService, info: StreamInfo, taken: AcceptedMessage, stop_reason: StopReason
    ) -> None:
        assert taken.standing is not None
        self._conversing = conversations
        self._info = info
        self._taken = taken
        self._stop_reason = stop_reason
        self._turn = taken.standing.turn
        self._seen = taken.standing.newest
        self.chat = ChatState(info.conversation_id, info.message_id, taken.standing.runtime)

    def first(self) -> list[Frame]:
        standing = self._taken.standing
        assert standing is not None
        so_far = self._apply(*_fate_inputs(self._taken.accepted, standing), *_history(standing))
        ended = self._ended(standing) if standing.ended else []
        return [self._info.metadata(self._taken), *so_far, *ended]

    def handed_over(self, frames: list[Frame]) -> bytes:
        """As bytes; what is asked in them can be answered from now on."""
        for frame in frames:
            if isinstance(frame, Progress) and frame.stage == GATE and frame.gate is not None:
                self._conversing.has_told(self._info.conversation_id, frame.gate)
            elif isinstance(frame, Error) and frame.code == CUT:
                self._conversing.has_told(self._info.conversation_id, self._turn)
        return _encode(frames)

    async def next(self, frames: list[LiveFrame]) -> list[Frame]:
        found: list[Frame] = []
        for frame in frames:
            found += await self._take(frame)
        if not frames:
            code = self._stop_reason() or "stopping"
            found += self._apply(StreamEnded(code, say(ENDINGS.get(code, "daemon.stream_stopping"))))
        return found

    async def _take(self, frame: LiveFrame) -> list[Frame]:
        if frame.seq is not None and frame.seq <= self._seen:
            return []
        envelope = opened(frame.data)
        event = typed(frame.kind, envelope.data or {})
        if isinstance(event, Cut):
            return self._apply(StreamEnded("too_slow", say("daemon.stream_too_slow")))
        if isinstance(event, SteerQueued) and envelope.turn and event.message == self._info.message_id:
            return self._move_on(envelope.turn, "queued")
        if envelope.turn != self._turn:
            return []
        if isinstance(event, TurnEnded):
            standing = await _read_with_retry(partial(self._conversing.standing, self._turn), self._stop_reason)
            return self._ended(standing)
        found = to_input(event)
        return self._apply(found) if found is not None else []

    def _ended(self, standing: TurnStatus) -> list[Frame]:
        if standing.continued_by is not None:
            return self._move_on(standing.continued_by, "continued")
        return self._apply(TurnResult(standing.state, standing.text, standing.problem, standing.usage))

    def _move_on(self, turn: str, stage: str) -> list[Frame]:
        """Its events come through the subscription: none has happened yet."""
        self._turn = turn
        return self._apply(TurnReplaced(stage))

    def _apply(self, *given: Input) -> list[Frame]:
        frames: list[Frame] = []
        for each in given:
            self.chat, more = reduce(self.chat, each)
            frames += more
        return frames


def _fate_inputs(accepted: Accepted, standing: TurnStatus) -> Iterator[Input]:
    """What became of the message, if it did not simply start a turn."""
    if accepted.fate is Fate.STEER and not standing.ended:
        yield Steered()
    elif standing.state == "queued" and accepted.words:
        yield Queued(safe(accepted.words))


def _history(standing: TurnStatus) -> Iterator[Input]:
    """What happened before the stream started. Of a turn that has ended, only the end is sent."""
    if standing.ended:
        return
    if standing.begun:
        yield TurnStarted()
    for item in standing.items:
        yield from _item_inputs(item)
    for gate in standing.gates:
        yield replace(gate, title=safe(gate.title))


def _item_inputs(item: Item) -> Iterator[Input]:
    if item.kind == TEXT:
        yield TextDone(item.item, item.body) if item.phase == Phase.DONE else TextPiece(item.item, 0, item.body)
    elif item.kind not in NOT_ACTIVITIES:
        title = safe(item.title)
        yield ActivityChanged(item.item, item.kind, Phase.STARTED, title, parent=item.parent)
        if item.phase == Phase.DONE:
            yield ActivityChanged(item.item, item.kind, item.phase, title, item.outcome, item.parent)


def _encode(frames: Iterable[Frame]) -> bytes:
    return b"".join(map(wire, frames))
