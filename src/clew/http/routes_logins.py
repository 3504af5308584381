"""How the page is opened: a link for a browser."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from clew import config
from clew.errors import Refused
from clew.http import shapes
from clew.http.door import Door, answer
from clew.http.routing import Router

router = Router("/api", "page")


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
