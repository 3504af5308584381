"""What the page needs beside threads: a link that lets a browser in, texts as HTML, what can be chosen, how all is."""

from __future__ import annotations

import asyncio

from msgspec.structs import asdict
from starlette.responses import Response

from clew.config import settings as config_settings
from clew.model.views import ChoicesView, FiguresView, OwedView
from clew.process.listing import list_processes
from clew.server.dependencies import AppState, answer
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.store.tables.threads import Filter
from clew.support.errors import BadInput, Refused

router = Router("/api", "page")

TEXTS = 200_000  # characters at once
OWED = 100  # rows
_one_at_a_time = asyncio.Lock()


@router.post("/logins", gives=schemas.LoginView, status=201, summary="A link that opens the page, once")
async def login(door: AppState) -> Response:
    """Where clew does not listen on TCP yet, but config.toml has a port by now, it does from here on."""
    if door.logins is None:
        settings = await asyncio.to_thread(config_settings.load, door.home.config)
        if settings.http.port is None:
            raise Refused("clew has no port that a browser could reach: `clew web` gives it one and opens the page")
        if door.logins is None and door.listen is not None:
            await door.listen(settings.http)
    assert door.logins is not None
    url, until = door.logins.link()
    return answer(schemas.LoginView(url, int(until * 1000)), 201)


@router.post("/markdown", gives=schemas.MarkdownView, summary="Texts of agents as HTML that can do no harm")
async def markdown(door: AppState, body: schemas.Markdown) -> Response:
    """Of a text that is being written, what begins at `stable` is all that has to be sent the next time."""
    if sum(map(len, body.texts)) > TEXTS:
        raise BadInput(
            f"texts: together they must not be longer than {TEXTS} characters; send them one after the other"
        )
    async with _one_at_a_time:
        rendered = await asyncio.to_thread(_rendered, body.texts)
    return answer(schemas.MarkdownView(rendered))


def _rendered(texts: tuple[str, ...]) -> list[schemas.RenderedView]:
    from clew.server.page.markdown import render  # only who looks at the page needs it

    return [schemas.RenderedView(**asdict(render(text))) for text in texts]


@router.get("/choices", gives=ChoicesView, summary="What a thread can be begun with, and handed to")
async def choices(door: AppState) -> Response:
    return answer(await door.engine.choices())


@router.get("/figures", gives=FiguresView, summary="How the last day went")
async def figures(door: AppState) -> Response:
    return answer(await door.engine.figures.last_day())


@router.get("/outbox", gives=list[OwedView], summary="What has not arrived where it should")
async def outbox(door: AppState) -> Response:
    return answer(await door.engine.owed(OWED))


@router.get("/processes", gives=list[schemas.ProcessView], summary="Every process of clew, as `clew ps` has it")
async def processes(door: AppState) -> Response:
    running = (await door.engine.threads(Filter(running=True, limit=OWED))).threads
    names = [(each.pid, each.name) for each in await door.engine.runtimes() if each.pid]
    work = {pid: tuple(thread.id for thread in running if thread.runtime == name) for pid, name in names}
    rows = await asyncio.to_thread(list_processes, door.home, work)
    return answer([schemas.ProcessView(**asdict(row)) for row in rows])
