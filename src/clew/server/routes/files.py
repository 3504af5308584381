"""Uploads: files that a client sends first, and then names in a message."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from clew.model.views import UploadView
from clew.server.dependencies import AppState, json_response
from clew.server.files import uploads
from clew.server.routing.functions import Header, Router

PATH = "/api/files"
router = Router(tag="files")

_BODY = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}}}}


@router.post(PATH, gives=UploadView, status=201, summary="Upload a file", extra=_BODY)
async def upload(
    state: AppState,
    request: Request,
    name: Annotated[str, Meta(min_length=1, max_length=200)],
    content_type: Annotated[str, Header("Content-Type", shown=False)] = "",
) -> Response:
    """The body is the file, `Content-Type` its type. Put its id into `files` of a message within a day."""
    kind = uploads.checked_type(content_type)
    stored = await uploads.store(state.home.uploads, state.new_id(), name, kind, request.stream(), time.time())
    return json_response(stored, 201)
