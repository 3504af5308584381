"""The two apps: all of the API for the Unix socket, and for TCP only what authenticates by itself."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from clew import __version__
from clew.http import problems, routes_daemon, routes_events, routes_gates, routes_threads
from clew.http.door import Door


def unix_app(door: Door) -> FastAPI:
    """Without a token: who may open the socket is its owner."""
    app = FastAPI(title="clew", version=__version__, docs_url=None, redoc_url=None)
    app.state.door = door
    for routes in (routes_daemon, routes_threads, routes_gates, routes_events):
        app.include_router(routes.router)
    problems.install(app)
    return app


def tcp_app(*routers: APIRouter) -> FastAPI:
    """Webhooks verify a signature themselves; beside them there is only the sign of life."""
    app = FastAPI(title="clew", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/healthz", routes_daemon.healthz)
    for router in routers:
        app.include_router(router)
    problems.install(app)
    return app
