"""Moving: hand a thread to another surface, take it back at the desk, and say where the person is."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from clew.engine.places.targets import HandoffRequest
from clew.model.views import AwayView, HandoffView, ThreadView
from clew.server.dependencies import AppState, answer
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "handoffs")


@router.post("/handoffs", gives=HandoffView, status=202, summary="Hand a thread to another surface")
async def request(door: AppState, body: schemas.HandOver) -> Response:
    thread = await door.engine.find(body.thread)
    wish = HandoffRequest(thread, body.target, body.sender, say=body.say, quiet=body.quiet)
    return answer(await door.engine.handoffs.request(wish), 202)


@router.get("/handoffs", gives=list[HandoffView], summary="The newest handoffs")
async def handoffs(door: AppState, limit: Annotated[int, Meta(ge=1, le=1000)] = 50) -> Response:
    return answer(await door.engine.handoffs.all(limit))


@router.get("/handoffs/{handoff}", gives=HandoffView, summary="One handoff, after its end or after `wait` s")
async def handoff(door: AppState, handoff: str, wait: Annotated[float, Meta(ge=0, le=60)] = 0.0) -> Response:
    return answer(await door.engine.handoffs.look(handoff, wait))


@router.delete("/handoffs/{handoff}", gives=HandoffView, summary="Take a handoff back that is under way")
async def take_back(door: AppState, handoff: str) -> Response:
    return answer(await door.engine.handoffs.take_back(handoff, "you"))


@router.post("/threads/{thread}/wheel", gives=ThreadView, summary="Take a thread back to the desk")
async def take_wheel(door: AppState, thread: str) -> Response:
    return answer(await door.engine.take_wheel(await door.engine.find(thread)))


@router.get("/away", gives=AwayView, summary="Where the person is who is not at the desk")
async def away(door: AppState) -> Response:
    return answer(await door.engine.where_away())


@router.put("/away", gives=AwayView, summary="What the desk would show goes there meanwhile")
async def go_away(door: AppState, body: schemas.Away) -> Response:
    return answer(await door.engine.away(body.target))


@router.delete("/away", gives=AwayView, summary="The person is back")
async def come_back(door: AppState) -> Response:
    return answer(await door.engine.away(None))
