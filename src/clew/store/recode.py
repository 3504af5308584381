"""Migration 15: sentences that older versions stored in English become codes. Any other text stays as it is.

The sentences are those of 0015_codes.json, as they were worded then. The catalogue may change: this table must not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from clew.store.sqlite.driver import SqliteConnection
from clew.store.texts import stored
from clew.support.coded import Coded, Text
from clew.support.display.as_code import as_code

SENTENCES = Path(__file__).parent / "migrations" / "0015_codes.json"

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
_HOLE = re.compile(r"\\\{(\w+)\\\}")
_NUMBER = frozenset({"count", "questions", "answers", "waiting", "ahead", "attempts"})
_HINT = re.compile(r"\s(Reply `continue` or `stop`\.|Reply `run all`, `merge` \(into one\) or `skip`\.)$")


def recode(connection: SqliteConnection) -> None:
    sentences = msgspec.json.decode(SENTENCES.read_bytes(), type=dict[str, dict[str, str]])
    for table, column, areas in _COLUMNS:
        known = list(_patterns(sentences, areas))
        rows = connection.all(f"SELECT DISTINCT {column} AS text FROM {table} WHERE {column} IS NOT NULL", ())
        for row in rows:
            if not isinstance(row["text"], str):
                continue  # damaged
            found = _coded(row["text"], column, known) or _reason(row["text"], sentences["reasons"])
            if found is not None:
                connection.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (stored(found), row["text"]))


def _coded(text: str, column: str, known: list[tuple[str, re.Pattern[str]]]) -> Text | None:
    if column == "suspend_message":  # the hint how to answer was a part of it
        text = _HINT.sub("", text)
    if column == "answered_by":
        by_rule = re.fullmatch(r"clew \((.*)\)", text, re.DOTALL)
        return Text(text, Coded("gates.by_rule", {"why": by_rule[1]})) if by_rule else None
    if text in _OLDER:
        return Text(text, Coded(_OLDER[text]))
    for name, pattern in known:
        if match := pattern.fullmatch(text):
            values: dict[str, str | int | Coded] = {
                hole: _value(hole, value) for hole, value in match.groupdict().items()
            }
            return Text(text, Coded(name, values))
    return None


def _reason(text: str, reasons: Mapping[str, str]) -> Text | None:
    """A reason why clew asks, which was stored as CODE:ABOUT."""
    code, colon, about = text.partition(":")
    if not colon or code not in reasons:
        return None
    shown = as_code(about, lines=False)
    return Text(reasons[code].replace("{about}", shown), Coded(f"reasons.{code}", {"about": shown} if shown else {}))


def _patterns(
    sentences: Mapping[str, Mapping[str, str]], areas: tuple[str, ...]
) -> Iterator[tuple[str, re.Pattern[str]]]:
    for area in areas:
        for name, template in sentences[area].items():
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
