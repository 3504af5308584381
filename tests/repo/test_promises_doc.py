"""docs/reference/promises.md and the threat model name tests that exist, and every promise and every attack has one."""

from __future__ import annotations

import re

from tests.helpers.paths import ROOT


def _tests() -> set[str]:
    found = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in found for name in re.findall(r"def (test_\w+)", text)}


def _rows() -> list[str]:
    text = (ROOT / "docs" / "reference" / "promises.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]


def test_every_promise_names_a_test_that_exists() -> None:
    known = _tests()
    for row in _rows():
        named = re.findall(r"`(test_\w+)`", row)
        assert named and set(named) <= known, row


def test_all_fourteen_promises_are_listed() -> None:
    assert [int(row.split("|")[1]) for row in _rows()] == list(range(1, 15))


def test_every_attack_of_the_threat_model_names_a_test_that_exists() -> None:
    text = (ROOT / "docs/explanation/security.md").read_text(encoding="utf-8")
    rows = [line for line in text.split("## What clew stops")[1].splitlines() if re.match(r"\| (?!attack|---)", line)]
    known = _tests()
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named and set(named) <= known, row
