"""Renders the events of a thread: events in, pieces of output out; it neither prints nor sends requests.

A runtime may discard a text and start again, and a watcher may lose its connection. So the renderer remembers how much
of each text was shown, and at the end of a turn adds what is missing from the stored turn: no gap, no repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.cli.language import person, phrase, said, word
from clew.cli.view.text_width import duration, fit, one_line
from clew.client.events import ActivityChanged, OpenText, RuntimeNotice, TextDone, TextPiece, WrittenText
from clew.support.display import escape_hidden
from clew.support.text import Pieces

if TYPE_CHECKING:
    from clew.client.events import Event
    from clew.model.views import TurnView

TITLE = 160  # columns of the title of an activity
DEEPEST = 8  # levels of sub-agents that are shown as such
PLAIN, BOLD, DIM = range(3)  # the codes of terminals


class TextChunk(Struct, frozen=True):
    """A piece of the agent's text, often without a line end. `fresh`: another text begins."""

    text: str
    fresh: bool = False


class InfoLine(Struct, frozen=True):
    """One line about the work. Lines that need attention are not dim."""

    line: str
    weight: int = DIM  # or a colour
    gives_way: bool = False  # it names work that has begun: a request about it, right after, says it all
    is_request: bool = False  # the head of a request


Piece = TextChunk | InfoLine
Key = tuple[str, str]  # turn and item: a runtime may reuse the name of an item in the next turn


class EventRenderer:
    def __init__(self) -> None:
        self._shown: dict[Key, Pieces] = {}
        self._current: Key | None = None  # the text that was shown last
        self._cut: Key | None = None  # a text that the agent gave up; told if it begins another one in the same turn
        self._activities: dict[Key, bool] = {}  # started activities, and whether they have ended
        self._depths: dict[Key, int] = {}  # of activities: those of a sub-agent are indented
        self._titles: set[tuple[str, str]] = set()  # of activities that were shown, with their turns
        self._over: set[str] = set()  # turns that have ended
        self._declined: set[str] = set()  # turns in which an answer was a no, which was shown

    def take(self, event: Event) -> list[Piece]:
        """Render an event with text, an activity or a notice, of any turn."""
        turn = event.turn or ""
        if turn in self._over:
            return []
        match event.what:
            case OpenText(item, "text", text) | WrittenText(item, "text", text):
                return self._complete((turn, item), text)
            case TextPiece(item, offset, text):
                return self._text((turn, item), offset, text)
            case TextDone(item, cut=True):
                self._cut = (turn, item)
                return []
            case TextDone(item, text):
                return self._complete((turn, item), text)
            case ActivityChanged(item, activity, phase, outcome=outcome, parent=parent) as changed:
                self._place((turn, item), parent)
                return self._activity((turn, item), activity, phase, said(changed, "title"), outcome)
            case RuntimeNotice() as notice:
                return [InfoLine(f"· {said(notice, 'text')}")]
        return []

    def has_shown_work(self, turn: str, title: str) -> bool:
        """Whether a shown activity of the turn has not ended, or has this title, or the whole turn was shown: events
        may tell again what a watcher has seen."""
        is_working = any(not ended for (of, _), ended in self._activities.items() if of == turn)
        return is_working or turn in self._over or (turn, title) in self._titles

    def expect_declined(self, turn: str) -> None:
        """What this turn may not do is shown by its gate."""
        self._declined.add(turn)

    def catch_up(self, turn: TurnView) -> list[Piece]:
        """Render the text and activities of an open turn so far."""
        pieces: list[Piece] = []
        for item in turn.items if turn.ended_at is None and turn.id not in self._over else ():
            if item.kind == "text":
                pieces += self._complete((turn.id, item.item), item.body)
            elif item.kind != "gate":  # `Gates` shows these
                self._place((turn.id, item.item), item.parent)
                pieces += self._activity((turn.id, item.item), item.kind, item.phase, said(item, "title"), item.outcome)
        return pieces

    def settle(self, turn: TurnView, *, last: bool = False) -> list[Piece]:
        """Render what was not shown yet of an ended turn. With `last`, its answer must be the last text of the
        output."""
        if turn.id in self._over:
            return []
        left = {key: shown.text() for key, shown in self._shown.items() if key[0] == turn.id}
        exact = last and turn.state == "completed"
        texts = [item.body for item in turn.items if item.kind == "text"]
        pieces, end = self._missing(left, texts)
        is_shown = turn.text in texts and (end == turn.text or not exact)
        if not is_shown:
            pieces += self._answer(left, turn.text, exact)
        self.close(turn.id)
        return pieces

    def close(self, turn: str) -> None:
        """Show nothing more of this turn."""
        self._over.add(turn)
        self._activities = {key: ended for key, ended in self._activities.items() if key[0] != turn}
        self._depths = {key: depth for key, depth in self._depths.items() if key[0] != turn}
        self._shown = {key: text for key, text in self._shown.items() if key[0] != turn}
        self._current = None

    def _missing(self, left: dict[Key, str], texts: Iterable[str]) -> tuple[list[Piece], str]:
        """What was not shown of the texts before the answer, and which text is last then."""
        pieces: list[Piece] = []
        end = left.get(self._current, "") if self._current else ""
        for text in texts:
            key = _find_shown(text, left)
            rest = text if key is None else text[len(left.pop(key)) :]
            if rest:
                pieces.append(TextChunk(rest, fresh=key is None or key != self._current))
                self._current, end = key, text
        return pieces, end

    def _answer(self, left: dict[Key, str], text: str, exact: bool) -> Iterator[Piece]:
        key = _find_shown(text, left)
        shown = "" if key is None else left[key]
        is_last = key is not None and key == self._current
        if not text or (shown.startswith(text) and not exact) or (shown == text and is_last):
            return
        if is_last and text.startswith(shown):
            yield TextChunk(text[len(shown) :])
            return
        if left:
            yield InfoLine(phrase("cli_threads.text_differs"))
        yield TextChunk(text, fresh=True)

    def _complete(self, key: Key, text: str) -> list[Piece]:
        """Show a complete text, without the part that was shown already."""
        shown = self._shown.get(key)
        return self._text(key, 0, text) if shown is None or text.startswith(shown.text()) else []

    def _text(self, key: Key, offset: int, text: str) -> list[Piece]:
        discarded = self._discarded(key, offset, text)
        shown = self._shown.get(key) or Pieces()
        new = text[shown.length - offset :] if offset <= shown.length else ""  # a gap is filled at the end of the turn
        if not new:
            return []
        fresh, self._current = key != self._current, key
        shown.add(new)
        self._shown[key] = shown
        return [*discarded, TextChunk(new, fresh)]

    def _discarded(self, key: Key, offset: int, text: str) -> list[Piece]:
        """Forget a text that was cut, if this piece begins another one. A text that is cut and not begun again was
        stopped, and stays."""
        cut = self._cut
        if cut is None or cut[0] != key[0] or (cut == key and (offset or text.startswith(self._shown_text(key)))):
            return []
        self._cut = self._current = None
        if self._shown.pop(cut, None) is None:
            return []
        return [InfoLine(phrase("cli_threads.text_discarded"))]

    def _shown_text(self, key: Key) -> str:
        shown = self._shown.get(key)
        return shown.text() if shown else ""

    def _place(self, key: Key, parent: str | None) -> None:
        """Indent an activity of a sub-agent more than the call that began the sub-agent."""
        self._depths[key] = self._depths.get((key[0], parent), 0) + 1 if parent is not None else 0

    def _activity(self, key: Key, activity: str, phase: str, title: str, outcome: str | None) -> list[Piece]:
        """Show the start of an activity, and its end if that was not simply ok. A late watcher sees the same line."""
        ends = phase == "done"
        begun, ended = key in self._activities, self._activities.get(key, False)
        self._activities[key] = ends or ended
        is_told = outcome == "declined" and key[0] in self._declined
        says_more = ends and outcome not in (None, "ok") and not is_told
        if ended or (begun and not says_more) or not title:
            return []
        self._titles.add((key[0], title))
        line = activity_line(activity, phase if says_more else "started", title, outcome)
        return [InfoLine(indent(line, self._depths.get(key, 0)), gives_way=not ends)]


