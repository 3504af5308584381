"""The two apps, over the same routes: for the Unix socket as they are, for TCP behind a guard."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from starlette.applications import Starlette
from starlette.types import ASGIApp

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
from clew.http.routing import Router
from clew.kept import LARGEST
from clew.token import Token

_ROUTERS = (
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
ROUTES = [route for router in _ROUTERS for route in router.routes]


def unix_app(door: Door, routers: Sequence[Router] = ()) -> Starlette:
    """Without a token: who may open the socket is its owner."""
    routes = [*ROUTES, *(route for router in routers for route in router.routes)]
    served = [*(route.served() for route in (*routes, *page.router.routes)), *openapi.served(routes)]
    app = Starlette(routes=served)
    app.router.redirect_slashes = False
    app.state.door = door
    app.state.is_at_the_machine = True
    app.add_middleware(Once, store=door.store, joined=(routes_chat.CHAT,))
    problems.install(app, {routes_files.PATH: LARGEST + 1})
    return app


def tcp_app(
    door: Door, token: Token, hosts: Collection[str], routers: Sequence[Router] = (), logins: Logins | None = None
) -> ASGIApp:
    """The same API behind a token, or the cookie of the page; webhooks verify a signature themselves."""
    signed = [route.path.partition("{")[0] for router in routers for route in router.routes]
    app = unix_app(door, routers)
    app.state.is_at_the_machine = False
    return Guard(app, token.fits, hosts, signed, time.monotonic, logins)
