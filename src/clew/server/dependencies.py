"""What every route needs, and how a route answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.responses import Response

from clew.config.settings import Config, HttpConfig
from clew.engine.engine import Engine
from clew.server.auth.login import Logins
from clew.server.routing.schemas import DaemonView
from clew.store import Store
from clew.support.clock import SystemClock
from clew.support.home import Home

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class AppState:
    engine: Engine
    store: Store
    home: Home
    about: DaemonView
    stop: Callable[[float, bool], None]  # how long running turns get, and whether another daemon follows
    settings: Config = field(default_factory=Config)
    new_id: Callable[[], str] = field(default_factory=lambda: SystemClock().ulid)
    listen: Callable[[HttpConfig], Awaitable[None]] | None = None  # on TCP, also while it runs
    logins: Logins | None = None  # browsers; None where there is no TCP listener
    not_ready_reason: str | None = None  # the reason, until the daemon is ready
    stop_reason: str | None = field(default=None)  # the reason, once the daemon stops


def answer(view: Any, status: int = 200) -> Response:
    return Response(_encode(view), status, media_type="application/json")
