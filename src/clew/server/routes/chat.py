"""Conversations: the fixed contract for front ends, whatever the runtime."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from clew.model.messages import Attachment, Inbound
from clew.model.views import ConversationView
from clew.server import sse
from clew.server.chat.follow import stream
from clew.server.dependencies import AppState, answer
from clew.server.files import uploads
from clew.server.routing import schemas
from clew.server.routing.functions import Header, Router

router = Router("/api/conversations", "conversations")

CHAT = "/api/conversations/chat/stream"
Key = Annotated[str | None, Header("Idempotency-Key", shown=False)]
PageId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


@router.post("/chat/stream", summary="Say something and follow it to its answer")
async def chat(door: AppState, body: schemas.Chat, idempotency_key: Key = None) -> Response:
    """Server-sent events: `metadata` first and once, then `progress` and `chunk`, exactly one of `done` and `error`
    last. The same `message_id` again joins the same turn."""
    message_id = body.message_id or _by_key(idempotency_key) or door.new_id()
    conversation_id = body.conversation_id or message_id
    inbound = Inbound(
        conversation=door.engine.conversing.place(conversation_id),
        message_id=message_id,
        sender=body.sender,
        text=body.message,
        runtime=body.runtime,
        begins=door.new_id(),
        sees=body.sees,
    )

    def files(thread: str) -> AbstractAsyncContextManager[tuple[Attachment, ...]]:
        return uploads.given(body.files, door.home.uploads, door.home.files / thread / message_id)

    frames = stream(door.engine.conversing, door.engine.live, inbound, files, lambda: door.stop_reason)
    return StreamingResponse(frames, media_type=sse.MEDIA_TYPE, headers=sse.HEADERS)


@router.get("/{conversation_id}", gives=ConversationView, summary="What was said in a conversation")
async def conversation(
    door: AppState,
    conversation_id: schemas.MessageId,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200,
    before: Annotated[PageId | None, Meta(description="`next` of the page before")] = None,
) -> Response:
    return answer(await door.engine.conversing.look(conversation_id, limit, before))


def _by_key(key: str | None) -> str | None:
    """Who sends a key and no id of its own means the same by it."""
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}" if key else None
