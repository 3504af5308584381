"""People who may use clew on chat surfaces, besides those in the config."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.model.messages import Role
from clew.model.views import AskingView, PersonView
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.support.errors import Refused
from clew.texts.catalogue import say

router = Router("/api", "people")


@router.get("/people", gives=list[PersonView], summary="List people who may use chat surfaces")
async def people(state: AppState) -> Response:
    return json_response(await state.engine.access.all())


@router.get("/people/asking", gives=list[AskingView], summary="List people who have asked to be let in")
async def asking(state: AppState) -> Response:
    return json_response(await state.engine.access.asking())


@router.post("/people", gives=PersonView, status=201, summary="Let somebody in by their code")
async def pair(state: AppState, request: Request, body: schemas.Pair) -> Response:
    if body.force and not request.app.state.is_local:
        raise Refused(say("daemon.force_locally"))
    person = await state.engine.access.pair(body.code, Role(body.role), body.sender, force=body.force)
    return json_response(person, 201)


@router.delete("/people/{person}", gives=PersonView, summary="Remove a person")
async def remove(state: AppState, person: str) -> Response:
    return json_response(await state.engine.access.remove(person))
