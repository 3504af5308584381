"""The reducer of progress, after a daemon died in the middle of a text."""

from __future__ import annotations

from clew.engine.live import Live
from clew.engine.progress import Progress, advance
from clew.engine.turns.completion import activities
from clew.model.events import Activity, ActivityKind, GateOpened, Outcome, Phase
from clew.model.gates import Asked, GateKind
from clew.model.turns import TEXT, Item, in_tree_order


def test_a_partly_stored_answer_is_not_repeated_before_it() -> None:
    before, begun = Item("a", TEXT, "done", body="one"), Item("b", TEXT, "started", body="one tw")
    assert [deed.body for deed in activities([before, begun], "one two")] == ["one"]
    assert [deed.body for deed in activities([before], "one two")] == ["one"], "a text of its own"


def test_an_open_text_without_its_beginning_is_not_stored() -> None:
    live = Live()
    live.text("T", "U", "a", 0, "one")
    live.text("T", "U", "b", 4, "two")
    assert live.open_texts("T") == {"a": "one"}


def test_what_a_sub_agent_did_is_stored_after_the_call_that_began_it() -> None:
    first, second = Item("a", "tool", "done", "one"), Item("b", "tool", "done", "two")
    under = [Item("c", "command", "done", "ls", parent="a"), Item("d", "command", "done", "pwd", parent="b")]
    deeds = activities([first, second, under[1], under[0]], "the answer")
    assert [(deed.title, deed.parent) for deed in deeds] == [("one", None), ("ls", 0), ("two", None), ("pwd", 2)]


def test_an_item_whose_parent_is_unknown_or_its_own_is_shown_all_the_same() -> None:
    odd = [Item("a", "tool", "done", parent="a"), Item("b", "tool", "done", parent="c"), Item("c", "tool", "done")]
    assert in_tree_order(odd) == odd


def test_a_gate_is_under_the_activity_that_it_holds_up() -> None:
    begun = advance(Progress(), Activity("a", ActivityKind.COMMAND, Phase.STARTED, "ls", parent="call"))
    asked = advance(begun, GateOpened("r", Asked(GateKind.COMMAND, "ls", item="a")))
    assert asked.items["gate:r"].parent == "call"


def test_a_change_keeps_the_diff_that_its_gate_showed() -> None:
    """Codex calls a file new that it overwrites; clew has compared it."""
    told, shown = "--- /dev/null\n+++ a.txt\n+two", "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two"
    begun = advance(Progress(), Activity("a", ActivityKind.CHANGE, Phase.STARTED, "a.txt", told))
    asked = advance(begun, GateOpened("r", Asked(GateKind.CHANGE, "a.txt", shown, item="a")))
    done = advance(asked, Activity("a", ActivityKind.CHANGE, Phase.DONE, "a.txt", told, Outcome.OK))
    assert done.items["a"].body == shown
