"""What the names of a module are bound to, for tests that read code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


class Bindings:
    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self._values: dict[tuple[ast.AST, str], list[ast.expr]] = {}  # by scope and name
        self._scopes: dict[ast.AST, tuple[ast.AST, ...]] = {}  # of a node: its functions, innermost first
        self._walk(self.tree, (self.tree,))

    def _walk(self, node: ast.AST, scopes: tuple[ast.AST, ...]) -> None:
        self._scopes[node] = scopes
        for name, value in bound(node):
            self._values.setdefault((scopes[0], name), []).append(value)
        inner = (node, *scopes) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else scopes
        for child in ast.iter_child_nodes(node):
            self._walk(child, inner)

    def values_of(self, name: ast.Name) -> list[ast.expr]:
        found = (self._values.get((scope, name.id)) for scope in self._scopes.get(name, ()))
        return next((values for values in found if values), [])


def bound(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((each.id, value) for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
