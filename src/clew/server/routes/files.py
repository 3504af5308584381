"""Files that clients send, and then name in a message."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from clew.model.views import UploadView
from clew.server.dependencies import AppState, answer
from clew.server.files import uploads
from clew.server.routing.functions import Header, Router

PATH = "/api/files"
router = Router(tag="files")

_BODY = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}}}}


@router.post(PATH, gives=UploadView, status=201, summary="Send a file", extra=_BODY)
async def upload(
    door: AppState,
    request: Request,
    name: Annotated[str, Meta(min_length=1, max_length=200)],
    content_type: Annotated[str, Header("Content-Type", shown=False)] = "",
) -> Response:
    """The body is the file, its type is `Content-Type`. Name its id in `files` of a message within a day."""
    kind = uploads.checked_type(content_type)
    kept = await uploads.keep(door.home.uploads, door.new_id(), name, kind, request.stream(), time.time())
    return answer(kept, 201)
