"""Shows a file of a thread's folder: what `/file PATH` sends in a chat."""

from __future__ import annotations

import os
from pathlib import Path

from clew.cli.language import in_locale, phrase
from clew.support.errors import Refused
from clew.support.text import visible
from clew.texts import chat_messages

MAX_LINES = 200
MAX_BYTES = 1 << 20


def file_lines(workspace: str, typed: str) -> tuple[str, ...]:
    """The lines of a text; of any other file where it is. Raises Refused if it is not in the folder."""
    root = Path(os.path.realpath(workspace))
    path = Path(os.path.realpath(root / typed))
    if not path.is_relative_to(root):
        raise Refused(chat_messages.file_stays(typed, chat_messages.FILE_OUTSIDE))
    text = _text(path, typed)
    if text is None:
        return (phrase("cli_chat.not_a_text", path=path, again=path),)
    lines = [visible(line) for line in text.splitlines()]
    left = len(lines) - MAX_LINES
    more = (phrase("cli_threads.more_lines", left=left), f"· {path}") if left > 0 else ()
    return (*lines[:MAX_LINES], *more) or (in_locale(chat_messages.FILE_EMPTY),)


def _text(path: Path, typed: str) -> str | None:
    """None: it is no text, or too long."""
    try:
        if not path.is_file():
            raise Refused(chat_messages.file_stays(typed, chat_messages.FILE_GONE))
        if path.stat().st_size > MAX_BYTES:
            return None
        data = path.read_bytes()
    except OSError as error:
        raise Refused(chat_messages.file_stays(typed, error.strerror or "")) from error
    except ValueError:  # a NUL in the path
        raise Refused(chat_messages.file_stays(typed, chat_messages.FILE_GONE)) from None
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
