"""`clew usage`, and budgets of one thread by `clew set`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, Clew

pytestmark = pytest.mark.process


def test_usage_shows_turns_and_a_thread_can_have_a_budget_of_its_own(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        started = clew.json("start", "!text one", "--priority", "low")
        clew.wait_ended(started)
        thread = started["thread"]
        view = clew.json("usage", "--by", "thread")
        assert set(view) == {"by", "since", "rows", "budgets"}
        assert [(row["name"], row["turns"], row["money"]) for row in view["rows"]] == [(thread, 1, None)]
        clew("set", thread, "budget.turns=1", "priority=high")
        assert clew.json("show", thread)["priority"] == "high"
        assert "used up" in clew("usage")
        clew("resume", thread, "--supplement", "!text two")
        clew.wait_for(thread, "thread.status", status="suspended")
        clew("resume", thread, "--supplement", "raise")
        clew.wait_for(thread, "thread.status", status="completed")
        assert "raised" not in clew("usage", "--since", "1d"), "the limit is the thread's own"


@pytest.mark.parametrize("given", ["budget.turns=0", "budget.time=soon", "budget.money=1", "priority=urgent"])
def test_a_wrong_limit_is_refused_with_an_example(clew: Clew, given: str) -> None:
    assert clew.run("set", "x", given).code == 2
