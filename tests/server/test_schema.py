"""The complete API against its OpenAPI document, over loopback: no request causes an internal error, and every
refusal is a problem response. Derandomized: every run is the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from clew.server.openapi import describe
from clew.server.routes.table import ROUTES
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.paths import ROOT
from tests.server.generator import Call, Operation, calls, operations
from tests.server.tcp_client import PORT, program

DOCUMENT = describe(ROUTES)
FATAL = "/api/shutdown"  # tested only with invalid bodies
OPERATIONS = [each for each in operations(DOCUMENT) if each.path != FATAL]
NO_CODEX = '[runtimes.codex]\ncommand = "/no/such/codex"\n'
MISSING = "codex_missing"  # the only program that is missing here
EXAMPLES = 12
CALM = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with Clew(tmp_path_factory.mktemp("schema") / "home", f"{SCRIPTED}{PORT}{NO_CODEX}") as clew:
        yield clew


@pytest.fixture(scope="module")
def client(clew: Clew) -> Iterator[httpx.Client]:
    with program(clew) as client:
        yield client


@pytest.fixture(scope="module")
def known(client: httpx.Client, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """A thread with an ended turn, one with an open gate, and a conversation."""
    folder = str(tmp_path_factory.mktemp("work"))
    started = [_start(client, f"m{number}", text, folder) for number, text in enumerate(("!text one", "!approve make"))]
    client.post("/api/conversations/chat/stream", json={"message": "!text x", "conversation_id": "c"}).read()
    rule = client.post("/api/rules", json={"effect": "ask", "pattern": "make *"}).json()["id"]
    return {
        "thread": [each["thread"] for each in started],
        "turn": [each["turn"] for each in started],
        "gate": ["AA", "0"],
        "rule": [rule],
        "conversation_id": ["c"],
    }


def _start(client: httpx.Client, id: str, text: str, workspace: str) -> Any:
    return client.post("/api/threads", json={"message_id": id, "text": text, "workspace": workspace}).json()


@pytest.mark.process
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_no_generated_request_causes_a_server_error(
    client: httpx.Client, known: dict[str, list[str]], operation: Operation
) -> None:
    @CALM
    @given(calls(DOCUMENT, operation, known))
    def tried(call: Call) -> None:
        _check(client, operation, call)

    tried()


def _check(client: httpx.Client, operation: Operation, call: Call) -> None:
    sent: dict[str, Any] = {"json": call.body} if operation.body else {}
    if operation.is_file:
        sent = {"content": call.body.encode("utf-8", "replace")}
        call.headers["content-type"] = "text/plain"
    request = client.build_request(call.method, call.path, params=call.query, headers=call.headers, **sent)
    answer = client.send(request, stream=True)
    try:
        assert answer.status_code < 500 or json.loads(answer.read())["code"] == MISSING, (call, answer.read())
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json", call
            problem = json.loads(answer.read())
            assert problem["status"] == answer.status_code and problem["detail"] and problem["code"], call
        else:
            assert str(answer.status_code) in operation.spec["responses"] or answer.status_code == 200, call
    finally:
        answer.close()


def test_an_invalid_shutdown_request_is_refused_too(client: httpx.Client, clew: Clew) -> None:
    wrong: list[Any] = [{"grace": -1}, {"grace": "long"}, {"restart": 1}, [], None, {"x": 1}]
    for body in wrong:
        assert client.post(FATAL, json=body).status_code == 422
    assert client.get("/healthz").json()["ready"]


def test_the_checked_in_openapi_is_the_tested_one() -> None:
    path = ROOT / "docs" / "reference" / "openapi.json"
    assert json.loads(path.read_text(encoding="utf-8"))["paths"].keys() == DOCUMENT["paths"].keys()
