"""What is shown of events: pure, with the cases that a real stream brings only now and then."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clew.cli.view.events import EventRenderer, InfoLine, Piece, TextChunk, activity_line, summary
from clew.client.sync import Event


def text(piece: str, offset: int = 0, item: str = "a", turn: str = "T") -> Event:
    return Event("text", None, {"turn": turn, "item": item, "offset": offset, "text": piece})


def opened(whole: str, item: str = "a", turn: str = "T", kind: str = "open") -> Event:
    return Event(kind, None, {"turn": turn, "item": item, "kind": "text", "text": whole})


def done(whole: str, item: str = "a", cut: bool = False) -> Event:
    return Event("text.done", None, {"turn": "T", "item": item, "text": whole, "cut": cut})


def act(phase: str, outcome: str | None = None, title: str = "make", item: str = "x") -> Event:
    data = {"item": item, "activity": "command", "phase": phase, "title": title, "outcome": outcome}
    return Event("activity", 1, {"turn": "T", "data": data})


def ended(answer: str, *on_the_way: str, state: str = "completed", turn: str = "T") -> dict[str, Any]:
    items = [{"item": str(number), "kind": "text", "body": body} for number, body in enumerate(on_the_way)]
    return {"id": turn, "state": state, "text": answer, "items": items, "ended_at": 1}


def written(pieces: list[Piece]) -> str:
    """As stdout gets it."""
    out = ""
    for piece in pieces:
        if isinstance(piece, TextChunk):
            out += ("\n" if piece.fresh and out and not out.endswith("\n") else "") + piece.text
    return out


def told(story: EventRenderer, *events: Event) -> list[Piece]:
    return [piece for event in events for piece in story.take(event)]


def asides(pieces: list[Piece]) -> list[str]:
    return [piece.line for piece in pieces if isinstance(piece, InfoLine)]


def test_text_is_shown_once_as_it_is_written() -> None:
    story = EventRenderer()
    pieces = told(story, text("one "), text("two", 4), done("one two"))
    assert pieces == [TextChunk("one ", fresh=True), TextChunk("two")]
    assert story.settle(ended("one two")) == []


def test_a_reconnect_shows_the_rest_of_the_current_text() -> None:
    story = EventRenderer()
    assert written(told(story, text("one "), opened("one two th"), text("three", 8))) == "one two three"


def test_a_late_watcher_also_gets_completed_texts() -> None:
    story = EventRenderer()
    pieces = told(story, opened("one", kind="written"), opened("tw", "b"), text("o", 2, "b"), done("two", "b"))
    assert written(pieces) == "one\ntwo"


@given(st.text(min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_lost_or_repeated_events_still_give_the_complete_text_once(answer: str, seen: list[tuple[int, int]]) -> None:
    story = EventRenderer()
    pieces = told(story, *(text(answer[start : start + length], min(start, len(answer))) for start, length in seen))
    pieces += story.settle(ended(answer))
    assert written(pieces) == answer
    assert asides(pieces) == []


def test_missed_intermediate_texts_are_shown_at_the_end() -> None:
    story = EventRenderer()
    pieces = told(story, text("I look", item="a"))
    pieces += story.settle(ended("All is well.", "I look around.", "I found it."))
    assert written(pieces) == "I look around.\nI found it.\nAll is well."


def test_text_shown_beyond_what_was_stored_is_not_repeated() -> None:
    story = EventRenderer()
    told(story, text("one two three"))
    assert story.settle(ended("one two", state="interrupted")) == []


def test_a_final_text_that_differs_is_announced() -> None:
    story = EventRenderer()
    pieces = [*told(story, text("maybe so")), *story.settle(ended("No."))]
    assert asides(pieces) == ["· the final text differs from what was streamed:"]
    assert written(pieces) == "maybe so\nNo."


def test_the_answer_is_the_last_text_if_requested() -> None:
    story = EventRenderer()
    told(story, text("the answer", item="a"), text("a remark", item="b"))
    assert written(story.settle(ended("the answer"), last=True)) == "the answer"


def test_discarded_text_is_ignored() -> None:
    story = EventRenderer()
    pieces = told(story, text("wro"), done("wro", cut=True), text("right", item="b"), done("right", item="b"))
    assert asides(pieces) == ["· (the agent discarded this text and starts again)"]
    assert story.settle(ended("right"), last=True) == []


def test_two_turns_may_use_the_same_item_name() -> None:
    story = EventRenderer()
    told(story, text("first"))
    story.settle(ended("first"))
    assert told(story, text("second", turn="U")) == [TextChunk("second", fresh=True)]


def test_nothing_of_a_turn_is_shown_after_its_end() -> None:
    story = EventRenderer()
    story.settle(ended("x"))
    assert told(story, text("x"), act("started")) == []
    assert story.settle(ended("x")) == []


def test_an_activity_is_shown_when_it_starts_and_when_it_fails() -> None:
    assert asides(told(EventRenderer(), act("started"), act("done", "ok"))) == ["· command: make"]
    failed = told(EventRenderer(), act("started"), act("done", "failed"), act("done", "failed"))
    assert asides(failed) == ["· command: make", "· command: make (failed)"]
    assert asides(told(EventRenderer(), act("done", "ok"))) == ["· command: make"], "whoever comes late sees the same"


def test_catching_up_shows_an_open_turn_and_nothing_is_repeated() -> None:
    items = [
        {"item": "a", "kind": "text", "phase": "done", "title": "", "body": "look", "outcome": None},
        {"item": "x", "kind": "command", "phase": "started", "title": "make", "body": "", "outcome": None},
    ]
    story = EventRenderer()
    pieces = story.catch_up({"id": "T", "ended_at": None, "items": items})
    assert (written(pieces), asides(pieces)) == ("look", ["· command: make"])
    assert told(story, done("look"), act("started"), act("done", "ok")) == []


def test_an_activity_is_one_short_line() -> None:
    line = activity_line({"activity": "command", "phase": "started", "title": "a\nb \x1b[2J" + "x" * 500})
    assert line.startswith("· command: a b \\x1b[2Jxxx") and line.endswith("…") and len(line) < 180


def test_the_end_of_a_turn_shows_time_and_tokens() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 234, "total_tokens": 1234}
    turn = {"state": "completed", "started_at": 1000, "ended_at": 4210, "usage": usage}
    assert summary(turn) == "completed in 3.2 s, 1,234 tokens (1,000 in, 234 out)"
    assert summary({**turn, "state": "failed", "usage": None, "ended_at": 66_000}) == "failed after 1 min 05 s"
    assert summary({**turn, "state": "interrupted", "started_at": None}) == "interrupted"


def test_the_text_of_a_stopped_turn_is_not_repeated_as_its_answer() -> None:
    story = EventRenderer()
    pieces = told(story, text("I look"), done("I look"), act("started"))
    assert story.settle(ended("I look", "I look", state="interrupted"), last=True) == []
    assert written(pieces) == "I look"
    assert written(EventRenderer().settle(ended("I look", "I look", state="interrupted"), last=True)) == "I look"


def test_an_answer_that_is_already_last_is_not_repeated() -> None:
    story = EventRenderer()
    told(story, text("first", item="a"), text("the answer", item="b"))
    assert story.settle(ended("the answer", "first", "the answer"), last=True) == []
    story = EventRenderer()
    told(story, text("the answer", item="a"))
    assert written(story.settle(ended("the answer", "the answer", "a remark"), last=True)) == "a remark\nthe answer"
