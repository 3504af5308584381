"""Bodies of transactions change rows only: they may run twice, and a failed commit undoes what they did."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
CHANGING = frozenset(
    {"append", "add", "pop", "popitem", "update", "clear", "discard", "remove", "setdefault", "extend"}
)
LASTING = ("self", "core")  # what outlives the body


def changes_of_memory(text: str) -> Iterator[str]:
    """Statements in functions with a transaction that change an attribute of something that outlives them. What is
    passed to `tx.after` runs after the commit."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and _has_transaction(function):
            later = {id(node) for call in _after(function) for node in ast.walk(call)}
            yield from (f"{node.lineno}: {ast.unparse(node)}" for node in _changes(function) if id(node) not in later)


def _has_transaction(function: ast.FunctionDef) -> bool:
    given = [*function.args.args, *function.args.kwonlyargs]
    return any(each.annotation is not None and ast.unparse(each.annotation) == "Tx" for each in given)


def _after(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tx.after":
            yield node


def _changes(function: ast.FunctionDef) -> Iterator[ast.stmt | ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            if isinstance(node.func.value, ast.Attribute) and _root(node.func) in LASTING:
                yield node
        elif isinstance(node, ast.Assign | ast.Delete | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            if any(isinstance(each, ast.Attribute | ast.Subscript) and _root(each) in LASTING for each in targets):
                yield node


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("path", sorted((SOURCE / "engine").rglob("*.py")), ids=lambda path: path.name)
def test_no_transaction_body_changes_memory(path: Path) -> None:
    assert list(changes_of_memory(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line", ["core.answers[1] = 2", "self.seen = 1", "del core.answers[1]", "core.answers.pop(1)", "self.n += 1"]
)
def test_a_planted_change_of_memory_is_found(line: str) -> None:
    assert list(changes_of_memory(f"def body(self, tx: Tx, core: Core) -> None:\n    {line}\n"))
    assert not list(changes_of_memory(f"def body(self, core: Core) -> None:\n    {line}\n"))


def test_what_runs_after_the_commit_may_change_memory() -> None:
    assert not list(changes_of_memory("def body(tx: Tx, core: Core):\n    tx.after(lambda: core.answers.pop(1))\n"))
