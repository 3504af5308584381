"""Sessions that were started outside clew, in the program of a runtime: list, adopt and release them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from clew.engine.threads.adoption import Wanted
from clew.model.gates import Policy
from clew.model.views import AdoptableView, ReleasedView, ThreadView
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "adopt")


@router.get("/adoptable", gives=list[AdoptableView], summary="List sessions started outside clew, newest first")
async def adoptable(
    state: AppState,
    runtime: Annotated[str, Meta(max_length=200)] | None = None,
    workspace: Annotated[str, Meta(max_length=4096)] | None = None,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Response:
    """Only sessions in `workspace`; default: in every folder."""
    return json_response(await state.engine.adoption.adoptable(runtime, workspace, limit))


@router.post("/adoptions", gives=ThreadView, status=201, summary="Adopt a session as a thread")
async def adopt(state: AppState, body: schemas.Adopt) -> Response:
    """The thread gets its history. If another program has the session open, it is refused; `fork` adopts a copy."""
    policy = Policy(body.policy) if body.policy else None
    wanted = Wanted(body.session, body.runtime, body.fork, body.workspace, policy)
    return json_response(await state.engine.threads.get(await state.engine.adoption.adopt(wanted)), 201)


@router.post("/threads/{thread}/release", gives=ReleasedView, summary="Release an adopted session")
async def release(state: AppState, thread: str) -> Response:
    """Its own program can continue it at once, with `command`."""
    return json_response(await state.engine.adoption.release(await state.engine.threads.find(thread, exact=True)))
