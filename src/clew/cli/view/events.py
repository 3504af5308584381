"""What is shown of the events of a thread: values in, pieces out; it prints nothing and asks nobody.

Text may be cut and begun again by a runtime, and a watcher may have been away meanwhile. So it is remembered how far
each text was shown, and at a turn's end what is missing is made up from the turn as it is stored: no gap, no repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clew.cli.view.columns import clock, fit, one_line
from clew.support.display import escape_hidden
from clew.support.text import Pieces

if TYPE_CHECKING:
    from clew.client.sync import Event

TITLE = 160  # columns of an activity
PLAIN, BOLD, DIM = range(3)  # as terminals number them


class TextChunk(Struct, frozen=True):
    """A piece of the agent's text as it comes, often without the end of a line. `fresh`: another text begins."""

    text: str
    fresh: bool = False


class Aside(Struct, frozen=True):
    """One line about the work. What a person has to look at is not dim."""

    line: str
    weight: int = DIM


Piece = TextChunk | Aside
Key = tuple[str, str]  # turn and item: a runtime may use the same name for an item of the next turn


class EventRenderer:
    def __init__(self) -> None:
        self._shown: dict[Key, Pieces] = {}
        self._at: Key | None = None  # the text that was written to last
        self._acts: dict[Key, bool] = {}  # activities that were begun, and whether they have ended
        self._over: set[str] = set()  # turns

    def take(self, event: Event) -> list[Piece]:
        """Text, activities and notices, of whatever turn."""
        data = event.data
        if data.get("turn") in self._over:
            return []
        match event.kind:
            case "open" | "written" if data["kind"] == "text":
                return self._whole((data["turn"], data["item"]), data["text"])
            case "text":
                return self._text((data["turn"], data["item"]), data["offset"], data["text"])
            case "text.done" if data["cut"]:
                return self._given_up((data["turn"], data["item"]))
            case "text.done":
                return self._whole((data["turn"], data["item"]), data["text"])
            case "activity":
                return self._activity(data["turn"], data["data"])
            case "notice":
                return [Aside(f"· {data['data']['text']}")]
        return []

    def catch_up(self, turn: Any) -> list[Piece]:
        """What an open turn has said and done so far."""
        pieces: list[Piece] = []
        for item in turn["items"] if turn["ended_at"] is None and turn["id"] not in self._over else ():
            if item["kind"] == "text":
                pieces += self._whole((turn["id"], item["item"]), item["body"])
            elif item["kind"] != "gate":  # what is asked is told with how to answer it
                pieces += self._activity(turn["id"], {**item, "activity": item["kind"]})
        return pieces

    def settle(self, turn: Any, *, last: bool = False) -> list[Piece]:
        """What was not shown yet of a turn that has ended. With `last` its answer has to be the last text of all."""
        if turn["id"] in self._over:
            return []
        left = {key: shown.text() for key, shown in self._shown.items() if key[0] == turn["id"]}
        to_the_letter = last and turn["state"] == "completed"
        texts = [item["body"] for item in turn["items"] if item["kind"] == "text"]
        pieces, end = self._missing(left, texts)
        is_shown = turn["text"] in texts and (end == turn["text"] or not to_the_letter)
        if not is_shown:
            pieces += self._answer(left, turn["text"], to_the_letter)
        self.close(turn["id"])
        return pieces

    def close(self, turn: str) -> None:
        """Nothing more is shown of it."""
        self._over.add(turn)
        self._acts = {key: ended for key, ended in self._acts.items() if key[0] != turn}
        self._shown = {key: text for key, text in self._shown.items() if key[0] != turn}
        self._at = None

    def _missing(self, left: dict[Key, str], texts: Iterable[str]) -> tuple[list[Piece], str]:
        """What was not shown of the texts on the way to the answer, and which text stands last then."""
        pieces: list[Piece] = []
        end = left.get(self._at, "") if self._at else ""
        for text in texts:
            key = _same(text, left)
            rest = text if key is None else text[len(left.pop(key)) :]
            if rest:
                pieces.append(TextChunk(rest, fresh=key is None or key != self._at))
                self._at, end = key, text
        return pieces, end

    def _answer(self, left: dict[Key, str], text: str, to_the_letter: bool) -> Iterator[Piece]:
        key = _same(text, left)
        shown = "" if key is None else left[key]
        is_last = key is not None and key == self._at
        if not text or (shown.startswith(text) and not to_the_letter) or (shown == text and is_last):
            return
        if is_last and text.startswith(shown):
            yield TextChunk(text[len(shown) :])
            return
        if left:
            yield Aside("· what was streamed is not the final text, which is:")
        yield TextChunk(text, fresh=True)

    def _whole(self, key: Key, text: str) -> list[Piece]:
        """A text from its beginning; what was shown of it is left out."""
        shown = self._shown.get(key)
        return self._text(key, 0, text) if shown is None or text.startswith(shown.text()) else []

    def _text(self, key: Key, offset: int, text: str) -> list[Piece]:
        shown = self._shown.get(key) or Pieces()
        new = text[shown.length - offset :] if offset <= shown.length else ""  # a gap: the turn's end brings the whole
        if not new:
            return []
        fresh, self._at = key != self._at, key
        shown.add(new)
        self._shown[key] = shown
        return [TextChunk(new, fresh)]

    def _given_up(self, key: Key) -> list[Piece]:
        return [Aside("· (that was given up and is begun again)")] if self._shown.pop(key, None) else []

    def _activity(self, turn: str, data: Any) -> list[Piece]:
        """Its beginning, and its end where that says more. Who comes late is shown the same line."""
        key, ends = (turn, data["item"]), data["phase"] == "done"
        begun, ended = key in self._acts, self._acts.get(key, False)
        self._acts[key] = ends or ended
        says_more = ends and data["outcome"] not in (None, "ok")
        if ended or (begun and not says_more) or not data["title"]:
            return []
        return [Aside(activity_line(data if says_more else {**data, "phase": "started"}))]


def _same(text: str, shown: dict[Key, str]) -> Key | None:
    """Where this text was shown, whole or in part, or even further than it was stored."""
    alike = [key for key, known in shown.items() if known and (text.startswith(known) or known.startswith(text))]
    return max(alike, key=lambda key: (shown[key] == text, text.startswith(shown[key]), len(shown[key])), default=None)


def activity_line(data: Any) -> str:
    """`· command: make test`, and at its end how it ended."""
    end = f" ({data['outcome'] or 'done'})" if data["phase"] == "done" else ""
    title = escape_hidden(str(data["title"])) if data["activity"] in _EXACT else str(data["title"])
    return f"· {data['activity']}: {fit(one_line(title), TITLE)}{end}"


_EXACT = frozenset({"command", "change", "tool"})  # where a letter that passes for another makes a difference


def summary(turn: Any) -> str:
    """`completed in 3.2 s, 1,234 tokens (1,000 in, 234 out)`."""
    if not turn["started_at"] or not turn["ended_at"]:
        return str(turn["state"])
    words = f"{turn['state']} {'in' if turn['state'] == 'completed' else 'after'} {_seconds(turn)}"
    usage = turn["usage"]
    if not usage or not usage["total_tokens"]:
        return words
    counts = f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out"
    return f"{words}, {usage['total_tokens']:,} tokens ({counts})"


def _seconds(turn: Any) -> str:
    seconds = (turn["ended_at"] - turn["started_at"]) / 1000
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)
