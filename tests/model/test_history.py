"""History nodes: round trip, and what the hash covers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.model import history
from clew.model.history import Deed, Outcome, Spoken, Started
from clew.model.turns import Problem, Usage

words = st.text(st.characters(codec="utf-8"), max_size=50)


@given(words, words, st.integers(0, 2**50))
def test_a_node_round_trips_and_verifies(author: str, text: str, at: int) -> None:
    spoken = Spoken("turn", at, "id", author, text)
    node = history.make(spoken, "a" * 64)
    assert history.is_sound(node) and history.read(node) == spoken


@given(words, words)
def test_any_change_of_a_node_is_detected(text: str, other: str) -> None:
    node = history.make(Spoken("turn", 1, "id", "ann", text), "a" * 64)
    if text != other:
        assert history.make(Spoken("turn", 1, "id", "ann", other), "a" * 64).hash != node.hash
    assert not history.is_sound(replace(node, prev="b" * 64))
    assert not history.is_sound(replace(node, type="outcome"))
    assert not history.is_sound(replace(node, content=node.content + " "))


def test_two_threads_with_equal_content_have_different_nodes() -> None:
    one, two = (history.make(Started(thread, 1, "chat", "codex", "/"), None) for thread in ("A", "B"))
    assert one.hash != two.hash


def test_an_outcome_can_hold_a_workflow_step() -> None:
    full = Outcome(
        turn="turn",
        at=1,
        state="completed",
        runtime="codex",
        text="done",
        deeds=(Deed("command", "make", "ok", "ok", 0, "/"),),
        problem=Problem("code", "message"),
        usage=Usage(1, 2, 3, 4, 5),
        role="reviewer",
        edge_prompt="look at it",
        output='{"status": "ok"}',
        assembled_prompt="a" * 64,
        attempts=("b" * 64,),
    )
    assert history.read(history.make(full, None)) == full


def test_empty_fields_are_not_hashed_so_new_fields_change_no_old_node() -> None:
    node = history.make(Outcome("turn", 1, "completed", "codex", "done"), None)
    assert node.content == '{"at":1,"runtime":"codex","state":"completed","text":"done","turn":"turn"}'
    assert node.hash == history.digest("outcome", node.content, None)
