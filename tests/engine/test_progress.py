"""The reducer of progress, after a daemon died in the middle of a text."""

from __future__ import annotations

from clew.engine.live import Live
from clew.engine.turns.completion import activities
from clew.model.turns import TEXT, Item


def test_a_partly_stored_answer_is_not_repeated_before_it() -> None:
    before, begun = Item("a", TEXT, "done", body="one"), Item("b", TEXT, "started", body="one tw")
    assert [deed.body for deed in activities([before, begun], "one two")] == ["one"]
    assert [deed.body for deed in activities([before], "one two")] == ["one"], "a text of its own"


def test_an_open_text_without_its_beginning_is_not_stored() -> None:
    live = Live()
    live.text("T", "U", "a", 0, "one")
    live.text("T", "U", "b", 4, "two")
    assert live.open_texts("T") == {"a": "one"}
