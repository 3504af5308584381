"""What `run` and `watch` show of the event stream: text on stdout as it comes, activities beside it on stderr.

Text may be cut and begun again by a runtime; the final text is the one of the ended turn, and `run` sees to it that
what was printed last is that, to the letter.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from clew.cli.out import Out
from clew.text import visible

if TYPE_CHECKING:
    from clew.client import Client, Event


class Printer:
    """Streams text items. Remembers how far each was shown, so that nothing is shown twice after a reconnection."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._shown: dict[str, str] = {}
        self._item: str | None = None  # the one that was written to last
        self._mid_line = False
        self._begun: set[str] = set()  # activities

    @property
    def last(self) -> str:
        """The item that was written last, as far as it was shown."""
        return self._shown.get(self._item, "") if self._item else ""

    def text(self, item: str, offset: int, text: str) -> None:
        shown = self._shown.get(item, "")
        if offset > len(shown):
            return  # a gap: the end of the turn brings the whole
        self._write(item, text[len(shown) - offset :])

    def whole(self, item: str, text: str) -> None:
        """An item from its beginning; what was shown of it is left out."""
        if text.startswith(self._shown.get(item, "")):
            self.text(item, 0, text)

    def given_up(self, item: str) -> None:
        if self._shown.pop(item, ""):
            self.aside("(that was given up and is begun again)")

    def activity(self, data: Any) -> None:
        """Its beginning, and its end where that says more."""
        begins = data["phase"] != "done"
        if data["title"] and (begins or data["item"] not in self._begun or data["outcome"] not in (None, "ok")):
            self.aside(activity_line(data))
        self._begun.add(data["item"])

    def aside(self, line: str) -> None:
        self.end_line()
        self._out.say(line)

    def end_line(self) -> None:
        if self._mid_line:
            print(flush=True)
            self._mid_line = False

    def _write(self, item: str, text: str) -> None:
        if not text:
            return
        if item != self._item and self._shown:
            self.end_line()
        self._item = item
        self._shown[item] = self._shown.get(item, "") + text
        sys.stdout.write(visible(text))
        sys.stdout.flush()
        self._mid_line = not text.endswith("\n")


def show_live(printer: Printer, event: Event) -> None:
    """Text and activities, of whatever turn."""
    data = event.data
    match event.kind:
        case "open" if data["kind"] == "text":
            printer.whole(data["item"], data["text"])
        case "text":
            printer.text(data["item"], data["offset"], data["text"])
        case "text.done" if data["cut"]:
            printer.given_up(data["item"])
        case "text.done":
            printer.whole(data["item"], data["text"])
        case "activity":
            printer.activity(data["data"])
        case "notice":
            printer.aside(f"· {data['data']['text']}")


def activity_line(data: Any) -> str:
    """`· command: make test`, and at its end how it ended."""
    title = " ".join(str(data["title"]).split())
    title = title if len(title) <= 160 else f"{title[:159]}…"
    end = f" ({data['outcome'] or 'done'})" if data["phase"] == "done" else ""
    return f"· {data['activity']}: {title}{end}"


def follow_turn(out: Out, client: Client, thread: str, turn: str) -> Any:
    """Stream a turn, and what continues it, to the end. Returns the turn that ended it."""
    printer = Printer(out)
    for event in client.events(thread, 0):
        if event.data.get("turn") != turn:
            continue
        if not out.as_json:
            show_live(printer, event)
        if event.kind == "turn.ended":
            view = client.get("turns", turn)
            if not view["continued_by"]:
                if not out.as_json:
                    finish(printer, view["text"])
                return view
            printer.aside("· it was cut off and is continued")
            turn = view["continued_by"]
    raise AssertionError("a stream of events ends only by an error")


def finish(printer: Printer, text: str) -> None:
    """Make sure that the final text is the last thing on stdout."""
    if printer.last and text.startswith(printer.last):
        rest = text[len(printer.last) :]
    else:
        if printer.last and text:
            printer.aside("· what was streamed is not the final text, which is:")
        rest = text
    sys.stdout.write(visible(rest))
    if (rest or printer.last) and not (rest or printer.last).endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()


class Watcher:
    """What `clew watch` prints: of one thread its text too, of all only what happens."""

    def __init__(self, out: Out, thread: str | None) -> None:
        self._out = out
        self._thread = thread
        self._printer = Printer(out)
        self._words = "watching; Ctrl-C ends"

    def show(self, event: Event) -> None:
        if self._out.as_json:
            print(json.dumps({"kind": event.kind, "seq": event.seq, "data": event.data}), flush=True)
        elif event.kind == "hello":
            self._out.say(self._words)
            self._words = "back again"
        elif self._thread:
            self._in_one(event)
        elif event.seq is not None and event.kind in _NEWS:
            self._out.line(f"{event.data['thread']}  {_news(event)}")

    def _in_one(self, event: Event) -> None:
        show_live(self._printer, event)
        if event.kind == "announce":
            self._printer.aside(f"· the answer is there: {_first_line(event.data['text'])}")
        elif event.kind in _NEWS and event.kind not in ("activity", "notice"):
            self._printer.aside(f"· {_news(event)}")


_NEWS = {
    "thread.created": "thread created",
    "thread.status": "thread is",
    "thread.title": "title:",
    "turn.queued": "turn queued",
    "turn.started": "turn started",
    "turn.ended": "turn",
    "activity": "",
    "notice": "",
    "delivery.sent": "answer delivered",
    "delivery.failed": "answer not delivered:",
}


def _news(event: Event) -> str:
    data = event.data["data"]
    if event.kind == "activity":
        return activity_line(data)
    detail = next((str(data[key]) for key in ("state", "status", "title", "text", "error") if data.get(key)), "")
    return f"{_NEWS[event.kind]} {detail}".strip()


def _first_line(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 120 else f"{line[:119]}…"
