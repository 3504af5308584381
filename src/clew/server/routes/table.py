"""All routes of the API, in the order of the OpenAPI document."""

from __future__ import annotations

from clew.server.routes import adopt, chat, daemon, events, files, gates, handoffs, page, people, threads, usage

_ROUTERS = (
    daemon.router,
    chat.router,
    threads.router,
    adopt.router,
    gates.router,
    people.router,
    handoffs.router,
    files.router,
    events.router,
    usage.router,
    page.router,
)
ROUTES = [route for router in _ROUTERS for route in router.routes]