def _find_shown(text: str, shown: dict[Key, str]) -> Key | None:
    """Find the shown text that equals this one, is its prefix, or contains it as a prefix."""
    similar = [key for key, known in shown.items() if known and (text.startswith(known) or known.startswith(text))]
    return max(
        similar, key=lambda key: (shown[key] == text, text.startswith(shown[key]), len(shown[key])), default=None
    )


def activity_line(activity: str, phase: str, title: str, outcome: str | None) -> str:
    """`· command: make test`, with the outcome at its end."""
    end = f" ({word(outcome or 'done')})" if phase == "done" else ""
    shown = escape_hidden(title) if activity in _EXACT else title
    return f"· {word(activity)}: {fit(one_line(shown), TITLE)}{end}"


def indent(line: str, depth: int) -> str:
    """The line of an activity, below that of the call that began its sub-agent."""
    return f"{'  ' * min(depth, DEEPEST)}{line}"


_EXACT = frozenset({"command", "change", "tool"})  # kinds whose look-alike characters must be visible


def summary(turn: TurnView) -> str:
    """`completed in 3.2 s, 1,234 tokens (1,000 in, 234 out)`."""
    state = phrase("cli_threads.stopped_by", who=person(turn.stopped_by)) if turn.stopped_by else word(turn.state)
    if not turn.started_at or not turn.ended_at:
        return state
    taken = _seconds(turn.ended_at - turn.started_at)
    name = "turn_in" if turn.state == "completed" else "turn_after"
    words = phrase(f"cli_threads.{name}", state=state, time=taken)
    usage = turn.usage
    if not usage or not usage.total_tokens:
        return words
    counts = phrase(
        "cli_threads.tokens_in_out", input_tokens=f"{usage.input_tokens:,}", output_tokens=f"{usage.output_tokens:,}"
    )
    return phrase("cli_threads.tokens", words=words, total_tokens=f"{usage.total_tokens:,}", counts=counts)


def _seconds(millis: int) -> str:
    seconds = millis / 1000
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
