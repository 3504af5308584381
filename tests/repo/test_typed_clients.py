"""Above the wire everything is typed: `Any` appears in one module of the client and nowhere in the command line, and
following a thread is written once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
PACKAGES = ("cli", "client")
WIRE = "client/wire.py"  # the only module that may use Any
JSON = {"client/wire.py", "client/events.py"}  # may use its alias for untyped JSON: for the `data` of an event
FOLLOWER = "client/follower.py"


def modules(source: Path) -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((source / package).rglob("*.py")):
            yield path.relative_to(source).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that is used, also in quoted annotations, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name, node.lineno
            case (
                ast.AnnAssign(annotation=ast.Constant(value=str(text)))
                | ast.arg(annotation=ast.Constant(value=str(text)))
            ):
                yield from ((name, node.lineno) for name in text.replace("[", " ").replace("]", " ").split())


def untyped(source: Path) -> list[str]:
    return [
        f"{module}:{line} uses {name}"
        for module, tree in modules(source)
        for name, line in names(tree)
        if (name == "Any" and module != WIRE) or (name == "JsonObject" and module not in JSON)
    ]


def read_by_key(source: Path) -> list[str]:
    """The `data` of an event is for programs that use the Python API: clew's own commands read `what`."""
    return [
        f"{module}:{node.lineno} reads .data[…]"
        for module, tree in modules(source)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "data"
    ]


def second_followers(source: Path) -> list[str]:
    """Only the follower asks for a stream of events, and so only it reconnects."""
    return [
        f"{module}:{node.lineno} asks for events"
        for module, tree in modules(source)
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple)
        and module != FOLLOWER
        and any(isinstance(each, ast.Constant) and each.value == "events" for each in node.elts)
    ]


CHECKS = (untyped, read_by_key, second_followers)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_clients_are_typed_and_follow_in_one_way(check: Callable[[Path], list[str]]) -> None:
    assert check(SOURCE) == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (untyped, "from typing import Any\n"),
        (untyped, "import typing\nx: typing.Any = 1\n"),
        (untyped, 'x: "list[Any]" = []\n'),
        (untyped, "from clew.client.wire import JsonObject\n"),
        (read_by_key, "def f(event): return event.data['text']\n"),
        (second_followers, "path = ('threads', 'T', 'events')\n"),
    ],
)
def test_a_planted_violation_is_found(check: Callable[[Path], list[str]], text: str, tmp_path: Path) -> None:
    planted = tmp_path / "cli" / "planted.py"
    planted.parent.mkdir()
    planted.write_text(text)
    assert len(check(tmp_path)) >= 1
