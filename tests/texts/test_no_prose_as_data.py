"""Sentences are not data: errors, replies and problems have one with a code. See test_no_sentence_is_compared.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from tests.texts.bindings import Bindings

SOURCE = ROOT / "src" / "clew"
CODED = [  # in these a variable is not enough: each error names its sentence
    "config",
    "engine/core.py",
    "engine/delivery",
    "engine/engine.py",
    "engine/gates",
    "engine/inbox",
    "engine/places",
    "engine/rules",
    "engine/services",
    "engine/threads",
    "engine/turns",
    "support",
]
NOT_SAID_BY_CLEW = {  # or no person reads it
    "cli/commands/update/steps.py": "what another clew said",
    "runtimes/acp/client": "answers to requests of an agent",
    "runtimes/codex/approvals/pending.py": "the answer to a request of Codex",
    "store/sqlite/driver.py": "errors of the simulation, and of a bug in the writer",
    "testing": "what a scripted agent says",
}

_SEARCHES = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "count", "partition", "split"}
_LOOKUPS = {"get", "pop", "setdefault"}
_WORD = re.compile("[A-Za-z]{2,}|[\u4e00-\u9fff]")
_FEWEST_WORDS = 3  # of a literal that is taken for a part of a sentence: `completed` is a state, too


@cache
def errors() -> frozenset[str]:
    """The names of all errors and refused sends, also of modules that no test has imported."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py"))
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found, before = {"ClewError", "NotSent"}, 0
    while before != len(found):
        before = len(found)
        found |= {each.name for each in classes for base in each.bases if ast.unparse(base).split(".")[-1] in found}
    return frozenset(found)


def text_position(call: ast.Call) -> int | None:
    """Which argument of this call is shown to people: of an error, a refused send, a reply or a problem."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    known = {"Arrival": 3, "BadSignature": 1, "Problem": 1}.get(name)
    return 0 if known is None and name in errors() else known


def names_of_texts(tree: ast.Module) -> dict[str, str]:
    """The names under which a module knows modules of `clew.texts` and what is in them, with their full names."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clew.texts"):
            found.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module in ("clew.support.coded", "clew.cli.language"):
            found.update({each.name: each.name for each in node.names if each.name in ("worded", "sentence")})
    return found


def root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_coded(node: ast.expr, texts: dict[str, str], *, strict: bool) -> bool:
    """Whether an argument is a sentence with a code. `strict`: a variable is not enough."""
    if isinstance(node, ast.IfExp):
        return all(is_coded(each, texts, strict=strict) for each in (node.body, node.orelse))
    if isinstance(node, ast.Constant):
        return node.value == "" and not strict
    if isinstance(node, ast.JoinedStr | ast.BinOp):
        return False
    if isinstance(node, ast.Attribute) and node.attr in ("words", "text", "reason"):
        return True
    return root_of(node) in texts or not strict


def uncoded(path: Path, *, strict: bool = True) -> Iterator[str]:
    module = Bindings(path)
    texts = names_of_texts(module.tree)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or (position := text_position(node)) is None or len(node.args) <= position:
            continue
        given = node.args[position]
        values = module.values_of(given) if isinstance(given, ast.Name) and not strict else []
        if not all(is_coded(each, texts, strict=strict and position == 0) for each in (given, *values)):
            yield f"{path.name}:{node.lineno} {ast.unparse(node)}"


def is_below(path: Path, names: Iterable[str]) -> bool:
    return any(path.is_relative_to(SOURCE / name) for name in names)


@pytest.mark.parametrize("package", CODED)
def test_every_error_and_reply_has_a_code(package: str) -> None:
    named = SOURCE / package
    paths = [named] if named.is_file() else sorted(named.rglob("*.py"))
    assert paths and [each for path in paths for each in uncoded(path)] == []


def test_no_error_or_reply_elsewhere_is_a_literal() -> None:
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not is_below(path, (*CODED, *NOT_SAID_BY_CLEW))]
    assert [each for path in paths for each in uncoded(path, strict=False)] == []


@pytest.mark.parametrize("name", NOT_SAID_BY_CLEW)
def test_each_exception_is_needed(name: str) -> None:
    named = SOURCE / name
    paths = [named] if named.is_file() else sorted(named.rglob("*.py"))
    assert [each for path in paths for each in uncoded(path, strict=False)]


def test_a_literal_in_a_variable_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "def fail(why):\n    words = f'It is {why}.'\n    raise Refused(words)\n"
        "def refuse(words):\n    raise Refused(words)\n"
        "raise OutOfReach('It went away.')\n"
    )
    assert [int(each.split(":")[1].split()[0]) for each in uncoded(planted, strict=False)] == [6, 3]


def test_an_error_without_a_code_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from clew.texts import chat_messages\n"
        "from clew.texts.catalogue import say\n"
        "raise Refused('It is not there.')\n"
        "raise NotFound(f'There is no {name}.')\n"
        "raise Refused(error.message)\n"
        "raise Never('gone')\n"
        "Arrival(fate, None, None, 'No.')\n"
        "Problem('internal', f'{error} failed')\n"
        "raise Refused(say('threads.turn_failed'))\n"
        "raise Refused(chat_messages.no_thread(name))\n"
        "raise BadInput(chat_messages.EMPTY if name else error.words)\n"
        "Arrival(fate, None, None, words)\n"
    )
    assert [int(each.split(":")[1].split()[0]) for each in uncoded(planted)] == [3, 4, 5, 6, 7, 8]


# Putting together

JOINING = ["engine/gates", "engine/rules", "runtimes"]  # packages that make what a card shows; add yours
_SENTENCES = {"say", "lines", "listed", "glued"}


def is_sentence_call(node: ast.expr | None, texts: dict[str, str]) -> bool:
    """Whether an expression is a sentence: a call that makes one, or a choice of which one is."""
    if isinstance(node, ast.IfExp):
        return is_sentence_call(node.body, texts) or is_sentence_call(node.orelse, texts)
    if isinstance(node, ast.BoolOp):
        return any(is_sentence_call(each, texts) for each in node.values)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SENTENCES & texts.keys()


def flattened(path: Path) -> Iterator[str]:
    """Where a sentence gets into an f-string or a `join`, which leave only its English."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = names_of_texts(tree)
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_sentence_call(node.value, texts)]
    names = {each.id for node in assigned for each in node.targets if isinstance(each, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts: list[ast.expr] = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            parts = [each for given in node.args for each in ast.walk(given) if isinstance(each, ast.expr)]
        else:
            continue
        if any(is_sentence_call(each, texts) or (isinstance(each, ast.Name) and each.id in names) for each in parts):
            yield f"{path.name}:{node.lineno} {ast.unparse(node)}"


def test_no_sentence_loses_its_code_in_a_longer_text() -> None:
    paths = [path for package in JOINING for path in sorted((SOURCE / package).rglob("*.py"))]
    assert [each for path in paths for each in flattened(path)] == []


def test_a_sentence_that_loses_its_code_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from clew.texts.catalogue import say\n"
        "from clew.texts.together import lines\n"
        "f'{say(\"threads.turn_failed\")}\\n{diff}'\n"
        "WORDS = say('threads.turn_failed')\n"
        "f'{WORDS}; it calls it: {name}'\n"
        "'\\n'.join((WORDS, name))\n"
        "about = lines(WORDS, name) if name else ''\n"
        "' · '.join(filter(None, (about,)))\n"
        "f'{name} says'\n"
        "lines(WORDS, about)\n"
    )
    assert [int(each.split(":")[1].split()[0]) for each in flattened(planted)] == [3, 5, 6, 8]
