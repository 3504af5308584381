"""The requests of the client agree with the routes of the server: path, parameters and the type of the response."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_args, get_origin

import msgspec
import pytest

from clew.client import requests
from clew.client.requests import Request, Sent
from clew.model.messages import Accepted
from clew.server.routes.table import ROUTES
from clew.server.routing.functions import Route

SAMPLES = {"str": "x", "int": 1, "float": 1.0, "bool": True, "Sequence[str]": ["x"]}
MADE = {
    name: function
    for name, function in vars(requests).items()
    if inspect.isfunction(function) and not name.startswith("_") and "Request[" in str(function.__annotations__)
}


def sample(make: Callable[..., Request[Any]]) -> Request[Any]:
    """The request with every parameter given."""
    given = {
        name: SAMPLES[str(each.annotation).removesuffix(" | None")]
        for name, each in inspect.signature(make).parameters.items()
        if each.kind is not each.VAR_KEYWORD
    }
    return make(**given)


def route_of(request: Request[Any]) -> Route:
    """The route that serves it; one without parameters comes first."""
    path = "/".join(["/api", *request.path])
    found = [
        route
        for route in ROUTES
        if route.method == request.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.path), path)
    ]
    return min(found, key=lambda route: route.path.count("{"))


def items(kind: Any) -> Any:
    """What a list is of: the server gives lists, and the client tuples."""
    return (list, get_args(kind)[0]) if get_origin(kind) in (list, tuple) else kind


def test_there_are_requests() -> None:
    assert len(MADE) > 35


@pytest.mark.parametrize("name", MADE)
def test_a_request_agrees_with_its_route(name: str) -> None:
    request = sample(MADE[name])
    route = route_of(request)
    assert items(request.gives) == items(route.gives if route.gives is not Accepted else Sent)
    assert set(request.query) <= {value.key for value in route.takes.values if value.place == "query"}
    known = {field.name for field in msgspec.structs.fields(route.takes.body)} if route.takes.body else set()
    assert set(request.body or {}) <= known


def test_the_outcome_of_a_message_has_the_fields_that_the_server_sends() -> None:
    assert Sent.__struct_fields__ == Accepted.__struct_fields__, "also in its order: `--json` prints them"


@pytest.mark.parametrize(
    ("request_", "repeatable"),
    [
        (requests.thread("A"), True),
        (requests.retitle("A", "title"), True),
        (requests.send("A", "text"), True),
        (requests.stop("A"), False),
        (requests.remove_rule("R"), False),
    ],
)
def test_only_what_is_accepted_once_is_sent_again(request_: Request[Any], repeatable: bool) -> None:
    assert request_.is_repeatable is repeatable
