"""Checking whether a text beside a diff matches the diff."""

from __future__ import annotations

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.runtimes.acp.approvals import diff_check

LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "-- d", "++ e"]), max_size=8).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def patch(before: str, after: str) -> str:
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a", "b", n=1))


def is_told(diff: str, before: str, after: str) -> bool:
    return diff_check.differing({"diff": diff}, before, after) == {}


@settings(max_examples=300, deadline=None)
@given(LINES, LINES, LINES)
def test_a_unified_diff_matches_only_its_own_change(before: str, after: str, other: str) -> None:
    assert is_told(patch(before, after), before, after)
    assert is_told(patch(before, other), before, after) == (other == after)


def test_a_diff_with_reordered_lines_does_not_match() -> None:
    before, after = "drop\nguard\nrun\n", "guard\ndrop\nrun\n"
    assert is_told(patch(before, after), before, after)
    assert not is_told(patch(before, "guard\nrun\ndrop\n"), before, after)
    assert not is_told(patch(before, after), before, before)


def test_only_the_common_indent_may_be_missing() -> None:
    before, after = "def f():\n    x\n      y\n    z\n", "def f():\n    x\n      w\n    z\n"
    cut = "@@ -2,3 +2,3 @@\n x\n-  y\n+  w\n z\n"
    assert is_told(cut, before, after)
    assert not is_told(cut.replace("+  w", "+w"), before, after)
    assert not is_told(cut.replace(" z", "   z"), before, after)


def test_a_missing_last_newline_and_carriage_returns_do_not_matter() -> None:
    assert is_told("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file", "a", "b")
    assert is_told("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nb\r\n", "a\r\nc\r\n")
