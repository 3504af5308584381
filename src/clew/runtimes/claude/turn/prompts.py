"""Converts people's messages to Claude's. What people say is never expanded: without `client_composed`, Claude would
read the file of an `@path`, wherever it is, and take a `/word` at the beginning as a command."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.model.messages import Attachment, PromptMessage
from clew.runtimes.claude import problems


def as_message(id: str, messages: Iterable[PromptMessage], prelude: str = "") -> dict[str, Any]:
    """`id`: Claude runs a message with the same id once. `prelude`: what happened before that the session does not
    know. Raises RuntimeTrouble if an image cannot be read."""
    said = list(messages)
    text = "\n".join(filter(None, map(_text, said)))
    images = [_image(file) for message in said for file in message.attachments if file.is_image]
    content = [{"type": "text", "text": each} for each in (prelude, text) if each] + images
    return {
        "type": "user",
        "uuid": id,
        "session_id": "",
        "parent_tool_use_id": None,
        "client_composed": True,
        "message": {"role": "user", "content": content or [{"type": "text", "text": "(empty)"}]},
    }


def _text(message: PromptMessage) -> str:
    files = [f"[attached file: {file.path}]" for file in message.attachments if not file.is_image]
    return "\n".join(line for line in (message.told, *files) if line)


def _image(file: Attachment) -> dict[str, Any]:
    try:
        data = base64.b64encode(Path(file.path).read_bytes()).decode()
    except OSError as error:
        raise problems.file_unreadable(file.name, error.strerror or str(error)) from error
    return {"type": "image", "source": {"type": "base64", "media_type": file.media_type, "data": data}}
