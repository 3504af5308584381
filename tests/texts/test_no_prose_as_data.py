"""Sentences are not data: errors and rows get a coded sentence, and no code compares or searches sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from clew.model.surface import NotSent
from clew.support.coded import Text
from clew.support.errors import ClewError
from clew.texts.bilingual import Bilingual
from clew.texts.catalogue import AREAS, sentences
from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
CODED = [  # packages whose errors are all coded; add yours
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

_SEARCHES = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "count", "partition", "split"}
_LOOKUPS = {"get", "pop", "setdefault"}
_WORD = re.compile("[A-Za-z]{2,}|[\u4e00-\u9fff]")
_FEWEST_WORDS = 3  # of a literal that is taken for a part of a sentence: `completed` is a state, too


def kinds_of(base: type) -> set[str]:
    return {base.__name__}.union(*map(kinds_of, base.__subclasses__()))


def text_position(call: ast.Call) -> int | None:
    """Which argument of this call is shown to people: of an error, a refused send, a reply or a problem."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in kinds_of(ClewError) | kinds_of(NotSent):
        return 0
    return {"Arrival": 3, "Problem": 1}.get(name)


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


def uncoded(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = names_of_texts(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (position := text_position(node)) is None or len(node.args) <= position:
            continue
        if not is_coded(node.args[position], texts, strict=position == 0):
            yield f"{path.name}:{node.lineno} {ast.unparse(node)}"


@pytest.mark.parametrize("package", CODED)
def test_every_error_and_reply_has_a_code(package: str) -> None:
    named = SOURCE / package
    paths = [named] if named.is_file() else sorted(named.rglob("*.py"))
    assert paths and [each for path in paths for each in uncoded(path)] == []


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


# Comparing


@cache
def all_sentences() -> str:
    found = [text for area in AREAS for both in sentences(area).values() for text in both]
    return "\n".join(re.sub(r"\{\w+\}", "\0", text) for text in found)


def is_sentence(value: object) -> bool:
    """Whether a literal is a part of a sentence in the catalogue."""
    return isinstance(value, str) and len(_WORD.findall(value)) >= _FEWEST_WORDS and value in all_sentences()


def constant_named(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute, None)
    except ImportError:
        return None


def compared_sentence(node: ast.expr, texts: dict[str, str]) -> str | None:
    """The sentence that an expression is: a literal, or a constant of `clew.texts`, also in Chinese."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "zh":
            node = node.value
        elif isinstance(node, ast.Call) and root_of(node) in ("str", "zh") and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.Constant):
        return repr(node.value) if is_sentence(node.value) else None
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return next((found for each in node.elts if (found := compared_sentence(each, texts))), None)
    name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    first, _, rest = name.partition(".")
    known = f"{texts[first]}.{rest}" if first in texts and rest else texts.get(first, "")
    return name if known and isinstance(constant_named(known), Text | Bilingual) else None


def operands(node: ast.AST) -> list[ast.expr]:
    """What a node compares with, searches for or looks up."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=ast.Attribute(attr=name), args=given) if name in _SEARCHES | _LOOKUPS:
            return list(given)
        case ast.Subscript(slice=key):
            return [key]
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case _:
            return []


def comparisons(path: Path, name: str) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = names_of_texts(tree)
    for node in ast.walk(tree):
        for operand in operands(node):
            if (found := compared_sentence(operand, texts)) is not None:
                yield f"{name} {found}"


def test_no_code_compares_or_searches_a_sentence() -> None:
    """But for the test kit, which looks at what a person sees."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not {"catalogue", "testing"} & set(path.parts)]
    found = {each for path in paths for each in comparisons(path, str(path.relative_to(SOURCE)))}
    assert found == set()


@pytest.mark.parametrize(
    "planted",
    [
        "if words == chat_messages.EMPTY: ...",
        "if words == chat_messages.POSSIBLE_REPEAT.zh: ...",
        "if zh(chat_messages.EMPTY) in words: ...",
        "if words in (chat_messages.STOPPED, 'x'): ...",
        "if 'cannot be resumed' in words: ...",
        "words.startswith('There is no thread ')",
        "words.removesuffix('这一轮失败了。')",
        "{chat_messages.EMPTY: 1}[words]",
        "known.get('The turn failed.')",
        "found['The turn failed.']",
    ],
)
def test_a_planted_comparison_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(f"from clew.texts import chat_messages\n{planted}\n")
    assert len(list(comparisons(tmp_path / "planted.py", "planted"))) == 1


@pytest.mark.parametrize(
    "fine",
    ["state == 'completed'", "chat_messages.word(text) in chat_messages.YES", "coded_of(text).code == 'turns.settled'"],
)
def test_states_words_and_codes_may_be_compared(fine: str, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text(f"from clew.texts import chat_messages\n{fine}\n")
    assert list(comparisons(tmp_path / "fine.py", "fine")) == []
