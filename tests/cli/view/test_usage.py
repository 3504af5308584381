"""Usage as lines of the terminal."""

from __future__ import annotations

import pytest

from clew.cli.view.usage import usage_lines
from clew.model.budgets import UsageRow, UsageView


@pytest.mark.parametrize(
    ("money", "reported", "shown"),
    [(None, None, "-"), (0.4, None, "0.40"), (None, 1.25, "$1.25 (reported)"), (0.4, 1.25, "0.40 + $1.25 (reported)")],
)
def test_what_agents_report_stands_beside_the_estimate_for_the_others(
    money: float | None, reported: float | None, shown: str
) -> None:
    row = UsageRow("claude", "claude", 1, 2, 1, 0, 1, 1000, money, reported)
    _, line = usage_lines(UsageView("account", "2026-11-18", (row,), ()))
    assert line.endswith(f"  {shown}")
