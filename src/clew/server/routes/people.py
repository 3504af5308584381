"""Who may speak on the chat surfaces, beside those whom the config names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.model.messages import Role
from clew.model.views import AskingView, PersonView
from clew.server.dependencies import AppState, answer
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.support.errors import Refused

router = Router("/api", "people")


@router.get("/people", gives=list[PersonView], summary="Who may speak on chat surfaces")
async def people(door: AppState) -> Response:
    return answer(await door.engine.people.all())


@router.get("/people/asking", gives=list[AskingView], summary="Who has written and is not let in yet")
async def asking(door: AppState) -> Response:
    return answer(await door.engine.people.asking())


@router.post("/people", gives=PersonView, status=201, summary="Confirm the code of somebody new")
async def pair(door: AppState, request: Request, body: schemas.Pair) -> Response:
    if body.force and not request.app.state.is_at_the_machine:
        raise Refused("Only somebody at the machine that clew runs on may force this: `clew pair CODE --force` there.")
    person = await door.engine.people.pair(body.code, Role(body.role), body.sender, force=body.force)
    return answer(person, 201)


@router.delete("/people/{person}", gives=PersonView, summary="They may not speak any more")
async def remove(door: AppState, person: str) -> Response:
    return answer(await door.engine.people.remove(person))
