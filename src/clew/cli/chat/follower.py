"""Shows the events of the current thread, in a background thread, while the prompt waits for the next line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from clew.cli.follow import ThreadRenderer, settings_line
from clew.cli.language import in_locale, person, phrase, said
from clew.cli.view.events import InfoLine, Piece, TextChunk
from clew.cli.view.gates import typing_hints
from clew.cli.view.text_width import duration, fit, one_line
from clew.cli.view.threads import described
from clew.client import requests
from clew.client.events import (
    AgentSwitched,
    DriverChanged,
    Event,
    Hello,
    OpinionGiven,
    SettingsChanged,
    StatusChanged,
    SteerOffered,
    TurnQueued,
)
from clew.client.sync import Client, Closed
from clew.model.gate_views import GateView
from clew.model.views import Passage, ThreadView
from clew.support.errors import ClewError
from clew.support.home import Home
from clew.support.text import agent_name, visible

SHORT = 100  # columns of an earlier message
OPEN = ("running", "waiting")
LOCAL = "cli"
Show = Callable[[Sequence[Piece], Sequence[GateView]], None]  # takes the output, and the gates that are open then


class Follower(threading.Thread):
    """`after` is the number of the last event shown; None: show the last messages first, then new events.

    `is_own` recognizes messages sent from here; messages from elsewhere are shown.
    `running` is the start time of the running turn, `away` the time when the connection was lost; else None.
    `asks` is the last shown question of the thread, if it is suspended.
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
        self._stream_client = Client(home, say=self._on_lost)
        self._client = Client(home)
        self._renderer = ThreadRenderer(self._client, thread, typing_hints, after)
        self._show = show
        self._is_new = after is None
        self._is_own = is_own
        self.thread_id = thread
        self.running: float | None = None
        self.away: float | None = None
        self.asks: str | None = None

    @property
    def handle(self) -> str:
        """What people type for the thread; its id until the daemon has told it."""
        return self._renderer.handle

    @property
    def after(self) -> int | None:
        return self._renderer.after

    def run(self) -> None:
        try:
            for event in self._stream_client.events(self.thread_id, self._renderer.after):
                self._emit(self._render(event))
        except Closed:
            return
        except ClewError as error:
            self._emit([InfoLine(f"clew: {in_locale(error.words)}")])
        finally:
            self.running = self.away = None

    def leave(self) -> None:
        self._stream_client.close()

    def _emit(self, pieces: Sequence[Piece]) -> None:
        self._show(pieces, self._renderer.gates.open)

    def _on_lost(self, words: str) -> None:
        """Called at each failed reconnect; it is reported once, after the reconnect."""
        self.away = self.away or time.monotonic()

    def _render(self, event: Event) -> list[Piece]:
        pieces: list[Piece] = []
        what = event.what
        if isinstance(what, Hello):
            pieces += self._reconnected() if not self._is_new else self._recap()
            self._is_new = False
        if text := self._message_of(event):
            pieces += (
                []
                if self._is_own(text)
                else [InfoLine(phrase("cli_chat.from_elsewhere", text=fit(one_line(text), SHORT)))]
            )
        if isinstance(what, DriverChanged) and what.where != LOCAL:
            pieces.append(InfoLine(phrase("cli_chat.continues_in", where=what.where)))
        if isinstance(what, AgentSwitched):
            by, name = one_line(person(what.by)), agent_name(what.runtime)
            pieces.append(InfoLine(phrase("cli_chat.agent_switched", agent=name, by=by)))
        if isinstance(what, OpinionGiven):
            pieces += self._opinion()
        if isinstance(what, SettingsChanged):
            pieces.append(InfoLine(phrase("cli_chat.settings_changed", what=one_line(settings_line(what)))))
        pieces += self._renderer.render(event)
        if isinstance(what, StatusChanged):
            pieces += self._suspension()
        self._note_running()
        return pieces

    def _opinion(self) -> list[Piece]:
        """The newest opinion that was quoted into the thread."""
        entries = self._client.ask(requests.transcript(self.thread_id, limit=4))
        for entry in reversed(entries):
            if entry.asked is not None:
                question = fit(one_line(entry.asked.question), SHORT)
                head = phrase("cli_chat.agent_was_asked", agent=agent_name(entry.author), question=question)
                return [InfoLine(head), *(InfoLine(visible(line)) for line in entry.text.splitlines())]
        return []

    def _message_of(self, event: Event) -> str | None:
        """The text of a message that a person just sent, here or elsewhere."""
        match event.what:
            case SteerOffered(message):
                steers = self._client.ask(requests.steers(event.turn or ""))
                return next((each.text for each in steers if each.message == message), None)
            case TurnQueued() as queued if _is_from_a_person(queued):
                return self._client.ask(requests.turn(event.turn or "")).request
        return None

    def _note_running(self) -> None:
        if self._renderer.running is None:
            self.running = None
        elif self.running is None:
            self.running = time.monotonic()

    def _reconnected(self) -> list[Piece]:
        if self.away is None:
            return []
        gone, self.away = time.monotonic() - self.away, None
        return [InfoLine(phrase("cli_chat.reconnected", gone=duration(gone)))]

    def _recap(self) -> list[Piece]:
        """The current thread, and its last messages."""
        thread = self._client.ask(requests.thread(self.thread_id))
        self.asks = thread.asks
        entries = self._client.ask(requests.transcript(self.thread_id, limit=2))
        for entry in entries:
            if entry.role == "agent" and entry.state not in OPEN:
                self._renderer.renderer.close(entry.turn or "")
        return recap(thread, entries)

    def _suspension(self) -> list[Piece]:
        thread = self._client.ask(requests.thread(self.thread_id))
        self.asks = thread.asks
        return suspension_lines(thread)


def _is_from_a_person(queued: TurnQueued) -> bool:
    """Whether a person sent it, and clew did not queue it by itself."""
    is_again = queued.again or queued.continues
    return queued.origin in ("message", "resume") and not is_again


def recap(thread: ThreadView, entries: Sequence[Passage]) -> list[Piece]:
    pieces: list[Piece] = [InfoLine(f"· {described(thread)}")]
    for entry in entries:
        if entry.state in OPEN or not entry.text:
            continue
        if entry.role == "agent":
            pieces.append(TextChunk(f"{entry.text}\n", fresh=True))
        else:
            pieces.append(InfoLine(f"{person(entry.author)}: {fit(one_line(entry.text), SHORT)}"))
    return [*pieces, *suspension_lines(thread)]


def suspension_lines(thread: ThreadView) -> list[Piece]:
    """The question of a suspended thread."""
    message = said(thread, "suspend_message") if thread.status == "suspended" else None
    return [InfoLine(f"· {line}") for line in (message or "").splitlines()]
