"""What a line means: a message for the agent, a command for clew, or files that were dropped on the terminal. Pure.

A word with a slash that is no command is an error; it never reaches the agent.
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

# Each command: what it takes, and its line of help.
COMMANDS = {
    "help": ("", "this"),
    "new": ("", "begin a new thread with your next message"),
    "threads": ("", "list threads"),
    "resume": ("[N|ID]", "go to a thread: its number in /threads, its id; alone: the newest other one"),
    "fork": ("", "begin a new thread from this one, and go there"),
    "stop": ("", "stop the running turn"),
    "queue": ("TEXT", "say it after the running turn, not into it"),
    "handoff": ("SURFACE", "go on with it elsewhere, such as telegram, and leave here"),
    "away": ("SURFACE", "send what this terminal would show there too"),
    "back": ("", "you are back at the desk"),
    "file": ("PATH", "attach a file or an image to your next message"),
    "status": ("", "how this thread stands"),
    "where": ("", "where its answers went"),
    "done": ("", "mark this thread as completed; your next message picks it up again"),
    "quit": ("", "leave; what runs goes on"),
}

IMAGE = "data:image/"
SUFFIXES = {"png": ".png", "jpeg": ".jpg", "gif": ".gif", "webp": ".webp"}
LARGEST = 20 << 20  # bytes; as of any file

_NOTES = """\
Enter sends. Alt-Enter begins a new line, and so does a \\ at the end of one.
While a turn runs, what you say goes into it. Ctrl-C stops the turn; Ctrl-D leaves it running.
A file dropped here, or an image pasted as data:image/…, goes with your next message.
For a message that begins with a slash, write two."""


class Message(Struct, frozen=True):
    text: str


class Command(Struct, frozen=True):
    name: str
    argument: str = ""


class Files(Struct, frozen=True):
    paths: tuple[Path, ...]


class Image(Struct, frozen=True):
    """One that was pasted as data."""

    suffix: str
    data: bytes


class Wrong(Struct, frozen=True):
    """What cannot be meant, in words for the person."""

    words: str


Meaning = Message | Command | Files | Image | Wrong


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 (unlike Path.is_file it takes any text, however long)


def meaning(line: str, is_file: Callable[[Path], bool] = is_file) -> Meaning | None:
    """None for an empty line."""
    text = line.strip()
    if not text:
        return None
    if is_image(text):
        return _image(text)
    if text.startswith("//"):
        return Message(text[1:])
    if word := re.match(r"/([A-Za-z-]+)(?:\s+|$)", text):
        return _command(word[1].lower(), text[word.end() :].strip())
    whole = _path(text)
    for paths in ((whole,) if whole else (), dropped(text)):
        if paths and all(map(is_file, paths)):
            return Files(paths)
    return Message(text)


def is_image(text: str) -> bool:
    return text.lstrip().startswith(IMAGE)


def _image(text: str) -> Meaning:
    head, _, body = text.partition(",")
    kind, _, coding = head[len(IMAGE) :].partition(";")
    if kind not in SUFFIXES or coding != "base64":
        return Wrong(f"an image can be pasted as {', '.join(SUFFIXES)} in base64; save it, and give it with /file")
    if len(body) * 3 // 4 > LARGEST + 2:
        return Wrong(f"the pasted image is larger than {LARGEST >> 20} MiB")
    try:
        return Image(SUFFIXES[kind], base64.b64decode("".join(body.split()), validate=True))
    except ValueError:
        return Wrong("the pasted image is not whole; save it as a file, and give that with /file")


def _command(name: str, argument: str) -> Meaning:
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=3, cutoff=0.5) or [each for each in COMMANDS if each[0] == name[0]]
        listed = ", ".join(f"/{each}" for each in near) or "/help"
        return Wrong(f"there is no /{name}; perhaps {listed}? A message that begins with a slash is written with two")
    takes = COMMANDS[name][0]
    if argument and not takes:
        return Wrong(f"/{name} takes nothing after it")
    if takes and not argument and not takes.startswith("["):
        return Wrong(f"/{name} needs {takes} after it")
    return Command(name, argument)


def dropped(text: str) -> tuple[Path, ...]:
    """What terminals make of files that are dropped on them: full paths, quoted, escaped, or as addresses."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote without its end: no path
        return ()
    paths = tuple(path for word in words if (path := _path(word)) is not None)
    return paths if len(paths) == len(words) else ()


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        return Path(unquote(urlparse(word).path))
    return path_of(word) if word.startswith(("/", "~/", "./", "../")) else None


def path_of(word: str) -> Path:
    """As somebody types it, from the current folder on."""
    home = word == "~" or word.startswith("~/")
    return Path.home() / word[2:] if home else Path(word).absolute()


def only_path(argument: str) -> Path:
    """The path of `/file`: quoted, escaped, or with bare spaces."""
    paths = dropped(argument)
    return paths[0] if len(paths) == 1 else path_of(argument.strip("'\""))


def joined(lines: Iterable[str]) -> Iterator[str]:
    """Lines as they are meant: one that ends with a backslash goes on in the next."""
    begun = ""
    for line in lines:
        text = begun + line.rstrip("\r\n")
        begun = f"{text[:-1]}\n" if goes_on(text) else ""
        if not begun:
            yield text
    if begun:
        yield begun.rstrip("\n")


def goes_on(text: str) -> bool:
    return text.endswith("\\") and not text.endswith("\\\\")


def suggestions(text: str, threads: Callable[[], Iterable[tuple[str, str]]]) -> Iterator[tuple[str, int, str]]:
    """What could stand at the end of this text: the words, where they begin (backwards), and what they mean."""
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
