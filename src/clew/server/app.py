"""The two ASGI apps with the same routes: one for the Unix socket, one for TCP behind a guard."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router as StarletteRouter
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.server import problems
from clew.server.auth.guard import Guard
from clew.server.auth.login import Logins
from clew.server.auth.tokens import Token
from clew.server.dependencies import AppState
from clew.server.idempotency import IdempotencyMiddleware
from clew.server.page import files as page_files
from clew.server.routes import chat
from clew.server.routes import files as route_files
from clew.server.routes.table import ROUTES
from clew.server.routing.functions import Route, Router
from clew.support.files import LARGEST


class App:
    """What every request passes, from the outside to its route. It is put together here and not by Starlette's class,
    which would import all names of characters in HTML."""

    def __init__(self, state: AppState, routes: Sequence[BaseRoute]) -> None:
        self.state = State()
        self.state.app_state = state
        self.state.is_local = True
        routed = problems.Handled(StarletteRouter(routes, redirect_slashes=False))
        once = IdempotencyMiddleware(routed, responses=state.engine.stored_responses, streams=(chat.CHAT,))
        limited = problems.BodyLimit(once, larger={route_files.PATH: LARGEST + 1})
        self._stack = problems.LastResort(problems.Handled(limited))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        await self._stack(scope, receive, send)


def unix_app(state: AppState, routers: Sequence[Router] = ()) -> App:
    """The app without a token: only the owner of the socket can open it."""
    routes = [*ROUTES, *(route for router in routers for route in router.routes)]
    served = [*(route.served() for route in (*routes, *page_files.router.routes)), *_described(routes)]
    return App(state, served)


def tcp_app(
    state: AppState, token: Token, hosts: Collection[str], routers: Sequence[Router] = (), logins: Logins | None = None
) -> ASGIApp:
    """The same API behind a token or the cookie of the page; webhooks verify their own signature."""
    signed = [route.path.partition("{")[0] for router in routers for route in router.routes]
    app = unix_app(state, routers)
    app.state.is_local = False
    return Guard(app, token.fits, hosts, signed, time.monotonic, logins)


def _described(routes: Sequence[Route]) -> list[StarletteRoute]:
    """The routes `/openapi.json` and `/docs`. What they need is imported with the first request."""

    async def program(request: Request) -> Response:
        from clew.server import openapi

        return JSONResponse(openapi.describe(routes))

    async def person(request: Request) -> Response:
        from clew.server import openapi

        page = openapi.page(openapi.describe(routes))
        return HTMLResponse(page, headers={"Content-Security-Policy": "default-src 'none'"})

    return [StarletteRoute("/openapi.json", program), StarletteRoute("/docs", person)]
