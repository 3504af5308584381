"""Event streams: of one thread, or of all."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from clew.server import sse
from clew.server.dependencies import AppState
from clew.server.routing.functions import Header, Router

router = Router("/api", "events")

Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
After = Annotated[Number | None, Meta(description="the last sequence number that was seen; 0: from the beginning")]
LastEventId = Annotated[
    Number | None, Header("Last-Event-ID"), Meta(description="the same, as browsers send it when they reconnect")
]


@router.get("/events", summary="Stream events of all threads", streams=True)
async def everything(state: AppState, after: After = None, last_event_id: LastEventId = None) -> Response:
    return _stream(state, None, after, last_event_id)


@router.get("/threads/{thread}/events", summary="Stream events of a thread", streams=True)
async def of_thread(state: AppState, thread: str, after: After = None, last_event_id: LastEventId = None) -> Response:
    return _stream(state, await state.engine.threads.find(thread), after, last_event_id)


def _stream(state: AppState, thread: str | None, after: int | None, last_event_id: int | None) -> Response:
    # A browser that reconnects repeats its first URL, so the header is newer than `after`.
    start = last_event_id if last_event_id is not None else after
    stop_reason, snapshot = (lambda: state.stop_reason), state.engine.threads.snapshot
    frames = sse.stream(state.engine.live, state.engine.events, thread, start, stop_reason, snapshot)
    return StreamingResponse(frames, media_type=sse.MEDIA_TYPE, headers=sse.HEADERS)
