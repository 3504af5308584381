"""What every route needs, and how a route answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from clew.clock import SystemClock
from clew.config import Config
from clew.engine import Engine
from clew.home import Home
from clew.http.shapes import DaemonView
from clew.store import Store

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Door:
    engine: Engine
    store: Store
    home: Home
    about: DaemonView
    stop: Callable[[float, bool], None]  # how long running turns get, and whether another daemon follows
    settings: Config = field(default_factory=Config)
    new_id: Callable[[], str] = field(default_factory=lambda: SystemClock().ulid)
    why_not_yet: str | None = None  # the reason, until the daemon is ready
    why_over: str | None = field(default=None)  # the reason, once the daemon stops


def _door(request: Request) -> Door:
    door: Door = request.app.state.door
    return door


Through = Annotated[Door, Depends(_door)]


def answer(view: Any, status: int = 200) -> Response:
    """Encoded here and not by FastAPI, which would take each view apart and put it together again."""
    return Response(_encode(view), status, media_type="application/json")
