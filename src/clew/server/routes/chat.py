"""Conversations: the fixed contract for front ends, the same for every runtime."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from clew.model.messages import Attachment, Inbound
from clew.model.views import ConversationView
from clew.server import sse
from clew.server.dependencies import AppState, json_response
from clew.server.files import uploads
from clew.server.routing import schemas
from clew.server.routing.functions import Header, Router

router = Router("/api/conversations", "conversations")

CHAT = "/api/conversations/chat/stream"
Key = Annotated[str | None, Header("Idempotency-Key", shown=False)]
PageId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


@router.post("/chat/stream", summary="Send a message and stream its answer")
async def chat(state: AppState, body: schemas.Chat, idempotency_key: Key = None) -> Response:
    """Server-sent events: `metadata` first and once, then `progress` and `chunk`, exactly one of `done` and `error`
    last. A request with the same `message_id` joins the same turn."""
    from clew.server.chat.follow import stream  # only front ends of others need it

    message_id = body.message_id or _by_key(idempotency_key) or state.new_id()
    conversation_id = body.conversation_id or message_id
    inbound = Inbound(
        conversation=state.engine.conversations.place(conversation_id),
        message_id=message_id,
        sender=body.sender,
        text=body.message,
        runtime=body.runtime,
        workspace=body.workspace,
        begins=state.new_id(),
        sees=body.sees,
    )

    def files(thread: str) -> AbstractAsyncContextManager[tuple[Attachment, ...]]:
        return uploads.claimed(body.files, state.home.uploads, state.home.files / thread / message_id)

    frames = stream(state.engine.conversations, state.engine.live, inbound, files, lambda: state.stop_reason)
    return StreamingResponse(frames, media_type=sse.MEDIA_TYPE, headers=sse.HEADERS)


@router.get("/{conversation_id}", gives=ConversationView, summary="Read the messages of a conversation")
async def conversation(
    state: AppState,
    conversation_id: schemas.MessageId,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200,
    before: Annotated[PageId | None, Meta(description="`next` of the previous page")] = None,
) -> Response:
    return json_response(await state.engine.conversations.look(conversation_id, limit, before))


def _by_key(key: str | None) -> str | None:
    """Without a message id, the Idempotency-Key identifies the message."""
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}" if key else None
