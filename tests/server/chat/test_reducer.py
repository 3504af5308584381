"""The chat reducer on values: for any input, the order of frames and the text are right."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from clew.model.events.live import TextDone, TextPiece
from clew.model.events.logged import ActivityChanged, RuntimeNotice, TurnStarted
from clew.model.turns import Problem
from clew.server.chat.frames import RETRYABLE, Chunk, Done, Error, Frame, Progress, failure
from clew.server.chat.inputs import Input, PlanChanged, StreamEnded, TurnReplaced, TurnResult, safe
from clew.server.chat.reducer import ChatState, reduce


def frames_of(*inputs: Input) -> list[Frame]:
    state = ChatState("c", "m", "agent")
    frames: list[Frame] = []
    for each in inputs:
        state, more = reduce(state, each)
        frames += more
    return frames


def shown(frames: Iterable[Frame]) -> str:
    """The text of a front end that only joins chunks."""
    text = ""
    for frame in frames:
        if isinstance(frame, Chunk):
            text += frame.content
        elif isinstance(frame, Progress) and frame.stage == "restarted":
            text = ""
    return text


def restarts(frames: Iterable[Frame]) -> int:
    return sum(isinstance(frame, Progress) and frame.stage == "restarted" for frame in frames)


def done(text: str) -> TurnResult:
    return TurnResult("completed", text)


def test_consecutive_pieces_become_chunks_without_repeats() -> None:
    frames = frames_of(TextPiece("a", 0, "Hel"), TextPiece("a", 3, "lo"), TextDone("a", "Hello"), done("Hello"))
    assert frames == [Chunk("Hel"), Chunk("lo"), Done("c", "m", "Hello", "completed")]


def test_a_repeated_piece_is_sent_once() -> None:
    frames = frames_of(
        TextPiece("a", 0, "Hel"),
        TextPiece("a", 0, "Hello"),
        TextPiece("a", 3, "lo"),
        TextPiece("a", 5, "!"),
        done("Hello!"),
    )
    assert [frame.content for frame in frames if isinstance(frame, Chunk)] == ["Hel", "lo", "!"]


def test_a_discarded_text_restarts() -> None:
    frames = frames_of(
        TextPiece("a", 0, "Hal"), TextDone("a", "Hal", cut=True), TextPiece("b", 0, "Hel"), done("Hello")
    )
    assert restarts(frames) == 1 and shown(frames) == "Hello"
    frames = frames_of(TextPiece("a", 0, "Hal"), TextDone("a", "Hal", cut=True), done(""))
    assert restarts(frames) == 1 and shown(frames) == ""


def test_a_second_text_replaces_the_first_and_late_pieces_are_ignored() -> None:
    inputs = (
        TextDone("a", "I look."),
        TextPiece("b", 0, "All"),
        TextPiece("a", 0, "I look."),
        TextDone("a", "I look."),
    )
    frames = frames_of(*inputs, TextPiece("b", 3, " well."), done("All well."))
    assert restarts(frames) == 1 and shown(frames) == "All well."


def test_a_missing_piece_is_recovered_from_the_complete_text() -> None:
    frames = frames_of(
        TextPiece("a", 0, "one "), TextPiece("a", 8, "three"), TextDone("a", "one two three"), done("one two three")
    )
    assert restarts(frames) == 0 and shown(frames) == "one two three"


def test_the_final_text_wins_over_what_was_streamed() -> None:
    frames = frames_of(TextPiece("a", 0, "something else"), done("the answer"))
    assert restarts(frames) == 1 and shown(frames) == "the answer"
    assert shown(frames_of(done("never streamed"))) == "never streamed"


def test_a_failure_is_last_and_says_whether_it_is_retryable() -> None:
    frames = frames_of(
        TextPiece("a", 0, "half"), TurnResult("failed", "half", Problem("overloaded", "Try again.")), TurnStarted()
    )
    assert frames[-1] == Error("overloaded", "Try again.", True, "new")
    assert failure("not_logged_in", "").retryable is False and "silence" in RETRYABLE


def test_a_stream_that_had_to_end_is_joined_again_with_the_same_id() -> None:
    frames = frames_of(TextPiece("a", 0, "half"), StreamEnded("restarting", "clew restarts."))
    assert frames[-1] == Error("restarting", "clew restarts.", True, "join")
    assert failure("refused", "").retry is None


def test_steps_are_counted_and_tools_are_named() -> None:
    inputs = (
        PlanChanged(3),
        ActivityChanged("1", "command", "started", "ls"),
        ActivityChanged("1", "command", "done", "ls", "ok"),
        ActivityChanged("2", "tool", "started", "files.read"),
    )
    first, ended, second = frames_of(*inputs)
    assert first == Progress("tool", "agent", "command", 1, 3, detail="ls")
    assert ended == Progress("tool_done", "agent", "command", 1, 3, detail="ls", outcome="ok")
    assert isinstance(second, Progress) and (second.tool_name, second.step) == ("files.read", 2)


TEXTS = st.text("ab\n\x1b\x9b☂", max_size=6)
ITEMS = st.sampled_from(["a", "b"])
HEARD = st.one_of(
    st.builds(TextPiece, ITEMS, st.integers(0, 6), TEXTS),
    st.builds(TextDone, ITEMS, TEXTS, st.booleans()),
    st.builds(
        ActivityChanged, ITEMS, st.sampled_from(["command", "thought"]), st.sampled_from(["started", "done"]), TEXTS
    ),
    st.builds(TurnReplaced, st.just("continued")),
    st.builds(RuntimeNotice, TEXTS, st.just("retrying")),
    st.just(TurnStarted()),
)
ENDS = st.one_of(
    st.builds(TurnResult, st.sampled_from(["completed", "interrupted"]), TEXTS),
    st.builds(StreamEnded, st.just("stopping"), st.just("words")),
    st.just(TurnResult("failed", "", Problem("model", "words"))),
)


@given(st.lists(HEARD, max_size=12), ENDS, st.lists(HEARD, max_size=3))
def test_any_input_ends_with_one_final_frame_that_matches_the_text(
    inputs: list[Input], end: Input, after: list[Input]
) -> None:
    frames = frames_of(*inputs, end, *after)
    assert [isinstance(frame, Done | Error) for frame in frames].count(True) == 1
    last = frames[-1]
    assert isinstance(last, Done | Error)
    if isinstance(last, Done):
        assert shown(frames) == last.content
        assert isinstance(end, TurnResult) and last.content == safe(end.text)
