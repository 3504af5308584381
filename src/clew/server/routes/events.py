"""The event streams: of one thread, and of all."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from clew.server import sse
from clew.server.dependencies import AppState
from clew.server.routing.functions import Header, Router

router = Router("/api", "events")

Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
After = Annotated[Number | None, Meta(description="the last number that was seen; 0: from the beginning")]
LastEventId = Annotated[
    Number | None, Header("Last-Event-ID"), Meta(description="the same, as browsers say it when they come back")
]


@router.get("/events", summary="What happens, in all threads")
async def everything(door: AppState, after: After = None, last_event_id: LastEventId = None) -> Response:
    return _stream(door, None, after, last_event_id)


@router.get("/threads/{thread}/events", summary="What happens in a thread")
async def of_thread(door: AppState, thread: str, after: After = None, last_event_id: LastEventId = None) -> Response:
    return _stream(door, await door.engine.find(thread), after, last_event_id)


def _stream(door: AppState, thread: str | None, after: int | None, last_event_id: int | None) -> Response:
    # A browser that comes back repeats its first address, so the header is the newer one of the two.
    start = last_event_id if last_event_id is not None else after
    why_over, snapshot = (lambda: door.stop_reason), door.engine.snapshot
    frames = sse.stream(door.engine.live, door.store, thread, start, why_over, snapshot)
    return StreamingResponse(frames, media_type=sse.MEDIA_TYPE, headers=sse.HEADERS)
