"""Sentences are not data: no code compares with a sentence of the catalogue, searches in one, or looks one up; on the
page neither. Codes are compared, and compared whole."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from clew.support.coded import Text
from clew.texts.bilingual import Bilingual
from clew.texts.catalogue import AREAS, sentences
from tests.helpers.paths import ROOT
from tests.texts.bindings import Bindings
from tests.texts.test_no_prose_as_data import names_of_texts, root_of

SOURCE = ROOT / "src" / "clew"
PAGE = SOURCE / "server" / "page" / "static"

_PARSES = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "count", "partition", "split"}
_PARSES |= {"rpartition", "rsplit", "rfind", "rindex", "replace"}
_LOOKUPS = {"get", "pop", "setdefault"}
_PATTERNS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split"}  # of `re`
_SAYS = {"say", "phrase", "sentence", "worded"}  # these make a sentence from a code
_WORDS = re.compile("[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}|[\u4e00-\u9fff]{3}")  # `message_id` is one word

FOREIGN = {  # words that others say or that a person types, and that also stand in a sentence of clew
    "yes all": "typed at a card",
    "不同意": "typed at a card",
    "全部同意": "typed at a card",
    "is empty": "an error of Codex",
    "not found": "an error of Codex",
    "not loaded": "an error of Codex",
}
OLD_ROWS = {"store/recode.py"}  # finds the sentences that rows of former versions have


@cache
def all_sentences() -> str:
    found = [text for area in AREAS for both in sentences(area).values() for text in both]
    return "\n".join(re.sub(r"\{\w+\}", "\0", text) for text in found)


@cache
def is_sentence(value: str) -> bool:
    """Whether a text is a part of a sentence in the catalogue, in whole words."""
    text = value.strip()
    return text not in FOREIGN and _WORDS.search(text) is not None and is_in(text, all_sentences())


def is_in(text: str, whole: str) -> bool:
    return re.search(rf"(?<![A-Za-z]){re.escape(text)}(?![A-Za-z])", whole) is not None


def is_pattern_of_sentence(pattern: str) -> bool:
    """Whether a regular expression looks for a part of a sentence: what it has between its special characters."""
    return any(is_sentence(part) for part in re.split(r"\\[A-Za-z0-9]|[\\\[\]()*+?{}|^$]", pattern))


def constant_named(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute, None) if module else None
    except ImportError:
        return None


class Module(Bindings):
    """A module, with the names under which it knows texts."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.texts = names_of_texts(self.tree)

    def sentence(self, node: ast.expr, depth: int = 3) -> str | None:
        """The sentence that an expression is, also in Chinese: a literal, a constant of `clew.texts`, one that is made
        from a code, or a name that is bound to one of these."""
        match node:
            case ast.Attribute(attr="zh", value=inner) | ast.Call(func=ast.Name(id="str" | "zh"), args=[inner]):
                return self.sentence(inner, depth)
            case ast.Constant(value=str(text)):
                return repr(text) if is_sentence(text) else None
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return self._first(parts, depth)
            case ast.IfExp(body=one, orelse=other):
                return self._first([one, other], depth)
            case ast.Call(func=ast.Name(id="frozenset" | "tuple" | "set"), args=[inner]):
                return self.sentence(inner, depth)
            case ast.Call() if self._makes_sentence(node):
                return ast.unparse(node)
            case ast.Name() if depth and (values := self.values_of(node)):
                return self._first(values, depth - 1)
            case ast.Name() | ast.Attribute():
                return (
                    ast.unparse(node) if isinstance(constant_named(self._full_name(node)), Text | Bilingual) else None
                )
            case _:
                return None

    def _first(self, parts: list[ast.expr], depth: int) -> str | None:
        return next((found for each in parts if (found := self.sentence(each, depth))), None)

    def _full_name(self, node: ast.expr) -> str:
        first, _, rest = ast.unparse(node).partition(".")
        return f"{self.texts[first]}.{rest}" if first in self.texts and rest else self.texts.get(first, "")

    def _makes_sentence(self, call: ast.Call) -> bool:
        """`say("…")`, and a function of `clew.texts` that returns a sentence."""
        if isinstance(call.func, ast.Name) and call.func.id in _SAYS:
            return True
        known = constant_named(self._full_name(call.func)) if root_of(call.func) in self.texts else None
        return inspect.isfunction(known) and known.__annotations__.get("return") in ("Text", "Bilingual")

    def operands(self, node: ast.AST) -> Iterator[str]:
        """The sentences that a node compares with, searches for or looks up."""
        match node:
            case ast.Compare(ops=ops) if all(isinstance(each, ast.Is | ast.IsNot) for each in ops):
                return
            case ast.Compare(left=left, comparators=others):
                yield from self._all(left, *others)
            case ast.MatchValue(value=value):
                yield from self._all(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]) if (
                name in _PATTERNS
            ):
                yield from self._patterns(pattern)
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _PARSES | _LOOKUPS:
                yield from self._all(first)
            case ast.Subscript(slice=key, ctx=ast.Load()):
                yield from self._all(key)
            case ast.Dict(keys=keys):
                yield from self._all(*(key for key in keys if key is not None))

    def _all(self, *nodes: ast.expr) -> Iterator[str]:
        yield from (found for node in nodes if (found := self.sentence(node)) is not None)

    def _patterns(self, node: ast.expr) -> Iterator[str]:
        for value in self.values_of(node) or [node] if isinstance(node, ast.Name) else [node]:
            found = self.sentence(value)
            literals = [each for each in ast.walk(value) if isinstance(each, ast.Constant)]
            if found is not None:
                yield found
            elif any(isinstance(each.value, str) and is_pattern_of_sentence(each.value) for each in literals):
                yield ast.unparse(value)


