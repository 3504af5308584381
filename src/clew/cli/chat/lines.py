"""Parses a line: a message for the agent, a command of `texts/slash_commands.py`, or files dropped on the terminal."""

from __future__ import annotations

import base64
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from msgspec import Struct

from clew.cli.language import phrase
from clew.model.messages import Role
from clew.texts import slash_commands
from clew.texts.bilingual import Bilingual, zh
from clew.texts.slash_commands import Mistake, Place, Typed

_RESUME = slash_commands.find("resume")
_BARE = {  # alone in a line, as in other programs
    **dict.fromkeys(("exit", "quit", ":q", "退出"), "quit"),
    **dict.fromkeys(("help", "帮助"), "help"),
}

IMAGE = "data:image/"
SUFFIXES = {"png": ".png", "jpeg": ".jpg", "gif": ".gif", "webp": ".webp"}
MAX_IMAGE = 20 << 20  # bytes; the same limit as for files

_NOTES = Bilingual(
    """\
Enter sends. Alt-Enter starts a new line, and so does a \\ at the end of one.
While a turn runs, your messages go into it. Ctrl-C stops the turn; Ctrl-D leaves it running.
A file dropped here, or an image pasted as data:image/…, is sent with your next message.
Everything else is for the agent; two slashes begin a message with a slash.""",
    """\
Enter 发送。Alt-Enter 换行，行末的 \\ 也换行。
任务运行时，你的消息会插入其中。Ctrl-C 停止任务；Ctrl-D 离开，任务继续运行。
拖到这里的文件，或以 data:image/… 粘贴的图片，会随下一条消息发送。
其余内容都会交给智能体；要发送以斜杠开头的消息，请写两个斜杠。""",
)


class Message(Struct, frozen=True):
    text: str


class Command(Struct, frozen=True):
    name: str
    argument: str = ""
    in_chinese: bool = False  # typed by its Chinese name


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
    if text in _BARE:
        return Command(_BARE[text], in_chinese=not text.isascii())
    match slash_commands.parse(text, Place.TERMINAL):
        case Typed(spec, argument, in_chinese):
            return Command(spec.name, argument, in_chinese)
        case Mistake(words):
            return Invalid(words)
    if (message := slash_commands.unescape(text)) != text:
        return Message(message)
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
        return Invalid(phrase("cli_chat.image_kinds", kinds=kinds))
    if len(body) * 3 // 4 > MAX_IMAGE + 2:
        return Invalid(phrase("cli_chat.image_too_large", most=MAX_IMAGE >> 20))
    try:
        return Image(SUFFIXES[kind], base64.b64decode("".join(body.split()), validate=True))
    except ValueError:
        return Invalid(phrase("cli_chat.image_incomplete"))


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
    """The path of `/attach`: quoted, escaped, or with unquoted spaces."""
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


def suggestions(
    text: str, threads: Callable[[str], Iterable[tuple[str, str]]], *, chinese: bool = False
) -> Iterator[tuple[str, int, str]]:
    """Completions for this text: each with its text, its start position (negative), and its help. `threads` gives the
    names of threads that begin with a text, each with a title."""
    if word := re.fullmatch(r"[/／](\w*)", text):
        for spec in slash_commands.available(Place.TERMINAL):
            names = (spec.chinese, spec.name) if chinese else (spec.name, spec.chinese)
            name = next((each for each in names if each.startswith(word[1])), None)
            if name is not None:
                about = spec.help_in(chinese=chinese)
                yield f"/{name}{' ' if spec.arguments else ''}", -len(text), about
    elif (begun := re.fullmatch(r"[/／](\w+)\s+([\w-]*)", text)) and slash_commands.find(begun[1]) == _RESUME:
        for name, title in threads(begun[2]):
            yield name, -len(begun[2]), title


def path_argument(text: str) -> str | None:
    """The path that is being typed after `/attach`; None if this is something else."""
    begun = re.fullmatch(r"[/／](\w+)\s+(.*)", text, re.DOTALL)
    return begun[2] if begun and slash_commands.find(begun[1]) is slash_commands.find("attach") else None


def help_lines(about: str = "", *, chinese: bool = False) -> list[str]:
    from clew.cli.view.text_width import table

    rows = slash_commands.help_lines(Place.TERMINAL, Role.OWNER, about, chinese=chinese)
    notes = (zh(_NOTES) if chinese else str(_NOTES)).splitlines() if len(rows) > 1 else []
    return [*table([(f"  {usage}", line) for usage, line in rows]), *notes]
