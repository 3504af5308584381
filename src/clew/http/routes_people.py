"""Who may speak on the chat surfaces, beside those whom the config names."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from clew.http import shapes
from clew.http.door import Through, answer
from clew.model import Role
from clew.views import AskingView, PersonView

router = APIRouter(prefix="/api", tags=["people"])


@router.get("/people", response_model=list[PersonView], summary="Who may speak on chat surfaces")
async def people(door: Through) -> Response:
    return answer(await door.engine.people.all())


@router.get("/people/asking", response_model=list[AskingView], summary="Who has written and is not let in yet")
async def asking(door: Through) -> Response:
    return answer(await door.engine.people.asking())


@router.post("/people", response_model=PersonView, status_code=201, summary="Confirm the code of somebody new")
async def pair(door: Through, body: shapes.Pair) -> Response:
    return answer(await door.engine.people.pair(body.code, Role(body.role), body.sender), 201)


@router.delete("/people/{person}", response_model=PersonView, summary="They may not speak any more")
async def remove(door: Through, person: str) -> Response:
    return answer(await door.engine.people.remove(person))
