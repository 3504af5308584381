"""Following a thread: the event stream, and what has to be asked for beside it so that nothing is missing.

`follow_turn` is one turn to its end, for `run` and for `chat` without a terminal. A `Teller` tells one thread as it
goes on, for `watch` and `chat`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clew.cli.view.columns import fit, one_line
from clew.cli.view.events import Aside, EventRenderer, Piece, activity_line, summary
from clew.cli.view.gates import Gates, How, command_hints
from clew.cli.view.screen import Screen

if TYPE_CHECKING:
    from clew.client.sync import Client, Event

WORKING = "working"
BEGINNINGS = ("hello", "reset")  # how things stand has to be asked for
MISSED = "· some of what happened here is not kept any more; this is how it stands"
CUT = "· it was cut off and is continued"


def follow_turn(
    client: Client,
    thread: str,
    turn: str,
    show: Callable[[list[Piece]], None],
    after: int = 0,
    *,
    how: How,
    at_gate: Callable[[Sequence[Any]], bool],
    story: EventRenderer | None = None,
) -> tuple[Any, int]:
    """A turn, and what continues it, to the end. Returns the turn that ended it, and how far the log was read.

    `at_gate` hears of what is open at each change, once that is shown, and says whether to leave where the turn waits
    for a person; then it is not over.
    """
    story, gates = story or EventRenderer(), Gates(client, thread, how)
    for event in client.events(thread, after):
        after = event.seq or after
        if event.kind in BEGINNINGS or event.kind.startswith("gate."):
            asked = gates.catch_up(turn) if event.kind in BEGINNINGS else gates.take(event)
            view = client.get("turns", turn)  # after the gate, so that all that was said before it is in there
            show([*story.catch_up(view), *asked])
            if at_gate(gates.open) and view["state"] == "waiting" and _is_held(turn, gates.open):
                return view, after
            is_over = event.kind == "reset" and view["ended_at"] is not None  # its end is not told any more
        else:
            is_over = event.kind == "turn.ended" and event.data.get("turn") == turn
        if event.data.get("turn") == turn:
            show(story.take(event))
        if is_over:
            view = client.get("turns", turn)
            show(story.settle(view, last=True))
            if not view["continued_by"]:
                return view, after
            show([Aside(CUT)])
            turn = view["continued_by"]
    raise AssertionError("a stream of events ends only by an error")


def _is_held(turn: str, asked: Sequence[Any]) -> bool:
    """By something that was shown."""
    return any(view["turn"] == turn and view["blocking"] for view in asked)


class Teller:
    """What happens in one thread, as pieces. `running` is the turn that is worked on."""

    def __init__(self, client: Client, thread: str, how: How, after: int | None = None) -> None:
        self._client = client
        self.thread = thread
        self.after = after
        self.running: str | None = None
        self.story = EventRenderer()
        self.gates = Gates(client, thread, how)

    def tell(self, event: Event) -> list[Piece]:
        self.after = event.seq or self.after
        match event.kind:
            case "hello":
                return self._caught_up()
            case "reset":
                return [Aside(MISSED), *self._caught_up()]
            case "turn.started":
                self.running = event.data["turn"]
            case "turn.ended":
                return self._ended(event.data["turn"])
        return [*self.story.take(event), *self.gates.take(event)]

    def _caught_up(self) -> list[Piece]:
        """The stream begins here, or begins again: what the running turn has said and done until now."""
        thread = self._client.get("threads", self.thread)
        self.running = thread["turn"] if thread["status"] == "running" else None
        asked = self.gates.catch_up()
        if self.running is None:
            return asked
        return [*self.story.catch_up(self._client.get("turns", self.running)), *asked]

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
        self._teller = Teller(client, thread, command_hints) if thread else None
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
        elif event.kind == "reset":
            self._screen.aside(MISSED)
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
    "thread.taken_in": "turns that were made outside clew:",
    "thread.released": "its session is free for its own program again",
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
_TOLD = frozenset({"activity", "notice", "turn.ended", *(kind for kind in _NEWS if kind.startswith("gate."))})


def _news(event: Event) -> str:
    data = event.data["data"]
    if event.kind == "activity":
        return activity_line(data)
    detail = next((str(data[key]) for key in _DETAILS if data.get(key)), "")
    return f"{data.get('code', '')} {_NEWS[event.kind]} {detail}".strip()


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.splitlines() if line.strip()), ""))
