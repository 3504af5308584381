"""Handoffs: move a thread to another surface, take it back to the local client, and set where the person is."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from clew.engine.places.targets import HandoffRequest
from clew.model.handoff import HandoffView
from clew.model.views import AwayView, ThreadView
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "handoffs")


@router.post("/handoffs", gives=HandoffView, status=202, summary="Hand a thread to another surface")
async def request(state: AppState, body: schemas.HandOver) -> Response:
    thread = await state.engine.threads.find(body.thread)
    wish = HandoffRequest(thread, body.target, body.sender, say=body.say, quiet=body.quiet, message_id=body.message_id)
    return json_response(await state.engine.handoffs.request(wish), 202)


@router.get("/handoffs", gives=list[HandoffView], summary="List handoffs, newest first")
async def handoffs(state: AppState, limit: Annotated[int, Meta(ge=1, le=1000)] = 50) -> Response:
    return json_response(await state.engine.handoffs.all(limit))


@router.get("/handoffs/{handoff}", gives=HandoffView, summary="Show a handoff; waits up to `wait` seconds for its end")
async def handoff(state: AppState, handoff: str, wait: Annotated[float, Meta(ge=0, le=60)] = 0.0) -> Response:
    return json_response(await state.engine.handoffs.look(handoff, wait))


@router.delete("/handoffs/{handoff}", gives=HandoffView, summary="Cancel a running handoff")
async def take_back(state: AppState, handoff: str) -> Response:
    return json_response(await state.engine.handoffs.take_back(handoff, "you"))


@router.post("/threads/{thread}/wheel", gives=ThreadView, summary="Take a thread back to the local client")
async def take_wheel(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.drive_locally(await state.engine.threads.find(thread)))


@router.get("/away", gives=AwayView, summary="Show whether the person is away, and where")
async def away(state: AppState) -> Response:
    return json_response(await state.engine.away.target())


@router.put("/away", gives=AwayView, summary="Go away: send what the local client would show to a chat")
async def go_away(state: AppState, body: schemas.Away) -> Response:
    return json_response(await state.engine.away.set(body.target))


@router.delete("/away", gives=AwayView, summary="Come back: end away mode")
async def come_back(state: AppState) -> Response:
    return json_response(await state.engine.away.set(None))
