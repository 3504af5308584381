"""Routes as plain functions. The parameters of a route are read from its signature, at its first request:

    @router.get("/threads/{thread}", gives=ThreadView, summary="Show a thread")
    async def thread(state: AppState, thread: str) -> Response: ...

A name in the path is a path parameter, a `Body` is the JSON of the request, a `Header` is a header; all others are
query parameters. `msgspec.Meta` in an `Annotated` restricts a value.
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
from clew.texts.catalogue import say

Handler = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Header:
    """In an `Annotated`: the value comes from the header with this name."""

    name: str
    shown: bool = True  # in the OpenAPI document


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter of a route, from the path, the query or a header."""

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
            raise BadInput(say("daemon.field", field=self.key, rule=say("daemon.must_be_given")))
        return self.default if found is None else read_text(self.key, found, self.kind)

    def _source(self, request: Request) -> Mapping[str, str]:
        if self.place == "path":
            return request.path_params
        return request.query_params if self.place == "query" else request.headers


@dataclass(frozen=True, slots=True)
class Signature:
    values: tuple[Value, ...] = ()
    body: type[Body] | None = None
    app_state: str | None = None  # the names of these parameters
    request: str | None = None


@dataclass
class Route:
    method: str
    path: str
    handler: Handler
    summary: str = ""
    gives: Any = None
    streams: bool = False  # it sends server-sent events
    status: int = 200
    tag: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # added to its OpenAPI description

    @property
    def name(self) -> str:
        return f"{self.tag}_{self.handler.__name__}"

    @cached_property
    def takes(self) -> Signature:
        return _signature(self.handler, self.path)

    async def __call__(self, request: Request) -> Response:
        takes = self.takes
        given = {value.name: value.read(request) for value in takes.values}
        if takes.app_state:
            given[takes.app_state] = request.app.state.app_state
        if takes.request:
            given[takes.request] = request
        if takes.body is not None:
            given["body"] = await _read_body(request, takes.body)
        return await self.handler(**given)

    def served(self) -> StarletteRoute:
        served = StarletteRoute(self.path, self.__call__, name=self.name)
        served.methods = {self.method}  # no HEAD: it must not use up a login link
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


async def _read_body(request: Request, kind: type[Body]) -> Body:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise BadInput(say("daemon.must_be_json"))
    return read_json(await request.body(), kind)


def _signature(handler: Handler, path: str) -> Signature:
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
