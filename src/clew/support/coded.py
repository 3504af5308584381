"""A sentence of clew as a code with arguments. Rows, views and events carry the code; the catalogue in `texts/` has the
sentence in English and 简体中文, and whoever shows it chooses the language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple, fields, replace

_HOLE = re.compile(r"\{(\w+)\}")
View = TypeVar("View", bound=Struct)


class Coded(Struct, frozen=True, omit_defaults=True):
    """`args` are the values of the sentence's holes; a hole may also hold another sentence."""

    code: str
    args: dict[str, str | int | Coded] = field(default_factory=dict)


class Text(str):
    """An English sentence of clew that still knows its code, so that it can be shown in another language. Text of
    others (an agent, a platform, the system) is a plain `str`."""

    __slots__ = ("coded",)
    coded: Coded

    def __new__(cls, english: str, coded: Coded) -> Text:
        text = super().__new__(cls, english)
        text.coded = coded
        return text

    def __getnewargs__(self) -> tuple[str, Coded]:  # type: ignore[override]
        """For `copy`, which `dataclasses.asdict` uses."""
        return str.__str__(self), self.coded


def worded(code: str, english: str, /, **args: str | int) -> Text:
    """A sentence of the catalogue for the packages below it, which cannot look it up: so they give its English, with
    the same `{holes}`. A test compares the two."""
    known: dict[str, str | int | Coded] = {
        name: value if isinstance(value, int) else coded_of(value) or str.__str__(value) for name, value in args.items()
    }
    return Text(_HOLE.sub(lambda hole: str(args.get(hole[1], "")), english), Coded(code, known))


_brought: dict[str, tuple[str, str]] = {}  # by code: the sentences of plugins that are loaded
_OF_PLUGIN = re.compile(r"plugins\.(.+)\.\w+")


def bring(plugin: str, sentences: Mapping[str, tuple[str, str]]) -> None:
    """Take in the sentences of a plugin: English and Chinese, by name."""
    _brought.update({f"plugins.{plugin}.{name}": both for name, both in sentences.items()})


def brought(code: str) -> tuple[str, str] | None:
    return _brought.get(code)


def plugins_in(coded: Coded) -> set[str]:
    """The plugins whose sentences it holds, and that are not loaded."""
    found = _OF_PLUGIN.fullmatch(coded.code) if coded.code not in _brought else None
    inner = (plugins_in(each) for each in coded.args.values() if isinstance(each, Coded))
    return set().union(*inner, {found[1]} if found else ())


def holes(text: str) -> set[str]:
    return set(_HOLE.findall(text))


def coded_of(text: str | None) -> Coded | None:
    """The code of a sentence of clew; None for any other text."""
    return text.coded if isinstance(text, Text) else None


def stable(text: str) -> str:
    """A text that stays the same if clew words its sentence anew: of a sentence the code with its arguments."""
    return msgspec.json.encode(text.coded, order="deterministic").decode() if isinstance(text, Text) else text


def with_arguments(text: str, change: Callable[[str], str]) -> str:
    """A text after a change to all that is not clew's: of a sentence to what stands in its holes, of any other text to
    all of it. The change may not depend on what is around a text."""
    return Text(change(str.__str__(text)), _changed(text.coded, change)) if isinstance(text, Text) else change(text)


def _changed(coded: Coded, change: Callable[[str], str]) -> Coded:
    def changed(value: str | int | Coded) -> str | int | Coded:
        if isinstance(value, Coded):
            return _changed(value, change)
        return change(value) if isinstance(value, str) else value

    return Coded(coded.code, {name: changed(value) for name, value in coded.args.items()})


def with_code(text: str, coded: Coded | None) -> str:
    """A text that was received with its code."""
    return Text(text, coded) if coded else text


def coded_in(**texts: object) -> dict[str, Coded]:
    """The codes of those of the named texts that are sentences of clew: the field `texts` of a view."""
    return {name: text.coded for name, text in texts.items() if isinstance(text, Text)}


def with_texts(view: View) -> View:
    """A view whose field `texts` names the codes of those of its fields that are sentences of clew; of a list `names`,
    the first is `names.0`."""
    texts: dict[str, Coded] = {}
    values = astuple(view)
    if Text in map(type, values):  # a list of threads has many views and few sentences
        named = zip(view.__struct_fields__, values, strict=True)
        texts = {name: value.coded for name, value in named if type(value) is Text}
    for name in _sequences(type(view)):
        if each := getattr(view, name):
            texts.update(coded_in(**{f"{name}.{number}": value for number, value in enumerate(each)}))
    return replace(view, texts=texts) if texts else view


@cache
def _sequences(view: type[Struct]) -> tuple[str, ...]:
    """The fields that may hold a list of sentences."""
    return tuple(each.name for each in fields(view) if get_origin(each.type) in (list, tuple))


def plain(value: Any) -> Any:
    """For msgspec, which encodes no subclass of `str` by itself: the string alone."""
    if isinstance(value, str):
        return str.__str__(value)
    raise NotImplementedError(f"Encoding objects of type {type(value).__name__} is unsupported")
