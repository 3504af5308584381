"""Tells what happens in the thread one is in, from a thread of its own, while the prompt waits for the next line."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from clew.cli.follow import Teller
from clew.cli.view.columns import clock, fit, one_line
from clew.cli.view.events import Aside, Piece, TextChunk
from clew.cli.view.gates import by_keys
from clew.client.sync import Client, Event
from clew.support.errors import ClewError
from clew.support.home import Home

SHORT = 100  # columns of what was said before
OPEN = ("running", "waiting")
DESK = "cli"
Show = Callable[[Sequence[Piece], Sequence[Any]], None]  # what is told, and the gates that are open then


class HungUp(ClewError):
    """The person went to another thread."""


class Line(Client):
    """A client whose stream can be ended from another thread."""

    def __init__(self, home: Home, say: Callable[[str], None]) -> None:
        super().__init__(home, say=say)
        self._streaming: http.client.HTTPConnection | None = None
        self._over = False

    def hang_up(self) -> None:
        self._over = True
        door = self._streaming.sock if self._streaming else None
        if door is not None:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)

    def _open(self, method: str, path: str, body: Any, timeout: float | None) -> tuple[Any, http.client.HTTPResponse]:
        self._check()
        opened = super()._open(method, path, body, timeout)
        self._streaming = opened[0]
        self._check()
        return opened

    def _check(self) -> None:
        if self._over:
            raise HungUp("the person went to another thread")


class Follower(threading.Thread):
    """`after` is how far the log was told already; None: what was said last is told first, then what comes.

    `is_own` tells what was said here; what was said elsewhere is told too.
    `running` is when the turn began that is worked on now, and `away` when the daemon went away: None where not so.
    `asks` is the question of the thread that was told last, if it is suspended.
    """

    def __init__(
        self,
        home: Home,
        thread: str,
        show: Show,
        after: int | None = None,
        is_own: Callable[[str], bool] = lambda text: True,
    ) -> None:
        super().__init__(name=f"follow {thread}", daemon=True)
        self._line = Line(home, self._lost)
        self._asking = Client(home)
        self._teller = Teller(self._asking, thread, by_keys, after)
        self._show = show
        self._is_new = after is None
        self._is_own = is_own
        self.thread_id = thread
        self.running: float | None = None
        self.away: float | None = None
        self.asks: str | None = None

    @property
    def after(self) -> int | None:
        return self._teller.after

    def run(self) -> None:
        try:
            for event in self._line.events(self.thread_id, self._teller.after):
                self._tell(self._told(event))
        except HungUp:
            return
        except ClewError as error:
            self._tell([Aside(f"clew: {error.message}")])
        finally:
            self.running = self.away = None

    def leave(self) -> None:
        self._line.hang_up()

    def _tell(self, pieces: Sequence[Piece]) -> None:
        self._show(pieces, self._teller.gates.open)

    def _lost(self, words: str) -> None:
        """Said at each try to come back; told once, when that worked."""
        self.away = self.away or time.monotonic()

    def _told(self, event: Event) -> list[Piece]:
        pieces: list[Piece] = []
        if event.kind == "hello":
            pieces += self._back() if not self._is_new else self._past()
            self._is_new = False
        if text := self._said(event):
            pieces += [] if self._is_own(text) else [Aside(f"· from another place: {fit(one_line(text), SHORT)}")]
        if event.kind == "thread.wheel" and event.data["data"]["where"] != DESK:
            pieces.append(Aside(f"· this goes on in {event.data['data']['where']}"))
        pieces += self._teller.tell(event)
        if event.kind == "thread.status":
            pieces += self._question()
        self._note_running()
        return pieces

    def _said(self, event: Event) -> str | None:
        """What a person just said in the thread, here or elsewhere."""
        if event.kind == "steer.offered":
            steers = self._asking.get("turns", event.data["turn"], "steers")
            return next((each["text"] for each in steers if each["message"] == event.data["data"]["message"]), None)
        if event.kind == "turn.queued" and _is_from_a_person(event.data["data"]):
            return str(self._asking.get("turns", event.data["turn"])["request"])
        return None

    def _note_running(self) -> None:
        if self._teller.running is None:
            self.running = None
        elif self.running is None:
            self.running = time.monotonic()

    def _back(self) -> list[Piece]:
        if self.away is None:
            return []
        gone, self.away = time.monotonic() - self.away, None
        return [Aside(f"· the daemon was away for {clock(gone)}; back again")]

    def _past(self) -> list[Piece]:
        """Where one is, and what was said last."""
        thread = self._asking.get("threads", self.thread_id)
        self.asks = thread["asks"]
        passages = self._asking.get("threads", self.thread_id, "transcript", limit=2)
        for told in passages:
            if told["role"] == "agent" and told["state"] not in OPEN:
                self._teller.story.close(told["turn"])
        return past(thread, passages)

    def _question(self) -> list[Piece]:
        thread = self._asking.get("threads", self.thread_id)
        self.asks = thread["asks"]
        return question(thread)


def _is_from_a_person(queued: Any) -> bool:
    """Not what clew puts in the queue by itself, or again."""
    is_again = queued.get("again") or queued.get("continues")
    return queued["origin"] in ("message", "resume") and not is_again


def past(thread: Any, passages: Sequence[Any]) -> list[Piece]:
    pieces: list[Piece] = [Aside(f"· {thread['id']}, {thread['status']}: {one_line(thread['title'])}")]
    for told in passages:
        if told["state"] in OPEN or not told["text"]:
            continue
        if told["role"] == "agent":
            pieces.append(TextChunk(f"{told['text']}\n", fresh=True))
        else:
            pieces.append(Aside(f"{told['author']}: {fit(one_line(told['text']), SHORT)}"))
    return [*pieces, *question(thread)]


def question(thread: Any) -> list[Piece]:
    """What a suspended thread waits for."""
    message = thread["suspend_message"] if thread["status"] == "suspended" else None
    return [Aside(f"· {line}") for line in (message or "").splitlines()]
