"""The pages of docs/reference that scripts/reference.py makes are what the code says, and leave nothing unsaid."""

from __future__ import annotations

import importlib.util

import pytest

from clew.cli.main import COMMANDS
from clew.client.events import KINDS
from tests.helpers.paths import ROOT

SCRIPT = ROOT / "scripts" / "reference.py"
spec = importlib.util.spec_from_file_location("reference", SCRIPT)
assert spec is not None and spec.loader is not None
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)


@pytest.mark.parametrize("name", ["settings.md", "commands.md", "events.md", "errors.md"])
def test_generated_page_is_what_the_code_says(name: str) -> None:
    stored = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert stored == reference.PAGES[name](), "run .venv/bin/python scripts/reference.py"


def test_every_setting_and_every_error_has_a_meaning() -> None:
    rows = [line for page in ("settings", "errors") for line in getattr(reference, page)().splitlines()]
    assert len(rows) > 100
    assert [row for row in rows if row.startswith("| `") and row.endswith("|  |")] == []


def test_every_kind_of_event_has_a_meaning_and_no_meaning_is_left_over() -> None:
    assert set(reference.kinds()) == set(reference.MEANINGS)


def test_typed_events_have_the_documented_kinds_and_fields() -> None:
    documented = {kind: set(names) for kind, (_, names) in reference.kinds().items()}
    assert {kind: set(what.__struct_fields__) for kind, what in KINDS.items()} == documented


def test_every_command_is_listed() -> None:
    text = reference.commands()
    assert [name for name in COMMANDS if f"### `clew {name}" not in text] == []
