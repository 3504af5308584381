"""The id of a delivery names it and nothing else: what it is about stands in columns, and no code reads it out of the
id."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
NOT_OF_DELIVERIES = {"cli/commands/connect.py: asking.id.startswith(f'{surface}:')"}  # who asks for access
PARSES = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit"}
NAMES = {"id", "edits", "card", "delivery"}  # attributes that are the id of a delivery
OF_DELIVERIES = re.compile("deliveries|enqueue|outbox")  # modules in which a plain variable may be the id of a delivery
IN_SQL = re.compile(
    r"\|\|\s*'[:;]"  # an id that is put together
    r"|\b(?:\w+\.)?(?:id|edits|card)\s+(?:NOT\s+)?(?:LIKE|GLOB|REGEXP)\b"
    r"|\b(?:length|substr|instr|replace)\(\s*(?:\w+\.)?(?:id|edits|card)\b"
    r"|\b(?:\w+\.)?id > \? AND (?:\w+\.)?id < \?",  # a range of ids that begin alike
    re.IGNORECASE,
)


def is_id(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in NAMES for each in ast.walk(node))


def is_made(node: ast.expr) -> bool:
    """Whether a text is put together, as `f"{turn}:final"` is."""
    return isinstance(node, ast.JoinedStr) and has_colon(node)


def has_colon(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and ":" in str(each.value) for each in ast.walk(node))


def parsed_ids(path: Path, name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=called), args=given) if called in PARSES:
                if (is_id(receiver) or OF_DELIVERIES.search(name)) and any(map(has_colon, given)):
                    yield f"{name}: {ast.unparse(node)}"
            case ast.Compare(left=left, comparators=others) if is_id(left) and any(map(is_made, others)):
                yield f"{name}: {ast.unparse(node)}"
            case ast.Compare(left=left, comparators=others) if is_made(left) and any(map(is_id, others)):
                yield f"{name}: {ast.unparse(node)}"


def matched_ids(path: Path, name: str) -> Iterator[str]:
    """Statements that match ids of deliveries, of which parts may stand in a constant of the module."""
    source = path.read_text(encoding="utf-8")
    if "deliveries" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := IN_SQL.search(node.value)):
            yield f"{name}: {found.group()}"


def test_no_code_reads_the_id_of_a_delivery() -> None:
    found = {each for path in sorted(SOURCE.rglob("*.py")) for each in parsed_ids(path, str(path.relative_to(SOURCE)))}
    assert found == NOT_OF_DELIVERIES


def test_no_statement_matches_ids_of_deliveries() -> None:
    paths = sorted((SOURCE / "store").rglob("*.py"))
    found = {each for path in paths for each in matched_ids(path, str(path.relative_to(SOURCE)))}
    assert found == set()


@pytest.mark.parametrize(
    "planted",
    [
        "(message.edits or message.id).startswith(f'{turn}:ask')",
        "after.id.partition(':')",
        "event.what.delivery.endswith(':final')",
        "if delivery.id != f'{delivery.turn}:final': ...",
        "if f'{turn}:ask' == asked.id: ...",
        "after.partition(':')[0]",
    ],
)
def test_a_planted_look_into_an_id_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(planted)
    assert len(list(parsed_ids(tmp_path / "planted.py", "store/tables/deliveries.py"))) == 1


@pytest.mark.parametrize(
    "planted",
    [
        "SELECT id FROM deliveries d WHERE d.id = t.last_turn || ':final'",
        "SELECT id FROM deliveries WHERE id LIKE turn || '%'",
        "SELECT id FROM deliveries ORDER BY turn, length(id), id",
        "SELECT id FROM deliveries WHERE id > ? AND id < ? AND state = 'pending'",
        "SELECT substr(d.id, 1, 26) FROM deliveries d",
    ],
)
def test_a_planted_match_of_ids_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(f"sql = {planted!r}")
    assert len(list(matched_ids(tmp_path / "planted.py", "planted"))) == 1


@pytest.mark.parametrize("fine", ["id = f'{turn}:final'", "deliveries.get(tx, f'{asked.id}:over')", "a.id == b.id"])
def test_an_id_may_be_made_looked_up_and_compared(fine: str, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text(fine)
    assert list(parsed_ids(tmp_path / "fine.py", "fine")) == []
