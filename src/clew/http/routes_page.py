"""What only the page needs: a link that lets a browser in, and texts as HTML."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from starlette.responses import Response

from clew import config
from clew.errors import BadInput, Refused
from clew.http import shapes
from clew.http.door import Door, answer
from clew.http.routing import Router

router = Router("/api", "page")

TEXTS = 200_000  # characters at once
_one_at_a_time = asyncio.Lock()


@router.post("/logins", gives=shapes.LoginView, status=201, summary="A link that opens the page, once")
async def login(door: Door) -> Response:
    """Where clew does not listen on TCP yet, but config.toml has a port by now, it does from here on."""
    if door.logins is None:
        settings = await asyncio.to_thread(config.load, door.home.config)
        if settings.http.port is None:
            raise Refused("clew has no port that a browser could reach: `clew web` gives it one and opens the page")
        if door.logins is None and door.listen is not None:
            await door.listen(settings.http)
    assert door.logins is not None
    url, until = door.logins.link()
    return answer(shapes.LoginView(url, int(until * 1000)), 201)


@router.post("/markdown", gives=shapes.MarkdownView, summary="Texts of agents as HTML that can do no harm")
async def markdown(door: Door, body: shapes.Markdown) -> Response:
    """Of a text that is being written, what begins at `stable` is all that has to be sent the next time."""
    if sum(map(len, body.texts)) > TEXTS:
        raise BadInput(
            f"texts: together they must not be longer than {TEXTS} characters; send them one after the other"
        )
    async with _one_at_a_time:
        rendered = await asyncio.to_thread(_rendered, body.texts)
    return answer(shapes.MarkdownView(rendered))


def _rendered(texts: tuple[str, ...]) -> list[shapes.RenderedView]:
    from clew.web.markdown import render  # only who looks at the page needs it

    return [shapes.RenderedView(**asdict(render(text))) for text in texts]
