"""What every route can use (`AppState`), and how it makes a JSON response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct, field
from starlette.responses import Response

from clew.config.settings import Config, HttpConfig
from clew.engine.engine import Engine
from clew.model.views import DaemonView
from clew.server.auth.login import Logins
from clew.support.clock import SystemClock
from clew.support.coded import plain
from clew.support.home import Home

Listen = Callable[[HttpConfig], Awaitable[None]]
_encode = msgspec.json.Encoder(enc_hook=plain).encode


class AppState(Struct, eq=False):
    """What routes work with. One per daemon; routes take it as a parameter."""

    engine: Engine
    home: Home
    about: DaemonView
    stop: Callable[[float, bool], None]  # takes the grace of running turns in seconds, and whether it is a restart
    settings: Config = field(default_factory=Config)
    new_id: Callable[[], str] = field(default_factory=lambda: SystemClock().ulid)
    listen: Listen | None = None  # opens the TCP listener, also while the daemon runs
    logins: Logins | None = None  # of browsers; None without a TCP listener
    not_ready_reason: str | None = None  # set until the daemon is ready: starting, stopping, restarting
    stop_reason: str | None = field(default=None)  # set once the daemon stops: stopping, restarting


def json_response(view: Any, status: int = 200) -> Response:
    return Response(_encode(view), status, media_type="application/json")
