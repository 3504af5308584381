"""Sessions that were begun outside clew, in the program of a runtime: list them, take one over, give it back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from clew.asking import Policy
from clew.engine.adopting import Wanted
from clew.http import shapes
from clew.http.door import Through, answer
from clew.views import AdoptableView, ReleasedView, ThreadView

router = APIRouter(prefix="/api", tags=["adopt"])


@router.get("/adoptable", response_model=list[AdoptableView], summary="Sessions begun outside clew, newest first")
async def adoptable(
    door: Through,
    runtime: Annotated[str | None, Query(max_length=200)] = None,
    workspace: Annotated[str | None, Query(max_length=4096)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """Those in `workspace`, else in every folder."""
    return answer(await door.engine.adopting.adoptable(runtime, workspace, limit))


@router.post("/adoptions", response_model=ThreadView, status_code=201, summary="Take a session over as a thread")
async def adopt(door: Through, body: shapes.Adopt) -> Response:
    """With its history. Where another program has it open it is refused; with `fork` a copy is made."""
    policy = Policy(body.policy) if body.policy else None
    wanted = Wanted(body.session, body.runtime, body.fork, body.workspace, policy)
    return answer(await door.engine.thread(await door.engine.adopting.adopt(wanted)), 201)


@router.post("/threads/{thread}/release", response_model=ReleasedView, summary="Give an adopted session back")
async def release(door: Through, thread: str) -> Response:
    """Its own program can go on with it at once; `command` does."""
    return answer(await door.engine.adopting.release(await door.engine.find(thread)))
