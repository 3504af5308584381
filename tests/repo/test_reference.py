"""The pages of docs/reference that scripts/reference.py makes are what the code says, and leave nothing unsaid."""

from __future__ import annotations

import importlib.util

import pytest

from clew.cli.command_list import COMMANDS
from clew.client import events as client_events
from clew.model.events.kinds import EventKind
from clew.model.events.stream import KINDS
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


def test_every_kind_of_event_has_typed_data_with_a_meaning() -> None:
    assert set(KINDS) == set(EventKind)
    assert [kind for kind, data in KINDS.items() if not data.__doc__] == []
    assert [kind for kind, data in KINDS.items() if not hasattr(client_events, data.__name__)] == []


def test_every_command_is_listed() -> None:
    text = reference.commands()
    assert [name for name in COMMANDS if f"### `clew {name}" not in text] == []
