"""Routes as plain functions. What one takes stands in its signature, and is read when it is first asked for:

    @router.get("/threads/{thread}", gives=ThreadView, summary="One thread")
    async def thread(door: Door, thread: str) -> Response: ...

A name that is in the path comes from there, a `Body` is the JSON that was sent, a `Header` says so; all else is in the
query. `msgspec.Meta` in an `Annotated` bounds a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from clew.server.dependencies import AppState
from clew.server.routing.validation import Body, read_json, read_text
from clew.support.errors import BadInput

Handler = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Header:
    """In an `Annotated`: the value is in the header of this name."""

    name: str
    shown: bool = True  # in the description


@dataclass(frozen=True, slots=True)
class Value:
    """One that a route takes from a path, a query or a header."""

    name: str
    key: str
    place: str
    kind: Any
    default: Any = inspect.Parameter.empty
    shown: bool = True

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def read(self, request: Request) -> Any:
        found = self._source(request).get(self.key)
        if found is None and self.required:
            raise BadInput(f"{self.key}: must be given")
        return self.default if found is None else read_text(self.key, found, self.kind)

    def _source(self, request: Request) -> Mapping[str, str]:
        if self.place == "path":
            return request.path_params
        return request.query_params if self.place == "query" else request.headers


@dataclass(frozen=True, slots=True)
class Signature:
    values: tuple[Value, ...] = ()
    body: type[Body] | None = None
    app_state: str | None = None  # the names under which it takes these
    request: str | None = None


@dataclass
class Route:
    method: str
    path: str
    handler: Handler
    summary: str = ""
    gives: Any = None
    status: int = 200
    tag: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # to its description

    @property
    def name(self) -> str:
        return f"{self.tag}_{self.handler.__name__}"

    @cached_property
    def takes(self) -> Signature:
        return _read(self.handler, self.path)

    async def __call__(self, request: Request) -> Response:
        takes = self.takes
        given = {value.name: value.read(request) for value in takes.values}
        if takes.app_state:
            given[takes.app_state] = request.app.state.app_state
        if takes.request:
            given[takes.request] = request
        if takes.body is not None:
            given["body"] = await _sent(request, takes.body)
        return await self.handler(**given)

    def served(self) -> StarletteRoute:
        served = StarletteRoute(self.path, self.__call__, name=self.name)
        served.methods = {self.method}  # no HEAD: a look must not use a link up
        return served


class Router:
    def __init__(self, prefix: str = "", tag: str = "") -> None:
        self.routes: list[Route] = []
        self._prefix = prefix
        self._tag = tag

    def get(self, path: str, **about: Any) -> Callable[[Handler], Handler]:
        return self._route("GET", path, about)

    def post(self, path: str, **about: Any) -> Callable[[Handler], Handler]:
        return self._route("POST", path, about)

    def put(self, path: str, **about: Any) -> Callable[[Handler], Handler]:
        return self._route("PUT", path, about)

    def patch(self, path: str, **about: Any) -> Callable[[Handler], Handler]:
        return self._route("PATCH", path, about)

    def delete(self, path: str, **about: Any) -> Callable[[Handler], Handler]:
        return self._route("DELETE", path, about)

    def _route(self, method: str, path: str, about: dict[str, Any]) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            self.routes.append(Route(method, self._prefix + path, handler, tag=self._tag, **about))
            return handler

        return add


async def _sent(request: Request, kind: type[Body]) -> Body:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise BadInput("the body must be JSON, and its Content-Type application/json")
    return read_json(await request.body(), kind)


def _read(handler: Handler, path: str) -> Signature:
    hints = get_type_hints(handler, localns={"Request": Request, "Response": Response}, include_extras=True)
    named = {name: hints[name] for name in inspect.signature(handler).parameters}
    bodies = [kind for kind in named.values() if _is_body(kind)]
    return Signature(
        values=tuple(_values(handler, path, named)),
        body=bodies[0] if bodies else None,
        app_state=next((name for name, kind in named.items() if kind is AppState), None),
        request=next((name for name, kind in named.items() if kind is Request), None),
    )


def _values(handler: Handler, path: str, named: dict[str, Any]) -> Iterator[Value]:
    defaults = {name: each.default for name, each in inspect.signature(handler).parameters.items()}
    for name, kind in named.items():
        if kind in (AppState, Request) or _is_body(kind):
            continue
        if f"{{{name}}}" in path or f"{{{name}:" in path:
            yield Value(name, name, "path", kind)
        elif header := _header(kind):
            yield Value(name, header.name, "header", kind, defaults[name], header.shown)
        else:
            yield Value(name, name, "query", kind, defaults[name])


def _is_body(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Body)


def _header(kind: Any) -> Header | None:
    if get_origin(kind) is not Annotated:
        return None
    return next((each for each in get_args(kind) if isinstance(each, Header)), None)
