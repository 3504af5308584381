"""Following a thread: the event stream, and what has to be asked for beside it so that nothing is missing.

`follow_turn` is one turn to its end, for `run` and for `chat` without a terminal. A `Teller` tells one thread as it
goes on, for `watch` and `chat`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew.cli.asking import Gates
from clew.cli.columns import fit, one_line
from clew.cli.screen import Screen
from clew.cli.story import Aside, Piece, Story, activity_line, summary

if TYPE_CHECKING:
    from clew.client import Client, Event

WORKING = "working"
CUT = "· it was cut off and is continued"


def follow_turn(
    client: Client,
    thread: str,
    turn: str,
    show: Callable[[list[Piece]], None],
    after: int = 0,
    *,
    at_gate: Callable[[], bool] = lambda: False,
) -> tuple[Any, int]:
    """A turn, and what continues it, to the end. Returns the turn that ended it, and how far the log was read.

    Where it waits for a person `at_gate` is asked whether to leave; then the turn is not over.
    """
    story, gates = Story(), Gates(client, thread)
    for event in client.events(thread, after):
        after = event.seq or after
        if event.kind == "hello":
            show([*story.catch_up(client.get("turns", turn)), *gates.catch_up()])
        if event.data.get("turn") == turn:
            show([*story.take(event), *gates.take(event)])
        if event.kind in ("hello", "gate.opened"):
            view = client.get("turns", turn)
            if view["state"] == "waiting" and at_gate():
                return view, after
        if event.data.get("turn") != turn:
            continue
        if event.kind == "turn.ended":
            view = client.get("turns", turn)
            show(story.settle(view, last=True))
            if not view["continued_by"]:
                return view, after
            show([Aside(CUT)])
            turn = view["continued_by"]
    raise AssertionError("a stream of events ends only by an error")


class Teller:
    """What happens in one thread, as pieces. `running` is the turn that is worked on."""

    def __init__(self, client: Client, thread: str, after: int | None = None) -> None:
        self._client = client
        self.thread = thread
        self.after = after
        self.running: str | None = None
        self.story = Story()
        self._gates = Gates(client, thread)

    def tell(self, event: Event) -> list[Piece]:
        self.after = event.seq or self.after
        match event.kind:
            case "hello":
                return self._caught_up()
            case "turn.started":
                self.running = event.data["turn"]
            case "turn.ended":
                return self._ended(event.data["turn"])
        return [*self.story.take(event), *self._gates.take(event)]

    def _caught_up(self) -> list[Piece]:
        """The stream begins here, or begins again: what the running turn has said and done until now."""
        thread = self._client.get("threads", self.thread)
        self.running = thread["turn"] if thread["status"] == "running" else None
        if self.running is None:
            return self._gates.catch_up()
        return [*self.story.catch_up(self._client.get("turns", self.running)), *self._gates.catch_up()]

    def _ended(self, name: str) -> list[Piece]:
        self.running = None if self.running == name else self.running
        turn = self._client.get("turns", name)
        pieces = self.story.settle(turn)
        return [*pieces, Aside(CUT if turn["continued_by"] else f"· turn {summary(turn)}")]


class Watcher:
    """What `clew watch` prints: of one thread its text too, of all only what happens."""

    def __init__(self, client: Client, screen: Screen, thread: str | None, as_json: bool) -> None:
        self._screen = screen
        self._as_json = as_json
        self._teller = Teller(client, thread) if thread else None
        self._is_begun = False

    def show(self, event: Event) -> None:
        is_again = self._is_begun
        if event.kind == "hello":
            self._screen.say("back again" if is_again else "watching; Ctrl-C ends")
            self._is_begun = True
        if self._as_json:
            data = {**event.data, "again": is_again} if event.kind == "hello" else event.data
            print(json.dumps({"kind": event.kind, "seq": event.seq, "data": data}), flush=True)
        elif self._teller:
            self._in_one(self._teller, event)
        elif event.seq is not None and event.kind in _NEWS:
            self._screen.words(f"{event.data['thread']}  {one_line(_news(event))}\n", fresh=True)

    def _in_one(self, teller: Teller, event: Event) -> None:
        was = teller.running
        self._screen.show(teller.tell(event))
        if event.kind == "announce":
            self._screen.aside(f"· the answer is there: {fit(_first_line(event.data['text']), 120)}")
        elif event.kind in _NEWS and event.kind not in _TOLD:
            self._screen.aside(f"· {one_line(_news(event))}")
        if teller.running != was:
            self._screen.wait(WORKING if teller.running else None)


_NEWS = {
    "thread.created": "thread created",
    "thread.status": "thread is",
    "thread.title": "title:",
    "turn.queued": "turn queued",
    "turn.started": "turn started",
    "turn.ended": "turn",
    "activity": "",
    "notice": "",
    "gate.opened": "asks:",
    "gate.answered": "answered:",
    "gate.void": "gate is void:",
    "gate.expired": "nobody answered:",
    "delivery.sent": "answer delivered",
    "delivery.failed": "answer not delivered:",
}


_DETAILS = ("state", "status", "title", "text", "error", "why", "code")
_TOLD = frozenset({"activity", "notice", "turn.ended", *(kind for kind in _NEWS if kind.startswith("gate."))})


def _news(event: Event) -> str:
    data = event.data["data"]
    if event.kind == "activity":
        return activity_line(data)
    detail = next((str(data[key]) for key in _DETAILS if data.get(key)), "")
    return f"{_NEWS[event.kind]} {detail}".strip()


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.splitlines() if line.strip()), ""))
