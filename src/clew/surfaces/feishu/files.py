"""Uploads files to Feishu, and builds the message that refers to them by key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from clew.model.messages import Attachment
from clew.model.surface import InDoubt, Never, TryAgain
from clew.support.files import read
from clew.surfaces.feishu.api import NOT_ALLOWED, STALE, OpenApi, Refusal
from clew.surfaces.http_calls import BUSY, Unread
from clew.texts.catalogue import say

LARGEST_IMAGE = 10 << 20  # bytes; a larger picture is sent as a file


async def upload_file(api: OpenApi, file: Attachment) -> dict[str, str]:
    """Upload a file and return its message: a picture as an image; if Feishu refuses it, as a file."""
    data = await asyncio.to_thread(read, Path(file.path))
    try:
        if file.is_image and len(data) <= LARGEST_IMAGE:
            try:
                return await _image(api, file.name, data)
            except Refusal as refusal:
                if refusal.code in NOT_ALLOWED | STALE | {BUSY}:
                    raise
        return await _file(api, file.name, data)
    except Unread as away:  # a proxy blocked the file; text may still pass
        raise Never(away.reason) from away
    except InDoubt as lost:  # nobody has seen it yet, so uploading again is harmless
        raise TryAgain(lost.reason, lost.retry_after) from lost
    except Refusal as refusal:
        if refusal.code in STALE | {BUSY}:
            raise
        code = "surfaces.feishu_no_resource" if refusal.code in NOT_ALLOWED else "surfaces.feishu_not_taken"
        raise Never(say(code, reply=refusal.words)) from refusal


async def _image(api: OpenApi, name: str, data: bytes) -> dict[str, str]:
    got = await api.upload("/open-apis/im/v1/images", {"image_type": "message"}, "image", (name, data))
    return _message("image", "image_key", got)


async def _file(api: OpenApi, name: str, data: bytes) -> dict[str, str]:
    fields = {"file_type": "stream", "file_name": name}
    return _message("file", "file_key", await api.upload("/open-apis/im/v1/files", fields, "file", (name, data)))


def _message(kind: str, key: str, got: dict[str, object]) -> dict[str, str]:
    if not isinstance(got.get(key), str):
        raise InDoubt(say("surfaces.feishu_no_key"))
    return {"msg_type": kind, "content": msgspec.json.encode({key: got[key]}).decode()}
