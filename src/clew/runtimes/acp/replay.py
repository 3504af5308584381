"""Converts people's messages to an agent's prompt, and the history for an agent that does not know the thread."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import PastMessage
from clew.runtimes.acp.problems import unreadable
from clew.runtimes.history_text import history_text


def history(past: Iterable[PastMessage]) -> list[dict[str, Any]]:
    text = history_text(past)
    return [{"type": "text", "text": text}] if text else []


def as_prompt(messages: Iterable[PromptMessage], *, images: bool) -> list[dict[str, Any]]:
    """Every agent takes text and links; `images`: it takes images too. Raises FileUnreadable."""
    blocks: list[dict[str, Any]] = []
    for message in messages:
        if message.told:
            blocks.append({"type": "text", "text": message.told})
        blocks += [_attached(each, images) for each in message.attachments]
    return blocks or [{"type": "text", "text": ""}]


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
