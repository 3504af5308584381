"""Migration 15: sentences that older versions stored in English become codes. A text that is not in the catalogue stays
as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.model.gates import Reason
from clew.store.sqlite.driver import SqliteConnection
from clew.store.texts import stored
from clew.support.coded import Coded, Text
from clew.texts.catalogue import english, sentences
from clew.texts.reasons import reason

_AGENTS = ("runtimes", "codex", "acp")
_COLUMNS = (  # with the areas whose sentences they held
    ("gates", "why", ("gates",)),
    ("gates", "warning", ("gates",)),
    ("gates", "answered_by", ()),
    ("threads", "suspend_message", ("messages", "turns", *_AGENTS)),
    ("turns", "problem_message", ("turns", *_AGENTS)),
    ("continuity", "trouble", ("turns", *_AGENTS)),
    ("handoffs", "error", ("handoffs",)),
    ("deliveries", "error", ("deliveries", "surfaces")),
)
_OLDER = {  # as older versions worded them
    "the agent changed what it asks, and asks anew": "gates.changed",
}
_FEWEST_LETTERS = 12  # of a sentence outside its holes; a shorter one could match a text of somebody else
_HOLE = re.compile(r"\\\{(\w+)\\\}")
_NUMBER = frozenset({"count", "questions", "answers", "waiting", "ahead", "attempts"})
_HINT = re.compile(r"\s(Reply `continue` or `stop`\.|Reply `run all`, `merge` \(into one\) or `skip`\.)$")


def recode(connection: SqliteConnection) -> None:
    for table, column, areas in _COLUMNS:
        known = list(_patterns(areas))
        rows = connection.all(f"SELECT DISTINCT {column} AS text FROM {table} WHERE {column} IS NOT NULL", ())
        for row in rows:
            found = _coded(row["text"], column, known)
            if found is not None:
                value = stored(Text(english(found), found))
                connection.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (value, row["text"]))


def _coded(text: str, column: str, known: list[tuple[str, re.Pattern[str]]]) -> Coded | None:
    if column == "suspend_message":  # the hint how to answer was a part of it
        text = _HINT.sub("", text)
    if column == "answered_by":
        by_rule = re.fullmatch(r"clew \((.*)\)", text, re.DOTALL)
        return Coded("gates.by_rule", {"why": by_rule[1]}) if by_rule else None
    code, colon, about = text.partition(":")
    if colon and code in sentences("reasons"):
        return reason(Reason(code, about)).coded
    if text in _OLDER:
        return Coded(_OLDER[text])
    for name, pattern in known:
        if match := pattern.fullmatch(text):
            return Coded(name, {hole: _value(hole, value) for hole, value in match.groupdict().items()})
    return None


def _patterns(areas: tuple[str, ...]) -> Iterator[tuple[str, re.Pattern[str]]]:
    for area in areas:
        for name, (template, _) in sentences(area).items():
            if len(re.sub(r"\{\w+\}|\W", "", template)) >= _FEWEST_LETTERS:
                yield f"{area}.{name}", re.compile(_as_pattern(template), re.DOTALL)


def _as_pattern(template: str) -> str:
    """A hole that occurs twice must have the same text each time."""
    seen: set[str] = set()

    def fill(hole: re.Match[str]) -> str:
        name = hole[1]
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>.*?)"

    return _HOLE.sub(fill, re.escape(template))


def _value(hole: str, value: str) -> str | int:
    return int(value) if hole in _NUMBER and value.isdecimal() else value
