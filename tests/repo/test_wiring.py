"""What an object calls is given to its constructor: nobody sets a callback on another object later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
ELSEWHERE = {  # what other libraries offer no argument for; and the script that a test gives its agent
    "clew.agent.play",
    "markdown.normalizeLink",
    "markdown.validateLink",
    "self._session.default_buffer.accept_handler",
    "self.raw.text_factory",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def set_callbacks(text: str) -> Iterator[str]:
    """Assignments of a function, a method or a lambda to an attribute of an object other than `self`."""
    tree = ast.parse(text)
    callables = {
        each.name
        for each in ast.walk(tree)
        if isinstance(each, FUNCTIONS)
        and not any(ast.unparse(one).startswith("property") for one in each.decorator_list)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            is_own = not isinstance(target, ast.Attribute) or ast.unparse(target.value) in ("self", "cls")
            if is_own or ast.unparse(target) in ELSEWHERE:
                continue
            if getattr(target, "attr", "").startswith("on_") or is_callable(node.value, callables):
                yield ast.unparse(node)


def is_callable(value: ast.expr, callables: set[str]) -> bool:
    match value:
        case ast.Lambda():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in callables
        case ast.Call(func=ast.Name(id="partial")):
            return True
        case _:
            return False


@pytest.mark.parametrize("package", sorted(each.name for each in SOURCE.iterdir() if not each.name.startswith("_")))
def test_no_callback_is_set_after_construction(package: str) -> None:
    named = SOURCE / package
    paths = [named] if named.is_file() else sorted(named.rglob("*.py"))
    found = {path.name: list(set_callbacks(path.read_text(encoding="utf-8"))) for path in paths}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "child.on_lost = lost",
        "connection.closed = lambda reason: stop(reason)",
        "def lost(): ...\nself.socket.gone = lost",
        "class Server:\n    def open(self): ...\n    def wire(self, door): door.listen = self.open",
        "talk.say = partial(print, end='')",
    ],
)
def test_a_planted_callback_is_found(planted: str) -> None:
    assert len(list(set_callbacks(planted))) == 1


def test_data_may_be_set() -> None:
    assert list(set_callbacks("self.on_lost = on_lost\nchild.exit_code = code\nstate.reason = stop.reason")) == []
