"""Follows a thread: the event stream, and the requests that fill its gaps.

`follow_turn` follows one turn to its end, for `run` and for `chat` without a terminal. A `ThreadRenderer` renders the
events of one thread, for `watch` and `chat`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clew.cli.language import person, phrase, said, word
from clew.cli.view import outcome
from clew.cli.view.events import EventRenderer, InfoLine, Piece, activity_line, indent, summary
from clew.cli.view.gates import AnswerHints, Gates, command_hints
from clew.cli.view.screen import Screen
from clew.cli.view.text_width import fit, one_line
from clew.cli.view.threads import named, thread_table
from clew.client import requests
from clew.client.events import (
    ActivityChanged,
    AgentSwitched,
    Announced,
    Event,
    Hello,
    OpinionGiven,
    Reset,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
    event_of,
)
from clew.client.wire import Frame
from clew.model.events.kinds import EventKind
from clew.model.events.logged import Logged

if TYPE_CHECKING:
    from clew.client.sync import Asks, Client
    from clew.model.events.stream import StreamEvent
    from clew.model.gate_views import GateView
    from clew.model.views import ThreadView, TurnView


def working() -> str:
    """The words of the spinner."""
    return phrase("cli_threads.working")


def _waiting_words(renderer: ThreadRenderer) -> str | None:
    """The words of the spinner of `watch`, where nothing can be typed."""
    if renderer.running is None:
        return None
    return phrase("cli_threads.waits_for_you") if _is_blocked(renderer.running, renderer.gates.open) else working()


def follow_turn(
    client: Client,
    thread: str,
    turn: str,
    show: Callable[[list[Piece]], None],
    after: int = 0,
    *,
    how: AnswerHints,
    at_gate: Callable[[Sequence[GateView]], bool],
    renderer: EventRenderer | None = None,
) -> tuple[TurnView, int]:
    """Follow a turn and its continuations to the end. Returns the last turn, and the number of the last event read.

    `at_gate` is called with the open gates after each change, once they are shown. If it returns True while the turn
    waits for a person, this returns before the end of the turn.
    """
    renderer = renderer or EventRenderer()
    gates = Gates(client, thread, how, renderer)
    for event in client.events(thread, after):
        after = event.seq or after
        what = event.what
        if isinstance(what, Hello | Reset) or event.kind.startswith("gate."):
            asked = gates.catch_up(turn) if isinstance(what, Hello | Reset) else gates.take(event)
            view = client.ask(requests.turn(turn))  # after the gate, so that it includes all text before it
            show([*renderer.catch_up(view), *asked])
            if at_gate(gates.open) and view.state == "waiting" and _is_blocked(turn, gates.open):
                return view, after
            is_over = isinstance(what, Reset) and view.ended_at is not None  # the event of its end was pruned
        else:
            is_over = isinstance(what, TurnEnded) and event.turn == turn
        if event.turn == turn:
            show([*renderer.take(event), *_failed_output(client, event)])
        if is_over:
            view = client.ask(requests.turn(turn))
            show(renderer.settle(view, last=True))
            if not view.continued_by:
                return view, after
            show([InfoLine(phrase("cli_threads.continued_after_cut"))])
            turn = view.continued_by
    raise AssertionError("a stream of events ends only by an error")


def _failed_output(client: Asks, event: Event) -> list[Piece]:
    """The last lines of a command that failed."""
    what = event.what
    if not (isinstance(what, ActivityChanged) and what.phase == "done" and what.outcome == "failed" and event.turn):
        return []
    from clew.cli.view.transcript import tail_of

    items = client.ask(requests.turn(event.turn)).items
    outputs = [item.body for item in items if item.item == what.item and item.kind == "command"]
    return [InfoLine(f"    {line}") for output in outputs if output.strip() for line in tail_of(output).splitlines()]


def _is_blocked(turn: str, asked: Sequence[GateView]) -> bool:
    """Whether a shown gate blocks the turn."""
    return any(view.turn == turn and view.blocking for view in asked)


class ThreadRenderer:
    """Renders the events of one thread. `running` is the running turn."""

    def __init__(self, client: Asks, thread: str, hints: AnswerHints, after: int | None = None) -> None:
        self._client = client
        self.thread = thread
        self.after = after
        self.handle = thread  # its id until its handle is known
        self.running: str | None = None
        self.renderer = EventRenderer()
        self.gates = Gates(client, thread, hints, self.renderer)

    def render(self, event: Event) -> list[Piece]:
        self.after = event.seq or self.after
        match event.what:
            case Hello():
                return self._catch_up()
            case Reset():
                return [InfoLine(phrase("cli_threads.older_dropped")), *self._catch_up()]
            case TurnStarted():
                self.running = event.turn
            case TurnEnded():
                return self._ended(event.turn or "")
        failed = _failed_output(self._client, event)
        return [*self.renderer.take(event), *failed, *self.gates.take(event)]

    def _catch_up(self) -> list[Piece]:
        """Render the running turn so far: the stream starts here, or starts again."""
        thread = self._client.ask(requests.thread(self.thread))
        self.handle = named(thread)
        self.running = thread.turn if thread.status == "running" else None
        asked = self.gates.catch_up()
        if self.running is None:
            return asked
        return [*self.renderer.catch_up(self._client.ask(requests.turn(self.running))), *asked]

    def _ended(self, name: str) -> list[Piece]:
        self.running = None if self.running == name else self.running
        turn = self._client.ask(requests.turn(name))
        pieces = self.renderer.settle(turn)
        return [*pieces, InfoLine(_ended(turn))]


class Watcher:
    """The output of `clew watch`: for one thread its text and activities, for all threads a line for each change."""

    def __init__(self, client: Asks, screen: Screen, thread: str | None, as_json: bool) -> None:
        self._client = client
        self._screen = screen
        self._thread = thread
        self._last: dict[str, str] = {}  # the line that was shown for a thread
        self._as_json = as_json
        self._renderer = ThreadRenderer(client, thread, command_hints) if thread else None
        self._hellos = 0
        self._at_first: ThreadView | None = None
        self._waiting: str | None = None  # the words of the spinner

    def show(self, frame: Frame) -> None:
        is_again = self._hellos > 0
        if frame.kind == EventKind.HELLO:
            if self._thread and not is_again:  # what ends later comes as an event
                self._at_first = self._client.ask(requests.thread(self._thread))
            self._screen.say(phrase("cli_threads.reconnected" if is_again else "cli_threads.watching"))
            self._hellos += 1
        if self._as_json:
            import json  # only scripts need it

            data = json.loads(frame.data) | ({"again": is_again} if frame.kind == EventKind.HELLO else {})
            print(json.dumps({"kind": frame.kind, "seq": frame.seq, "data": data}), flush=True)
        else:
            self._show_event(event_of(frame))

    def outcome(self, frame: Frame) -> int | None:
        """The exit code, if the thread has ended with this event: it does not work, and no answer in its turn can make
        it go on. After a reconnect the events that were missed come first."""
        is_first = frame.kind == EventKind.HELLO and self._hellos == 1
        if self._thread is None or not (is_first or frame.kind in _MAY_END):
            return None
        view = self._at_first if is_first and self._at_first else self._client.ask(requests.thread(self._thread))
        is_told = view.status == "idle" or frame.kind != EventKind.TURN_ENDED  # else its new status is told next
        return outcome.of_thread(self._client, view) if view.status != "running" and is_told else None

    def _show_event(self, event: Event) -> None:
        if self._renderer:
            self._show_thread(self._renderer, event)
        elif event.kind in (EventKind.HELLO, EventKind.RESET):
            for view in reversed(self._client.ask(requests.threads()).threads):
                self._show_line(view)
        elif event.thread and event.seq is not None and event.kind in _CHANGES:
            self._show_line(self._client.ask(requests.thread(event.thread)))

    def _show_line(self, view: ThreadView) -> None:
        """Show the state of a thread, if it has changed."""
        [line] = thread_table([view], time.time(), None)
        state = f"{view.status} {view.gates} {view.last_line} {view.title}"
        if self._last.get(view.id) != state:
            self._last[view.id] = state
            self._screen.write_text(f"{line}\n", fresh=True)

    def _show_thread(self, renderer: ThreadRenderer, event: Event) -> None:
        if isinstance(event.what, TurnEnded):
            self._wait(None)  # before the answer is delivered, perhaps to this terminal
        self._screen.show(renderer.render(event))
        match event.what:
            case Announced(text):
                self._screen.write_line(phrase("cli_threads.the_answer", text=fit(_first_line(text), 120)))
            case _ if event.kind in _HEADLINES and event.kind not in _SHOWN_BY_RENDERER:
                self._screen.write_line(f"· {one_line(_headline(event))}")
        self._wait(_waiting_words(renderer))

    def _wait(self, words: str | None) -> None:
        if words != self._waiting:
            self._screen.wait(words)
        self._waiting = words


_MAY_END = frozenset({EventKind.RESET, EventKind.TURN_ENDED, EventKind.THREAD_STATUS})
_CHANGES = frozenset(
    {
        EventKind.THREAD_CREATED,
        EventKind.THREAD_STATUS,
        EventKind.THREAD_TITLE,
        EventKind.TURN_STARTED,
        EventKind.TURN_ENDED,
        EventKind.GATE_OPENED,
        EventKind.GATE_ANSWERED,
        EventKind.GATE_VOID,
        EventKind.GATE_EXPIRED,
    }
)
_HEADLINES: dict[str, str] = {  # the names of their sentences
    EventKind.THREAD_CREATED: "event_created",
    EventKind.THREAD_STATUS: "event_status",
    EventKind.THREAD_TITLE: "event_title",
    EventKind.THREAD_SETTINGS: "event_settings",
    EventKind.THREAD_SWITCHED: "event_settings",
    EventKind.THREAD_OPINION: "event_opinion",
    EventKind.THREAD_IMPORTED: "event_imported",
    EventKind.THREAD_RELEASED: "event_released",
    EventKind.TURN_QUEUED: "event_queued",
    EventKind.TURN_STARTED: "event_started",
    EventKind.TURN_ENDED: "event_turn",
    EventKind.ACTIVITY: "",
    EventKind.NOTICE: "",
    EventKind.GATE_OPENED: "event_asks",
    EventKind.GATE_ANSWERED: "event_answered",
    EventKind.GATE_VOID: "event_void",
    EventKind.GATE_EXPIRED: "event_expired",
    EventKind.DELIVERY_SENT: "event_delivered",
    EventKind.DELIVERY_FAILED: "event_undelivered",
}


_CODES = frozenset({"state", "status"})
_DETAILS = ("state", "status", "title", "text", "error", "why", "turns")
_SHOWN_BY_RENDERER = frozenset(
    {
        EventKind.ACTIVITY,
        EventKind.NOTICE,
        EventKind.TURN_ENDED,
        *(kind for kind in _HEADLINES if kind.startswith("gate.")),
    }
)


def _headline(event: Event) -> str:
    what = event.what
    if isinstance(what, ActivityChanged):
        line = activity_line(what.activity, what.phase, said(what, "title"), what.outcome)
        return indent(line, 1 if what.parent is not None else 0)
    if isinstance(what, AgentSwitched):
        return _sentence(event.kind, detail=f"{what.former} → {what.runtime} ({person(what.by)})")
    if isinstance(what, OpinionGiven):
        return _sentence(event.kind, detail=f"{what.runtime} ({what.fork})")
    if isinstance(what, SettingsChanged):
        return _sentence(event.kind, detail=settings_line(what))
    detail = next((_detail(what, name) for name in _DETAILS if getattr(what, name, None)), "")
    return _sentence(event.kind, code=getattr(what, "code", ""), detail=detail)


def _detail(what: StreamEvent, name: str) -> str:
    value = getattr(what, name)
    if name in _CODES:
        return word(value)
    return said(what, name) if isinstance(what, Logged) and isinstance(value, str) else str(value)


def _ended(turn: TurnView) -> str:
    if turn.state == "interrupted" and turn.started_at is None:
        return phrase("cli_threads.not_run", text=fit(one_line(turn.request), 100))
    if turn.continued_by:
        return phrase("cli_threads.continued_after_cut")
    return phrase("cli_threads.turn_summary", turn=summary(turn))


def _sentence(kind: str, **args: str) -> str:
    name = _HEADLINES[kind]
    return phrase(f"cli_threads.{name}", **args).strip() if name else args.get("detail", "")


def settings_line(changed: SettingsChanged) -> str:
    """`model=fast policy=careful (ann)`."""
    given = (
        ("model", changed.model),
        ("effort", changed.effort),
        ("policy", changed.policy),
        ("notify", changed.notify),
    )
    return f"{' '.join(f'{name}={value}' for name, value in given if value)} ({person(changed.by)})"


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.splitlines() if line.strip()), ""))
