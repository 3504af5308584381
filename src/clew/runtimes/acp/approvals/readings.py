"""Finds what a call may do besides what it says clearly: commands under other keys, paths that a program may read
differently, and the words of everything else. Only rules that deny or ask use this: one reading too many does no harm.
Pure, apart from looking up homes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

COMMAND_KEYS = ("command", "cmd", "commandline", "script", "argv")
ARGUMENT_KEYS = ("args", "arguments", "argv")
PATH_KEYS = ("path", "filepath", "file", "filename", "uri", "url", "oldpath", "newpath", "source", "destination")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+|file:", re.IGNORECASE)
_WORD = re.compile(r"[\w./:+@~-]+")


def is_odd_path(path: str) -> bool:
    """Whether a program may take a path for another one: it may expand `~` and `$`, strip blanks, or read a URL."""
    return path.startswith("~") or "$" in path or path != path.strip() or _URL.match(path) is not None


def path_readings(path: str) -> tuple[str, ...]:
    """What else an odd path may mean: the path of a URL, a path in a home."""
    plain = path.strip()
    found = [plain, os.path.expandvars(os.path.expanduser(plain))]  # noqa: PTH111 - a Path has no unknown homes
    if url := _URL.match(plain):
        rest = unquote(plain[url.end() :])
        host, _, below = rest.partition("/")
        found += [rest, f"/{rest}", *([f"/{below}"] if host else [])]
    return tuple(dict.fromkeys(each for each in found if each != path))


def commands(given: Any) -> Iterator[str]:
    """All texts in a call that may be commands, each alone and with arguments."""
    for each in _objects(given):
        lines = {_plain_key(key): line for key, value in each.items() if (line := _line(value))}
        for key in COMMAND_KEYS:
            if key in lines:
                yield lines[key]
                yield from (f"{lines[key]} {lines[more]}" for more in ARGUMENT_KEYS if more in lines and more != key)


def paths(given: Any) -> Iterator[str]:
    """All texts in a call that may be paths, by their keys."""
    for each in _objects(given):
        for key, value in each.items():
            if _plain_key(key) in PATH_KEYS and isinstance(value, str) and value:
                yield value


def words(given: Any) -> Iterator[str]:
    """All words in the texts of a call, each once."""
    yield from dict.fromkeys(word for text in _texts(given) for word in _WORD.findall(text))


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _objects(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _plain_key(key: str) -> str:
    """`commandLine`, `command_line` and `command-line` are the same key."""
    return re.sub(r"[_-]", "", key).lower()


def _line(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return value if isinstance(value, str) else ""