def comparisons(path: Path, name: str) -> Iterator[str]:
    module = Module(path)
    yield from (f"{name} {found}" for node in ast.walk(module.tree) for found in module.operands(node))


def in_all_modules(look: Callable[[Path, str], Iterator[str]]) -> set[str]:
    """But for the catalogue itself, and the test kit, which looks at what a person sees."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not {"catalogue", "testing"} & set(path.parts)]
    named = ((path, str(path.relative_to(SOURCE))) for path in paths)
    return {each for path, name in named if name not in OLD_ROWS for each in look(path, name)}


def test_no_code_compares_or_searches_a_sentence() -> None:
    assert in_all_modules(comparisons) == set()


@pytest.mark.parametrize(
    "planted",
    [
        "if words == chat_messages.EMPTY: ...",
        "if words == chat_messages.POSSIBLE_REPEAT.zh: ...",
        "if zh(chat_messages.EMPTY) in words: ...",
        "if words in (chat_messages.STOPPED, 'x'): ...",
        "if words == chat_messages.no_thread(name): ...",
        "if 'cannot be resumed' in words: ...",
        "words.startswith('There is no thread ')",
        "words.removesuffix('这一轮失败了。')",
        "{chat_messages.EMPTY: 1}[words]",
        "known.get('The turn failed.')",
        "found['The turn failed.']",
        "if words == say('threads.turn_failed'): ...",
        "words.removeprefix(phrase('cli_threads.read_shows', thread=name))",
        "re.search('cannot be resumed', words)",
        r"re.compile(r'\bcannot be resumed\.').search(words)",
        "match words:\n    case 'The turn failed.': ...",
        "if 'turn failed' in words: ...",
        "gone = say('threads.turn_failed')\nif words == gone: ...",
        "GONE = 'cannot be resumed'\ndef is_gone(words): return GONE in words",
        "def look(words):\n    parts = ('The turn failed.', 'x')\n    return words in parts",
    ],
)
def test_a_planted_comparison_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(f"from clew.texts import chat_messages\n{planted}\n")
    assert len(list(comparisons(tmp_path / "planted.py", "planted"))) == 1


@pytest.mark.parametrize(
    "fine",
    [
        "state == 'completed'",
        "chat_messages.word(text) in chat_messages.YES",
        "coded_of(text).code == 'turns.settled'",
        "words = say('threads.turn_failed')\nif words is not None: ...",
    ],
)
def test_states_words_and_codes_may_be_compared(fine: str, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text(f"from clew.texts import chat_messages\n{fine}\n")
    assert list(comparisons(tmp_path / "fine.py", "fine")) == []


# Codes

NOT_OF_SENTENCES = {  # what a person typed of the code of a gate
    "cli/completion.py: row.code.startswith(incomplete.upper())",
    "engine/agents/fallback.py: code.endswith(KINDS)",  # codes of runtimes; `RuntimeTrouble.unable` says it
}


def cut_codes(path: Path, name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="code") | ast.Attribute(attr="code"), attr=called)) if (
                called in _PARSES
            ):
                yield f"{name}: {ast.unparse(node)}"


def test_no_code_looks_into_a_code() -> None:
    """The end of a code says nothing: what programs need to know has a field of its own."""
    assert in_all_modules(cut_codes) == NOT_OF_SENTENCES


# The page

WORDS = [json.loads((PAGE / "words" / f"{language}.json").read_text(encoding="utf-8")) for language in ("en", "zh")]
_TEXT = r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|`(?P<tick>[^`]*)`)"""
_REGEX = r"/(?P<regex>(?:[^/\n\\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+)/[a-z]*"
_CALLS = "includes|startsWith|endsWith|indexOf|lastIndexOf|split|match|matchAll|search|replace|replaceAll|get|has"
_COMPARED = re.compile(
    rf"(?:[!=]==?\s*|\bcase\s+|\.(?:{_CALLS})\(\s*)(?:{_TEXT}|{_REGEX})"
    rf"|{_REGEX.replace('regex', 'tested')}\.(?:test|exec)\("
    rf"|{_TEXT.replace('double', 'd2').replace('single', 's2').replace('tick', 't2')}\s*[!=]==?"
)
_BOUND = re.compile(r"\b(?:const|let|var)\s+(\w+)\s*=\s*(?:" + _TEXT + "|" + _REGEX + ")")


