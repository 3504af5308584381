"""Changes one setting in the text of config.toml, and keeps comments, order and spaces.

Statements are found with tomllib: the fewest lines after the previous statement that are valid TOML. After the change
the whole text is parsed again: it must equal the old data plus the one new value. So a file in a style that this editor
does not support is refused, never damaged.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.support.coded import worded
from clew.support.errors import Refused

Key = tuple[str, ...]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines `begin` to `end` of a text: a table's header, or a value with its full key."""

    begin: int
    end: int
    table: Key  # the table that it is in, or begins
    key: Key | None  # None for a header


def assign(text: str, key: Key, value: Value) -> str:
    """The text with `key` set. Raises Refused if only a person can do it."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    statements = list(_statements(lines))
    old = next((each for each in statements if each.key == key), None)
    changed = _replaced(lines, old, value) if old else _added(lines, statements, key, value)
    _require_just_that(text, changed, key, value)
    return changed


def remove(text: str, key: Key) -> str:
    """The text without a setting, or without a whole table. Raises Refused if only a person can do it."""
    lines = text.splitlines(keepends=True)
    for each in reversed(list(_statements(lines))):
        if (each.key or each.table)[: len(key)] == key:
            del lines[each.begin : each.end]
    changed = "".join(lines)
    _require_just_that_gone(text, changed, key)
    return changed


def quoted(value: Value) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def write(path: Path, text: str) -> None:
    """Write the file atomically and privately. If it is a link, write its target."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _statements(lines: list[str]) -> Iterator[Statement]:
    table: Key = ()
    begin = 0
    for end in range(1, len(lines) + 1):
        chunk = "".join(lines[begin:end])
        try:
            data = tomllib.loads(chunk)
        except tomllib.TOMLDecodeError:
            continue  # the middle of a statement of several lines
        if data and chunk.lstrip().startswith("["):
            table = _path(data)
            yield Statement(begin, end, table, None)
        elif data:
            yield Statement(begin, end, table, (*table, *_own_key(chunk)))
        begin = end


def _path(data: Any) -> Key:
    """The nested keys down to where the data branches or ends. For a header that is its name."""
    if not isinstance(data, dict) or len(data) != 1:
        return ()
    ((name, inner),) = data.items()
    return (name, *_path(inner))


def _own_key(chunk: str) -> Key:
    return _path(tomllib.loads(f"{chunk[: _equals(chunk)]}= 0"))


def _equals(chunk: str) -> int:
    """The position of the `=` after the key; a `=` in a quoted key does not count."""
    for found in re.finditer("=", chunk):
        if _reads(f"{chunk[: found.start()]}= 0"):
            return found.start()
    raise AssertionError(chunk)


def _comment(chunk: str) -> str:
    """The comment after the value, with the space before it."""
    for found in re.finditer(r"[ \t]*#", chunk):
        if _reads(chunk[: found.start()]):
            return chunk[found.start() :].rstrip()
    return ""


def _reads(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def _replaced(lines: list[str], old: Statement, value: Value) -> str:
    chunk = "".join(lines[old.begin : old.end])
    new = f"{chunk[: _equals(chunk)]}= {quoted(value)}{_comment(chunk)}\n"
    return "".join([*lines[: old.begin], new, *lines[old.end :]])


def _added(lines: list[str], statements: list[Statement], key: Key, value: Value) -> str:
    """Add a setting to its table; if there is none, to a new one at the end."""
    there = [each for each in statements if each.table == key[:-1] or (each.key and each.key[:-1] == key[:-1])]
    if there:
        line = f"{_written(key[len(there[-1].table) :])} = {quoted(value)}\n"
        at = _shown_at(lines, there[0].end, key[-1]) or there[-1].end
        return "".join([*lines[:at], line, *lines[at:]])
    gap = ["\n"] if lines and lines[-1].strip() else []
    return "".join([*lines, *gap, f"[{_written(key[:-1])}]\n", f"{_written(key[-1:])} = {quoted(value)}\n"])


def _shown_at(lines: list[str], begin: int, name: str) -> int | None:
    """The line after the comment that shows this setting, such as `# port = 7621`, if its table has one."""
    for at, line in enumerate(lines[begin:], begin + 1):
        if re.match(rf"#\s*{re.escape(name)}\s*=", line):
            return at
        if re.match(r"(#\s*)?\[", line):
            return None
    return None


def _written(key: Key) -> str:
    return ".".join(name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name) for name in key)


def _require_just_that(before: str, after: str, key: Key, value: Value) -> None:
    wanted: Any = tomllib.loads(before)
    at = wanted
    for name in key[:-1]:
        at = at.setdefault(name, {}) if isinstance(at, dict) else None
    try:
        at[key[-1]] = value
        done = tomllib.loads(after) == wanted
    except (TypeError, tomllib.TOMLDecodeError):
        done = False
    if not done:
        raise _only_by_hand(key)


def _require_just_that_gone(before: str, after: str, key: Key) -> None:
    wanted: Any = tomllib.loads(before)
    at = wanted
    for name in key[:-1]:
        at = at[name]
    del at[key[-1]]
    try:
        done = _without_empty(tomllib.loads(after)) == _without_empty(wanted)
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        raise _only_by_hand(key)


def _without_empty(data: Any) -> Any:
    """The data without empty tables."""
    if not isinstance(data, dict):
        return data
    inner = {name: _without_empty(value) for name, value in data.items()}
    return {name: value for name, value in inner.items() if value != {}}


def _only_by_hand(key: Key) -> Refused:
    name = ".".join(key)
    return Refused(
        worded(
            "config.by_hand",
            "{name} stands in a way that only you can change: edit it by hand, then `clew config check`",
            name=f"{name}",
        )
    )
