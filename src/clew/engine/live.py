"""Live fan-out: publishes committed log entries and open (unfinished) texts to subscribers.

Each frame is encoded once and shared by all subscribers; pieces of text that arrive in one iteration of the event loop
become one frame. A subscriber that falls behind is cut with a hint, so that a slow reader costs no memory. It decides
nothing, and nothing waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from clew.model.events.kinds import EventKind
from clew.model.events.live import Announced, Cut, LiveEvent, OpenText, TextDone, TextPiece, WrittenText
from clew.model.events.long_text import GrowingText, grown
from clew.model.surface import Outgoing
from clew.store.base import Entry
from clew.support.coded import plain
from clew.support.text import LONGEST

MAILBOX = 20_000  # frames
_encode = msgspec.json.Encoder(enc_hook=plain).encode


class Frame(Struct, frozen=True):
    kind: str
    seq: int | None  # sequence number in the log; None if the frame is not stored
    data: bytes  # JSON

    @property
    def wire(self) -> bytes:
        """As a server-sent event."""
        head = b"" if self.seq is None else b"id: %d\n" % self.seq
        return b"%sevent: %s\ndata: %s\n\n" % (head, self.kind.encode(), self.data)


def frame_of(entry: Entry) -> Frame:
    body = {
        "seq": entry.seq,
        "thread": entry.thread,
        "turn": entry.turn,
        "kind": entry.kind,
        "at": entry.at,
        "data": entry.data,
    }
    return Frame(entry.kind, entry.seq, _encode(body))


@dataclass(slots=True)
class _Open:
    """An open text: its item is not done yet."""

    turn: str
    kind: str
    written: GrowingText
    offset: int = 0  # of the first piece; not 0 if an earlier daemon received the beginning


@dataclass(slots=True)
class _Unsent:
    """Pieces of one item that are sent together at the end of this iteration of the event loop."""

    turn: str
    item: str
    offset: int
    pieces: list[str]


class Subscription:
    """A bounded queue of frames. Enter it with `with`, then call `batch` until it is closed."""

    def __init__(self, live: Live, thread: str | None) -> None:
        self._live = live
        self._thread = thread
        self._frames: deque[Frame] = deque()
        self._wake = asyncio.Event()
        self.closed = False

    def __enter__(self) -> Subscription:
        self._live._join(self._thread, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._live._leave(self._thread, self)

    @property
    def waiting(self) -> int:
        return len(self._frames)

    def put(self, frame: Frame) -> None:
        if self.closed:
            return
        if len(self._frames) >= MAILBOX:
            self._frames.clear()
            frame = Frame(EventKind.CUT, None, _encode(Cut("too slow", "connect again with Last-Event-ID")))
            self.closed = True
        self._frames.append(frame)
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def batch(self) -> list[Frame]:
        """Wait for at least one frame and return all; empty if closed."""
        while not self._frames and not self.closed:
            self._wake.clear()
            await self._wake.wait()
        frames = list(self._frames)
        self._frames.clear()
        return frames


class Live:
    def __init__(self, longest_text: int = LONGEST) -> None:
        self._longest = longest_text  # for runtimes that do not limit their texts themselves
        self._subscriptions: dict[str | None, list[Subscription]] = {}
        self._open: dict[str, dict[str, _Open]] = {}
        self._written: dict[str, dict[str, _Open]] = {}  # done texts of the running turn, perhaps not stored yet
        self._unsent: dict[str, _Unsent] = {}

    def subscribe(self, thread: str | None) -> Subscription:
        return Subscription(self, thread)

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        for entry in entries:
            if self._watched(entry.thread):
                self._send(entry.thread, frame_of(entry))

    def text(self, thread: str, turn: str, item: str, offset: int, text: str) -> None:
        """Publish a piece of an open text."""
        texts = self._open.setdefault(thread, {})
        if (opened := texts.get(item)) is None:
            opened = texts[item] = _Open(turn, "text", GrowingText(self._longest), offset)
        shown = opened.written.add(text)
        if shown and self._watched(thread):
            self._collect(thread, _Unsent(turn, item, offset, [shown]))

    def text_done(self, thread: str, turn: str, item: str, text: str, *, cut: bool) -> None:
        self._open.get(thread, {}).pop(item, None)
        if not cut:
            self._written.setdefault(thread, {})[item] = _Open(turn, "text", grown(text, self._longest))
        if self._watched(thread):
            self.say(thread, turn, TextDone(item, text, cut))

    def say(self, thread: str, turn: str | None, happened: LiveEvent) -> None:
        """Publish an event that is not stored."""
        if self._watched(thread):
            self._send(thread, _unstored(thread, turn, happened))

    def open_texts(self, thread: str) -> dict[str, str]:
        """Open texts by item. Leaves out those whose beginning went to an earlier daemon: they are incomplete."""
        texts = self._open.get(thread, {})
        return {item: opened.written.whole() for item, opened in texts.items() if not opened.offset}

    def open_length(self, thread: str) -> int:
        """Total length of the open texts, in characters."""
        return sum(opened.written.length for opened in self._open.get(thread, {}).values())

    def turn_over(self, thread: str) -> None:
        self._open.pop(thread, None)
        self._written.pop(thread, None)

    def announce(self, outgoing: Outgoing) -> bool:
        """Show a line to the thread's current subscribers. False if there are none."""
        if not self._subscriptions.get(outgoing.thread):
            return False
        self.say(outgoing.thread, outgoing.turn, Announced(outgoing.text, outgoing.id))
        return True

    @property
    def watchers(self) -> int:
        return sum(map(len, self._subscriptions.values()))

    @property
    def furthest_behind(self) -> int:
        """How many frames the slowest subscriber has not fetched."""
        every = (each for some in self._subscriptions.values() for each in some)
        return max((each.waiting for each in every), default=0)

    def close(self) -> None:
        """Close every subscription; clients reconnect after a restart."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.close()

    def _watched(self, thread: str) -> bool:
        return bool(self._subscriptions) and (thread in self._subscriptions or None in self._subscriptions)

    def _collect(self, thread: str, more: _Unsent) -> None:
        unsent = self._unsent.get(thread)
        if unsent is not None and unsent.item == more.item:
            unsent.pieces += more.pieces
            return
        self._flush(thread)
        self._unsent[thread] = more
        asyncio.get_running_loop().call_soon(self._flush, thread)

    def _flush(self, thread: str) -> None:
        unsent = self._unsent.pop(thread, None)
        if unsent is not None:
            text = "".join(unsent.pieces)
            self.say(thread, unsent.turn, TextPiece(unsent.item, unsent.offset, text))

    def _send(self, thread: str, frame: Frame) -> None:
        self._flush(thread)  # so that no frame overtakes the text before it
        for key in (thread, None):
            for subscription in self._subscriptions.get(key, ()):
                subscription.put(frame)

    def _join(self, thread: str | None, subscription: Subscription) -> None:
        """Subscribe. The texts of the running turn come first: done ones as `written`, open ones as `open`."""
        for name in [thread] if thread is not None else {**self._written, **self._open}:
            self._flush(name)
            for so_far, texts in ((WrittenText, self._written), (OpenText, self._open)):
                for item, text in texts.get(name, {}).items():
                    shown = so_far(item, text.kind, text.written.whole(), text.offset)
                    subscription.put(_unstored(name, text.turn, shown))
        self._subscriptions.setdefault(thread, []).append(subscription)

    def _leave(self, thread: str | None, subscription: Subscription) -> None:
        remaining = self._subscriptions.get(thread, [])
        remaining.remove(subscription)
        if not remaining:
            del self._subscriptions[thread]


def _unstored(thread: str, turn: str | None, happened: LiveEvent) -> Frame:
    return Frame(happened.event, None, _encode({"thread": thread, "turn": turn, **asdict(happened)}))
