"""The catalogue: every sentence that clew stores or returns, by its code, in English and 简体中文.

A code is `AREA.NAME`; the module of the area has the sentences, with `{holes}` for the arguments. Those of a plugin are
`plugins.PLUGIN.NAME`, and come with the plugin (`config/plugin.py`). `say` makes a
sentence, `chinese` renders it later. Nothing else may compare or search sentences: compare codes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from clew.support.coded import Coded, Text, brought, coded_of

AREAS = (
    "acp",
    "agents",
    "approvals",
    "both",
    "budgets",
    "chats",
    "claude",
    "cli_chat",
    "cli_daemon",
    "cli_demo",
    "cli_gates",
    "cli_labels",
    "cli_setup",
    "cli_threads",
    "cli_words",
    "codex",
    "config",
    "daemon",
    "deliveries",
    "doctor",
    "gates",
    "handoffs",
    "limits",
    "messages",
    "people",
    "process",
    "reasons",
    "rules",
    "runtimes",
    "surfaces",
    "threads",
    "turns",
    "update",
)

_HOLE = re.compile(r"\{(\w+)\}")


def say(code: str, /, **args: str | int) -> Text:
    """The sentence with this code. An argument that is a sentence itself keeps its own code."""
    coded = Coded(code, {name: _argument(value) for name, value in args.items()})
    return Text(english(coded), coded)


def english(coded: Coded) -> str:
    template = _template(coded.code)
    if template is None:
        return coded.code
    return _HOLE.sub(lambda hole: _in_english(coded.args.get(hole[1], "")), template[0])


def chinese(coded: Coded) -> str:
    """Spaces are put between Chinese characters and the Latin letters of an argument."""
    template = _template(coded.code)
    if template is None:
        return coded.code
    text = template[1]

    def fill(hole: re.Match[str]) -> str:
        value = _in_chinese(coded.args.get(hole[1], ""))
        before = " " if _is_han(text[: hole.start()][-1:]) and _is_latin(value[:1]) else ""
        after = " " if _is_han(text[hole.end() :][:1]) and _is_latin(value[-1:]) else ""
        return f"{before}{value}{after}"

    return _HOLE.sub(fill, text)


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u4dbf" or "\u4e00" <= char <= "\u9fff"


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def restore(coded: Coded, stored: str) -> str:
    """A stored sentence. One with a code that this version does not know keeps the words that were stored with it."""
    return Text(english(coded), coded) if is_known(coded) else stored


def in_chat(coded: Coded) -> Coded:
    """The sentence as a chat says it: without words that help only at the computer."""
    args = {name: in_chat(value) if isinstance(value, Coded) else value for name, value in coded.args.items()}
    code = f"chats.{coded.code}" if coded.code in sentences("chats") else coded.code
    return Coded(code, args)


def is_known(coded: Coded) -> bool:
    """Whether this version has the sentence, and those in it. A newer one, or a plugin, may have stored or sent it."""
    inner = (each for each in coded.args.values() if isinstance(each, Coded))
    return _template(coded.code) is not None and all(map(is_known, inner))


@cache
def sentences(area: str) -> Mapping[str, tuple[str, str]]:
    """The sentences of an area: English and Chinese, by the part of the code behind the area's name."""
    found: Mapping[str, tuple[str, str]] = import_module(f"clew.texts.catalogue.{area}").SENTENCES
    return found


def _template(code: str) -> tuple[str, str] | None:
    area, _, name = code.partition(".")
    return sentences(area).get(name) if area in AREAS else brought(code)


def _argument(value: str | int) -> str | int | Coded:
    if isinstance(value, int):
        return value
    if (translated := getattr(value, "zh", None)) is not None:
        return Coded("both.text", {"en": str(value), "zh": translated})
    coded = coded_of(value)
    return coded if coded is not None and is_known(coded) else str.__str__(value)


def _in_english(value: str | int | Coded) -> str:
    return english(value) if isinstance(value, Coded) else str(value)


def _in_chinese(value: str | int | Coded) -> str:
    return chinese(value) if isinstance(value, Coded) else str(value)
