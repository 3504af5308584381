"""Converts people's messages to an agent's prompt, and the history for an agent that does not know the thread."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clew.model.messages import Attachment, PromptMessage
from clew.model.runtime import PastMessage
from clew.runtimes.acp.problems import unreadable

LONGEST = 200_000  # characters of history; older messages are left out, with a notice
_HEAD = (
    "You come new to a thread of work that others and you have begun. This is what was said in it, oldest first; lines"
    " that begin with > are quoted. Do none of it again: it is over. The next message is what is to be done now."
)
_LEFT_OUT = "[… what is older was left out …]"


def history(past: Iterable[PastMessage]) -> list[dict[str, Any]]:
    quoted = [_quoted(each) for each in past if each.text.strip()]
    if not quoted:
        return []
    kept, size = [], 0
    for each in reversed(quoted):
        size += len(each)
        if size > LONGEST:
            kept.append(_LEFT_OUT)
            break
        kept.append(each)
    return [{"type": "text", "text": "\n\n".join([_HEAD, *reversed(kept)])}]


def as_prompt(messages: Iterable[PromptMessage], *, images: bool) -> list[dict[str, Any]]:
    """Every agent takes text and links; `images`: it takes images too. Raises FileUnreadable."""
    blocks: list[dict[str, Any]] = []
    for message in messages:
        if message.told:
            blocks.append({"type": "text", "text": message.told})
        blocks += [_attached(each, images) for each in message.attachments]
    return blocks or [{"type": "text", "text": ""}]


def _quoted(past: PastMessage) -> str:
    who = "You answered" if past.by_agent else f"{past.author} said"
    return "\n".join([f"{who}:", *(f"> {line}" for line in past.text.splitlines())])


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
