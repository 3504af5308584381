"""Sessions that were begun outside clew, in the program of a runtime: list them, take one over, give it back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from clew.engine.threads.adoption import Wanted
from clew.model.gates import Policy
from clew.model.views import AdoptableView, ReleasedView, ThreadView
from clew.server.dependencies import AppState, answer
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "adopt")


@router.get("/adoptable", gives=list[AdoptableView], summary="Sessions begun outside clew, newest first")
async def adoptable(
    door: AppState,
    runtime: Annotated[str, Meta(max_length=200)] | None = None,
    workspace: Annotated[str, Meta(max_length=4096)] | None = None,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Response:
    """Those in `workspace`, else in every folder."""
    return answer(await door.engine.adopting.adoptable(runtime, workspace, limit))


@router.post("/adoptions", gives=ThreadView, status=201, summary="Take a session over as a thread")
async def adopt(door: AppState, body: schemas.Adopt) -> Response:
    """With its history. Where another program has it open it is refused; with `fork` a copy is made."""
    policy = Policy(body.policy) if body.policy else None
    wanted = Wanted(body.session, body.runtime, body.fork, body.workspace, policy)
    return answer(await door.engine.thread(await door.engine.adopting.adopt(wanted)), 201)


@router.post("/threads/{thread}/release", gives=ReleasedView, summary="Give an adopted session back")
async def release(door: AppState, thread: str) -> Response:
    """Its own program can go on with it at once; `command` does."""
    return answer(await door.engine.adopting.release(await door.engine.find(thread)))
