"""Follows a thread: the event stream, and the requests that fill its gaps.

`follow_turn` follows one turn to its end, for `run` and for `chat` without a terminal. A `ThreadRenderer` renders the
events of one thread, for `watch` and `chat`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clew.cli.view.columns import fit, one_line
from clew.cli.view.events import EventRenderer, InfoLine, Piece, activity_line, summary
from clew.cli.view.gates import AnswerHints, Gates, command_hints
from clew.cli.view.screen import Screen

if TYPE_CHECKING:
    from clew.client.untyped import JsonClient as Client
    from clew.client.untyped import RawEvent as Event

WORKING = "working"
RELOAD_AT = ("hello", "reset")  # events after which the current state has to be loaded
PRUNED = "· older events are not stored any more; this is the current state"
CUT = "· the turn was cut off and is continued"


def follow_turn(
    client: Client,
    thread: str,
    turn: str,
    show: Callable[[list[Piece]], None],
    after: int = 0,
    *,
    how: AnswerHints,
    at_gate: Callable[[Sequence[Any]], bool],
    renderer: EventRenderer | None = None,
) -> tuple[Any, int]:
    """Follow a turn and its continuations to the end. Returns the last turn, and the number of the last event read.

    `at_gate` is called with the open gates after each change, once they are shown. If it returns True while the turn
    waits for a person, this returns before the end of the turn.
    """
    renderer, gates = renderer or EventRenderer(), Gates(client, thread, how)
    for event in client.raw_events(thread, after):
        after = event.seq or after
        if event.kind in RELOAD_AT or event.kind.startswith("gate."):
            asked = gates.catch_up(turn) if event.kind in RELOAD_AT else gates.take(event)
            view = client.get("turns", turn)  # after the gate, so that it includes all text before it
            show([*renderer.catch_up(view), *asked])
            if at_gate(gates.open) and view["state"] == "waiting" and _is_blocked(turn, gates.open):
                return view, after
            is_over = event.kind == "reset" and view["ended_at"] is not None  # the event of its end was pruned
        else:
            is_over = event.kind == "turn.ended" and event.data.get("turn") == turn
        if event.data.get("turn") == turn:
            show(renderer.take(event))
        if is_over:
            view = client.get("turns", turn)
            show(renderer.settle(view, last=True))
            if not view["continued_by"]:
                return view, after
            show([InfoLine(CUT)])
            turn = view["continued_by"]
    raise AssertionError("a stream of events ends only by an error")


def _is_blocked(turn: str, asked: Sequence[Any]) -> bool:
    """Whether a shown gate blocks the turn."""
    return any(view["turn"] == turn and view["blocking"] for view in asked)


class ThreadRenderer:
    """Renders the events of one thread. `running` is the running turn."""

    def __init__(self, client: Client, thread: str, hints: AnswerHints, after: int | None = None) -> None:
        self._client = client
        self.thread = thread
        self.after = after
        self.running: str | None = None
        self.renderer = EventRenderer()
        self.gates = Gates(client, thread, hints)

    def render(self, event: Event) -> list[Piece]:
        self.after = event.seq or self.after
        match event.kind:
            case "hello":
                return self._catch_up()
            case "reset":
                return [InfoLine(PRUNED), *self._catch_up()]
            case "turn.started":
                self.running = event.data["turn"]
            case "turn.ended":
                return self._ended(event.data["turn"])
        return [*self.renderer.take(event), *self.gates.take(event)]

    def _catch_up(self) -> list[Piece]:
        """Render the running turn so far: the stream starts here, or starts again."""
        thread = self._client.get("threads", self.thread)
        self.running = thread["turn"] if thread["status"] == "running" else None
        asked = self.gates.catch_up()
        if self.running is None:
            return asked
        return [*self.renderer.catch_up(self._client.get("turns", self.running)), *asked]

    def _ended(self, name: str) -> list[Piece]:
        self.running = None if self.running == name else self.running
        turn = self._client.get("turns", name)
        pieces = self.renderer.settle(turn)
        return [*pieces, InfoLine(CUT if turn["continued_by"] else f"· turn {summary(turn)}")]


class Watcher:
    """The output of `clew watch`: for one thread also its text, for all threads only events."""

    def __init__(self, client: Client, screen: Screen, thread: str | None, as_json: bool) -> None:
        self._screen = screen
        self._as_json = as_json
        self._renderer = ThreadRenderer(client, thread, command_hints) if thread else None
        self._is_begun = False

    def show(self, event: Event) -> None:
        is_again = self._is_begun
        if event.kind == "hello":
            self._screen.say("reconnected" if is_again else "watching; Ctrl-C ends")
            self._is_begun = True
        if self._as_json:
            data = {**event.data, "again": is_again} if event.kind == "hello" else event.data
            print(json.dumps({"kind": event.kind, "seq": event.seq, "data": data}), flush=True)
        elif self._renderer:
            self._show_thread(self._renderer, event)
        elif event.kind == "reset":
            self._screen.write_line(PRUNED)
        elif event.seq is not None and event.kind in _HEADLINES:
            self._screen.write_text(f"{event.data['thread']}  {one_line(_headline(event))}\n", fresh=True)

    def _show_thread(self, renderer: ThreadRenderer, event: Event) -> None:
        was = renderer.running
        self._screen.show(renderer.render(event))
        if event.kind == "announce":
            self._screen.write_line(f"· the answer: {fit(_first_line(event.data['text']), 120)}")
        elif event.kind in _HEADLINES and event.kind not in _SHOWN_BY_RENDERER:
            self._screen.write_line(f"· {one_line(_headline(event))}")
        if renderer.running != was:
            self._screen.wait(WORKING if renderer.running else None)


_HEADLINES = {
    "thread.created": "thread created",
    "thread.status": "thread is",
    "thread.title": "title:",
    "thread.taken_in": "imported turns from outside clew:",
    "thread.released": "its session is released to its own program",
    "turn.queued": "turn queued",
    "turn.started": "turn started",
    "turn.ended": "turn",
    "activity": "",
    "notice": "",
    "gate.opened": "asks:",
    "gate.answered": "is answered:",
    "gate.void": "is void:",
    "gate.expired": "expired without an answer",
    "delivery.sent": "answer delivered",
    "delivery.failed": "answer not delivered:",
}


_DETAILS = ("state", "status", "title", "text", "error", "why", "turns")
_SHOWN_BY_RENDERER = frozenset(
    {"activity", "notice", "turn.ended", *(kind for kind in _HEADLINES if kind.startswith("gate."))}
)


def _headline(event: Event) -> str:
    data = event.data["data"]
    if event.kind == "activity":
        return activity_line(data)
    detail = next((str(data[key]) for key in _DETAILS if data.get(key)), "")
    return f"{data.get('code', '')} {_HEADLINES[event.kind]} {detail}".strip()


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.splitlines() if line.strip()), ""))
