"""Parses a line: a message for the agent, a command for clew, or files dropped on the terminal. Pure.

An unknown word with a slash is an error; it never reaches the agent.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlparse

from msgspec import Struct

# Each command: its argument and its help line.
COMMANDS = {
    "help": ("", "show this help"),
    "new": ("", "start a new thread with your next message"),
    "threads": ("", "list threads"),
    "resume": ("[N|ID]", "open a thread by its number in /threads or its id; default: the newest other one"),
    "fork": ("", "fork this thread, and open the fork"),
    "stop": ("", "stop the running turn"),
    "queue": ("TEXT", "send it after the running turn, not into it"),
    "handoff": ("SURFACE", "continue on another surface, such as telegram, and leave"),
    "away": ("SURFACE", "also send what this terminal would show to a chat"),
    "back": ("", "end away mode"),
    "file": ("PATH", "attach a file or an image to your next message"),
    "status": ("", "show the state of this thread"),
    "where": ("", "show where its answers were delivered"),
    "done": ("", "mark this thread as completed; your next message reopens it"),
    "quit": ("", "leave; a running turn continues"),
}

IMAGE = "data:image/"
SUFFIXES = {"png": ".png", "jpeg": ".jpg", "gif": ".gif", "webp": ".webp"}
MAX_IMAGE = 20 << 20  # bytes; the same limit as for files

_NOTES = """\
Enter sends. Alt-Enter starts a new line, and so does a \\ at the end of one.
While a turn runs, your messages go into it. Ctrl-C stops the turn; Ctrl-D leaves it running.
A file dropped here, or an image pasted as data:image/…, is sent with your next message.
To send a message that begins with a slash, type two."""


class Message(Struct, frozen=True):
    text: str


class Command(Struct, frozen=True):
    name: str
    argument: str = ""


class Files(Struct, frozen=True):
    paths: tuple[Path, ...]


class Image(Struct, frozen=True):
    """An image pasted as data."""

    suffix: str
    data: bytes


class Invalid(Struct, frozen=True):
    """A line that cannot be parsed, with a message for the person."""

    words: str


Parsed = Message | Command | Files | Image | Invalid


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 (unlike Path.is_file it accepts text of any length)


def parse_line(line: str, is_file: Callable[[Path], bool] = is_file) -> Parsed | None:
    """Parse a line; None if it is empty."""
    text = line.strip()
    if not text:
        return None
    if is_image(text):
        return _image(text)
    if text.startswith("//"):
        return Message(text[1:])
    if word := re.match(r"/([A-Za-z-]+)(?:\s+|$)", text):
        return _command(word[1].lower(), text[word.end() :].strip())
    path = _path(text)
    for paths in ((path,) if path else (), dropped_paths(text)):
        if paths and all(map(is_file, paths)):
            return Files(paths)
    return Message(text)


def is_image(text: str) -> bool:
    return text.lstrip().startswith(IMAGE)


def _image(text: str) -> Parsed:
    head, _, body = text.partition(",")
    kind, _, coding = head[len(IMAGE) :].partition(";")
    if kind not in SUFFIXES or coding != "base64":
        kinds = ", ".join(SUFFIXES)
        return Invalid(f"only {kinds} in base64 can be pasted; save the image as a file and attach it with /file")
    if len(body) * 3 // 4 > MAX_IMAGE + 2:
        return Invalid(f"the pasted image is larger than {MAX_IMAGE >> 20} MiB")
    try:
        return Image(SUFFIXES[kind], base64.b64decode("".join(body.split()), validate=True))
    except ValueError:
        return Invalid("the pasted image is incomplete; save it as a file and attach it with /file")


def _command(name: str, argument: str) -> Parsed:
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=3, cutoff=0.5) or [each for each in COMMANDS if each[0] == name[0]]
        listed = ", ".join(f"/{each}" for each in near) or "/help"
        return Invalid(
            f"there is no /{name}; did you mean {listed}? To send a message that begins with a slash, type two"
        )
    takes = COMMANDS[name][0]
    if argument and not takes:
        return Invalid(f"/{name} takes no argument")
    if takes and not argument and not takes.startswith("["):
        return Invalid(f"/{name} needs an argument: {takes}")
    return Command(name, argument)


def dropped_paths(text: str) -> tuple[Path, ...]:
    """Parse files dropped on a terminal: absolute paths, quoted, escaped, or as file URLs."""
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote
        return ()
    paths = tuple(path for word in words if (path := _path(word)) is not None)
    return paths if len(paths) == len(words) else ()


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        return Path(unquote(urlparse(word).path))
    return to_path(word) if word.startswith(("/", "~/", "./", "../")) else None


def to_path(word: str) -> Path:
    """An absolute path from a typed one, relative to the current folder."""
    home = word == "~" or word.startswith("~/")
    return Path.home() / word[2:] if home else Path(word).absolute()


def parse_file_argument(argument: str) -> Path:
    """The path of `/file`: quoted, escaped, or with unquoted spaces."""
    paths = dropped_paths(argument)
    return paths[0] if len(paths) == 1 else to_path(argument.strip("'\""))


def join_continued(lines: Iterable[str]) -> Iterator[str]:
    """Join lines: one that ends with a backslash continues in the next."""
    begun = ""
    for line in lines:
        text = begun + line.rstrip("\r\n")
        begun = f"{text[:-1]}\n" if is_continued(text) else ""
        if not begun:
            yield text
    if begun:
        yield begun.rstrip("\n")


def is_continued(text: str) -> bool:
    return text.endswith("\\") and not text.endswith("\\\\")


def suggestions(text: str, threads: Callable[[], Iterable[tuple[str, str]]]) -> Iterator[tuple[str, int, str]]:
    """Completions for this text: each with its text, its start position (negative), and its help."""
    word = re.fullmatch(r"/([a-z]*)", text)
    if word:
        for name, (takes, line) in COMMANDS.items():
            if name.startswith(word[1]):
                yield f"/{name}{' ' if takes else ''}", -len(text), line
    elif begun := re.fullmatch(r"/resume\s+(\w*)", text):
        for name, title in threads():
            if name.startswith(begun[1].upper()):
                yield name, -len(begun[1]), title


def help_lines() -> list[str]:
    from clew.cli.view.columns import table

    rows = [(f"  /{name} {takes}".rstrip(), line) for name, (takes, line) in COMMANDS.items()]
    return [*table(rows), *_NOTES.splitlines()]
