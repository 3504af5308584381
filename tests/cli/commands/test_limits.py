"""`clew limits` prints what agents reported."""

from __future__ import annotations

from clew.cli.commands.limits import _row
from clew.model.events.accounts import LimitView


def test_a_window_is_shown_with_what_is_used_and_when_it_resets() -> None:
    row = _row(LimitView("codex", "primary", 0.92, 32_503_680_000_000, "warning", 300, 1_000))
    assert row[:4] == ("codex", "primary", "92 %", "warning") and row[4].startswith(("3000-", "2999-"))


def test_a_reset_that_has_passed_is_not_shown() -> None:
    assert _row(LimitView("codex", "refusal", None, 1_000, "reached", None, 1_000))[2:5] == ("–", "reached", "–")