@cache
def page_sentences() -> str:
    found = [text for words in WORDS for whole in words.values() for text in whole.split("|")]
    return "\n".join([*(re.sub(r"\{\w+\}", "\0", text) for text in found), all_sentences()])


def is_said(text: str) -> bool:
    text = text.strip()
    return _WORDS.search(text) is not None and is_in(text, page_sentences())


def searched(literal: dict[str, str | None]) -> str | None:
    """The sentence in what a comparison has on one side."""
    for kind, text in literal.items():
        parts = re.split(r"[\[\]()*+?{}|^$.\\]", text or "") if kind in ("regex", "tested") else [text or ""]
        if found := next((part for part in parts if is_said(part)), None):
            return found
    return None


def page_comparisons(text: str) -> list[str]:
    text = re.sub(r"^\s*(?://|\*|/\*).*$", "", text, flags=re.MULTILINE)
    found = [said for match in _COMPARED.finditer(text) if (said := searched(match.groupdict()))]
    for match in _BOUND.finditer(text):
        name, said = re.escape(match[1]), searched(match.groupdict())
        used = rf"[!=]==?\s*{name}\b|\b{name}\s*[!=]==?|\.(?:{_CALLS})\(\s*{name}\b|\b{name}\.(?:test|exec)\("
        found += [said] if said and re.search(used, text) else []
    translated = r"(?:[!=]==?|\.(?:" + _CALLS + r")\()\s*t\("  # `words === t("…")`
    return [*found, *re.findall(translated, text)]


@pytest.mark.parametrize("path", sorted(PAGE.rglob("*.js")), ids=lambda path: path.name)
def test_the_page_compares_no_sentence(path: Path) -> None:
    assert page_comparisons(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        'if (words === t("away.try")) return;',
        'if (words === "Try now") return;',
        'if ("Try now" === words) return;',
        'if (words.includes("daemon does not answer")) return;',
        "if (/does not answer/.test(words)) return;",
        "words.replace(/^The daemon does/u, '');",
        'switch (words) { case "The turn failed.": return; }',
        'const gone = "cannot be resumed";\nif (words.includes(gone)) return;',
        "if (words.startsWith('正在查找')) return;",
    ],
)
def test_a_planted_comparison_of_the_page_is_found(planted: str) -> None:
    assert len(page_comparisons(planted)) == 1


@pytest.mark.parametrize(
    "fine",
    [
        'if (thread.status === "completed") return;',
        'text("Try now");',
        'const label = t("away.try");',
        '// if (words === "Try now") …',
        'if (view.code === "threads.turn_failed") return;',
    ],
)
def test_the_page_may_compare_codes_and_show_sentences(fine: str) -> None:
    assert page_comparisons(fine) == []
