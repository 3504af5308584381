"""Converts a request to an agent's prompt: what it must know of the past, and people's messages."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.model.messages import Attachment, PromptMessage
from clew.runtimes.acp.problems import unreadable

NO_WIDTH = "\u200b"  # a space of no width: behind an `@` it names no file, before a `/` it is no command


def as_prompt(
    messages: Iterable[PromptMessage], past: str = "", *, images: bool, leaves_at: bool = False
) -> list[dict[str, Any]]:
    """Every agent takes text and links; `images`: it takes images too. `past` comes first, in a block of its own, which
    ends with a blank line, since some agents join blocks. `leaves_at`: the agent is known to leave an `@path` alone;
    others may read that file, wherever it is, so no text may name one. Nor may a text be a command of the agent, such
    as `/allow-all`. Raises FileUnreadable."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": _plain(past, leaves_at)}] if past else []
    for message in messages:
        if message.told:
            blocks.append({"type": "text", "text": _plain(message.told, leaves_at)})
        blocks += [_attached(each, images) for each in message.attachments]
    return blocks or [{"type": "text", "text": ""}]


def _plain(text: str, leaves_at: bool) -> str:
    told = text if leaves_at else text.replace("@", f"@{NO_WIDTH}")
    return f"{NO_WIDTH}{told}" if _begins_with_slash(told) else told


def _begins_with_slash(text: str) -> bool:
    """Whatever an agent takes off first: languages differ in what is a blank. JavaScript's has U+FEFF, for one."""
    first = next((char for char in text if unicodedata.category(char)[0] not in "ZC"), "")
    return first == "/"


def _attached(file: Attachment, images: bool) -> dict[str, Any]:
    path = Path(file.path)
    if file.is_image and images and path.is_file():
        data = base64.b64encode(_content(file)).decode()
        return {"type": "image", "mimeType": file.media_type, "data": data, "uri": path.as_uri()}
    return {"type": "resource_link", "uri": path.absolute().as_uri(), "name": file.name, "mimeType": file.media_type}


def _content(file: Attachment) -> bytes:
    try:
        return Path(file.path).read_bytes()
    except OSError as error:
        raise unreadable(file.name, error.strerror or str(error)) from error
