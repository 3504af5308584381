"""What the page needs besides threads: login links, Markdown as HTML, choices for new threads, and statistics."""

from __future__ import annotations

import asyncio

from msgspec.structs import asdict
from starlette.responses import Response

from clew.config import settings as config_settings
from clew.model.threads import ThreadFilter
from clew.model.views import ChoicesView, FiguresView, LoginView, OwedView
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.support.errors import BadInput, Refused
from clew.texts.catalogue import say

router = Router("/api", "page")

MAX_TEXTS = 200_000  # characters per request
MAX_ROWS = 100
_one_at_a_time = asyncio.Lock()


@router.post("/logins", gives=LoginView, status=201, summary="Create a link that opens the page once")
async def login(state: AppState) -> Response:
    """If clew does not listen on TCP yet, but config.toml has a port now, it starts to listen."""
    if state.logins is None:
        settings = await asyncio.to_thread(config_settings.load, state.home.config)
        if settings.http.port is None:
            raise Refused(say("daemon.no_port"))
        if state.logins is None and state.listen is not None:
            await state.listen(settings.http)
    assert state.logins is not None
    url, until = state.logins.link()
    return json_response(LoginView(url, int(until * 1000)), 201)


@router.post("/markdown", gives=schemas.MarkdownView, summary="Render texts of agents as safe HTML")
async def markdown(state: AppState, body: schemas.Markdown) -> Response:
    """For a text that is being written, send only the part after `stable` the next time."""
    if sum(map(len, body.texts)) > MAX_TEXTS:
        raise BadInput(say("daemon.field", field="texts", rule=say("daemon.too_long_in_total", bound=MAX_TEXTS)))
    async with _one_at_a_time:
        rendered = await asyncio.to_thread(_rendered, body.texts)
    return json_response(schemas.MarkdownView(rendered))


def _rendered(texts: tuple[str, ...]) -> list[schemas.RenderedView]:
    from clew.server.page.markdown import render  # imported only if the page is used

    return [schemas.RenderedView(**asdict(render(text))) for text in texts]


@router.get("/choices", gives=ChoicesView, summary="List the choices for a new thread and for handoffs")
async def choices(state: AppState) -> Response:
    return json_response(await state.engine.status.choices())


@router.get("/figures", gives=FiguresView, summary="Show statistics of the last day")
async def figures(state: AppState) -> Response:
    return json_response(await state.engine.figures.last_day())


@router.get("/outbox", gives=list[OwedView], summary="List deliveries that have not arrived")
async def outbox(state: AppState) -> Response:
    return json_response(await state.engine.deliveries.undelivered(MAX_ROWS))


@router.get("/processes", gives=list[schemas.ProcessView], summary="List the processes of clew, as `clew ps` does")
async def processes(state: AppState) -> Response:
    from clew.process.listing import list_processes  # only one view of the page needs it

    running = (await state.engine.threads.page(ThreadFilter(running=True, limit=MAX_ROWS))).threads
    names = [(each.pid, each.name) for each in await state.engine.status.runtimes() if each.pid]
    work = {pid: tuple(thread.id for thread in running if thread.turn_runtime == name) for pid, name in names}
    rows = await asyncio.to_thread(list_processes, state.home, work)
    return json_response([schemas.ProcessView(**asdict(row)) for row in rows])
