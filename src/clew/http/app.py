"""The two apps, over the same routes: for the Unix socket as they are, for TCP behind a guard."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from clew import __version__
from clew.http import (
    openapi,
    page,
    problems,
    routes_adopt,
    routes_chat,
    routes_daemon,
    routes_events,
    routes_files,
    routes_gates,
    routes_handoffs,
    routes_page,
    routes_people,
    routes_threads,
)
from clew.http.door import Door
from clew.http.guard import Guard
from clew.http.login import Logins
from clew.http.once import Once
from clew.kept import LARGEST
from clew.token import Token

ROUTERS = (
    routes_daemon.router,
    routes_chat.router,
    routes_threads.router,
    routes_adopt.router,
    routes_gates.router,
    routes_people.router,
    routes_handoffs.router,
    routes_files.router,
    routes_events.router,
    routes_page.router,
)


def described_app() -> FastAPI:
    """All routes, with nothing behind them yet."""
    app = FastAPI(title="clew", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    for router in ROUTERS:
        app.include_router(router)
    app.include_router(page.router)
    openapi.install(app)
    return app


def unix_app(door: Door) -> FastAPI:
    """Without a token: who may open the socket is its owner."""
    app = described_app()
    app.state.door = door
    app.add_middleware(Once, store=door.store, joined=(routes_chat.CHAT,))
    problems.install(app, {routes_files.PATH: LARGEST + 1})
    return app


def tcp_app(
    door: Door,
    token: Token,
    hosts: Collection[str],
    routers: Sequence[APIRouter] = (),
    logins: Logins | None = None,
) -> ASGIApp:
    """The same API behind a token, or the cookie of the page; webhooks verify a signature themselves."""
    app = unix_app(door)
    for router in routers:
        app.include_router(router)
    signed = [route.path for router in routers for route in router.routes if isinstance(route, APIRoute)]
    return Guard(app, token.fits, hosts, [path.partition("{")[0] for path in signed], time.monotonic, logins)
