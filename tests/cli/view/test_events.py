"""Rendering of events: pure, with cases that are rare in a real stream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.cli.view.events import EventRenderer, InfoLine, Piece, TextChunk, activity_line, summary
from clew.client.events import Event
from clew.model.turns import Usage
from clew.model.views import ItemView, TurnView
from tests.helpers.views import turn_view


def text(piece: str, offset: int = 0, item: str = "a", turn: str = "T") -> Event:
    return Event("text", turn=turn, data={"item": item, "offset": offset, "text": piece})


def opened(complete: str, item: str = "a", turn: str = "T", kind: str = "open") -> Event:
    return Event(kind, turn=turn, data={"item": item, "kind": "text", "text": complete})


def done(complete: str, item: str = "a", cut: bool = False) -> Event:
    return Event("text.done", turn="T", data={"item": item, "text": complete, "cut": cut})


def act(phase: str, outcome: str | None = None, title: str = "make", item: str = "x") -> Event:
    data = {"item": item, "activity": "command", "phase": phase, "title": title, "outcome": outcome}
    return Event("activity", 1, turn="T", data=data)


def ended(answer: str, *earlier: str, state: str = "completed", turn: str = "T") -> TurnView:
    items = [ItemView(str(number), "text", "done", "", body) for number, body in enumerate(earlier)]
    return turn_view(turn, state=state, text=answer, items=items)


def written(pieces: list[Piece]) -> str:
    """The text on stdout."""
    out = ""
    for piece in pieces:
        if isinstance(piece, TextChunk):
            out += ("\n" if piece.fresh and out and not out.endswith("\n") else "") + piece.text
    return out


def render(renderer: EventRenderer, *events: Event) -> list[Piece]:
    return [piece for event in events for piece in renderer.take(event)]


def info_lines(pieces: list[Piece]) -> list[str]:
    return [piece.line for piece in pieces if isinstance(piece, InfoLine)]


def test_text_is_shown_once_as_it_is_written() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("one "), text("two", 4), done("one two"))
    assert pieces == [TextChunk("one ", fresh=True), TextChunk("two")]
    assert renderer.settle(ended("one two")) == []


def test_a_reconnect_shows_the_rest_of_the_current_text() -> None:
    renderer = EventRenderer()
    assert written(render(renderer, text("one "), opened("one two th"), text("three", 8))) == "one two three"


def test_a_late_watcher_also_gets_completed_texts() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, opened("one", kind="written"), opened("tw", "b"), text("o", 2, "b"), done("two", "b"))
    assert written(pieces) == "one\ntwo"


@given(st.text(min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_lost_or_repeated_events_still_give_the_complete_text_once(answer: str, seen: list[tuple[int, int]]) -> None:
    renderer = EventRenderer()
    pieces = render(
        renderer, *(text(answer[start : start + length], min(start, len(answer))) for start, length in seen)
    )
    pieces += renderer.settle(ended(answer))
    assert written(pieces) == answer
    assert info_lines(pieces) == []


def test_missed_intermediate_texts_are_shown_at_the_end() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("I look", item="a"))
    pieces += renderer.settle(ended("All is well.", "I look around.", "I found it."))
    assert written(pieces) == "I look around.\nI found it.\nAll is well."


def test_text_shown_beyond_what_was_stored_is_not_repeated() -> None:
    renderer = EventRenderer()
    render(renderer, text("one two three"))
    assert renderer.settle(ended("one two", state="interrupted")) == []


def test_a_final_text_that_differs_is_announced() -> None:
    renderer = EventRenderer()
    pieces = [*render(renderer, text("maybe so")), *renderer.settle(ended("No."))]
    assert info_lines(pieces) == ["· the final text differs from what was streamed:"]
    assert written(pieces) == "maybe so\nNo."


def test_the_answer_is_the_last_text_if_requested() -> None:
    renderer = EventRenderer()
    render(renderer, text("the answer", item="a"), text("a remark", item="b"))
    assert written(renderer.settle(ended("the answer"), last=True)) == "the answer"


def test_discarded_text_is_ignored() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("wro"), done("wro", cut=True), text("right", item="b"), done("right", item="b"))
    assert info_lines(pieces) == ["· (the agent discarded this text and starts again)"]
    assert renderer.settle(ended("right"), last=True) == []


def test_two_turns_may_use_the_same_item_name() -> None:
    renderer = EventRenderer()
    render(renderer, text("first"))
    renderer.settle(ended("first"))
    assert render(renderer, text("second", turn="U")) == [TextChunk("second", fresh=True)]


def test_nothing_of_a_turn_is_shown_after_its_end() -> None:
    renderer = EventRenderer()
    renderer.settle(ended("x"))
    assert render(renderer, text("x"), act("started")) == []
    assert renderer.settle(ended("x")) == []


def test_an_activity_is_shown_when_it_starts_and_when_it_fails() -> None:
    assert info_lines(render(EventRenderer(), act("started"), act("done", "ok"))) == ["· command: make"]
    failed = render(EventRenderer(), act("started"), act("done", "failed"), act("done", "failed"))
    assert info_lines(failed) == ["· command: make", "· command: make (failed)"]
    assert info_lines(render(EventRenderer(), act("done", "ok"))) == ["· command: make"], "also for a late watcher"


def test_catching_up_shows_an_open_turn_and_nothing_is_repeated() -> None:
    items = [
        ItemView("a", "text", "done", "", "look"),
        ItemView("x", "command", "started", "make", ""),
    ]
    renderer = EventRenderer()
    pieces = renderer.catch_up(turn_view(ended_at=None, items=items))
    assert (written(pieces), info_lines(pieces)) == ("look", ["· command: make"])
    assert render(renderer, done("look"), act("started"), act("done", "ok")) == []


def test_an_activity_is_one_short_line() -> None:
    line = activity_line("command", "started", "a\nb \x1b[2J" + "x" * 500, None)
    assert line.startswith("· command: a b \\x1b[2Jxxx") and line.endswith("…") and len(line) < 180


def test_the_end_of_a_turn_shows_time_and_tokens() -> None:
    usage = Usage(input_tokens=1000, output_tokens=234, total_tokens=1234)
    turn = turn_view(started_at=1000, ended_at=4210, usage=usage)
    assert summary(turn) == "completed in 3.2 s, 1,234 tokens (1,000 in, 234 out)"
    assert summary(replace(turn, state="failed", usage=None, ended_at=66_000)) == "failed after 1 min 05 s"
    assert summary(replace(turn, state="interrupted", started_at=None)) == "stopped"
    assert summary(replace(turn, state="interrupted", stopped_by="ann", usage=None)) == "stopped by ann after 3.2 s"


def test_the_text_of_a_stopped_turn_is_not_repeated_as_its_answer() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("I look"), done("I look"), act("started"))
    assert renderer.settle(ended("I look", "I look", state="interrupted"), last=True) == []
    assert written(pieces) == "I look"
    assert written(EventRenderer().settle(ended("I look", "I look", state="interrupted"), last=True)) == "I look"


def test_an_answer_that_is_already_last_is_not_repeated() -> None:
    renderer = EventRenderer()
    render(renderer, text("first", item="a"), text("the answer", item="b"))
    assert renderer.settle(ended("the answer", "first", "the answer"), last=True) == []
    renderer = EventRenderer()
    render(renderer, text("the answer", item="a"))
    assert written(renderer.settle(ended("the answer", "the answer", "a remark"), last=True)) == "a remark\nthe answer"


def test_a_text_that_was_stopped_is_neither_called_discarded_nor_repeated() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("half a sen"), done("half a sen", cut=True))
    pieces += renderer.settle(ended("half a sen", state="interrupted"), last=True)
    assert (written(pieces), info_lines(pieces)) == ("half a sen", [])


def test_a_text_that_begins_again_under_the_same_name_is_shown_again() -> None:
    renderer = EventRenderer()
    pieces = render(renderer, text("wrong"), done("wrong", cut=True), text("right"), done("right"))
    assert written(pieces) == "wrong\nright"
    assert info_lines(pieces) == ["· (the agent discarded this text and starts again)"]
    assert renderer.settle(ended("right")) == []


def test_what_a_sub_agent_does_is_indented_under_the_call_that_began_it() -> None:
    def below(item: str, parent: str | None) -> Event:
        data = {"item": item, "activity": "command", "phase": "started", "title": item, "parent": parent}
        return Event("activity", 1, turn="T", data=data)

    live = render(EventRenderer(), below("a", None), below("b", "a"), below("c", "b"), below("d", None))
    lines = ["· command: a", "  · command: b", "    · command: c", "· command: d"]
    assert info_lines(live) == lines
    items = [
        ItemView(name, "command", "started", name, "", parent=up)
        for name, up in zip("abcd", (None, "a", "b", None), strict=True)
    ]
    assert info_lines(EventRenderer().catch_up(turn_view(ended_at=None, items=items))) == lines
