"""Converts a request to an agent's prompt: what it must know of the past, and people's messages."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.model.messages import Attachment, PromptMessage
from clew.runtimes.acp.problems import unreadable

NO_WIDTH = "\u200b"  # a space of no width: behind an `@` it names no file, before a `/` it is no command


def as_prompt(
    messages: Iterable[PromptMessage], past: str = "", *, images: bool, expands_at: bool = False
) -> list[dict[str, Any]]:
    """Every agent takes text and links; `images`: it takes images too. `past` comes first, in a block of its own, which
    ends with a blank line, since some agents join blocks. `expands_at`: the agent reads the file of an `@path`,
    wherever that is, so no text may have one. Nor may a text be a command of the agent, such as `/allow-all`. Raises
    FileUnreadable."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": _plain(past, expands_at)}] if past else []
    for message in messages:
        if message.told:
            blocks.append({"type": "text", "text": _plain(message.told, expands_at)})
        blocks += [_attached(each, images) for each in message.attachments]
    return blocks or [{"type": "text", "text": ""}]


def _plain(text: str, expands_at: bool) -> str:
    told = text.replace("@", f"@{NO_WIDTH}") if expands_at else text
    return f"{NO_WIDTH}{told}" if told.lstrip().startswith("/") else told


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
