"""docs/openapi.json is up to date and complete, and the docs page loads nothing else."""

from __future__ import annotations

import json
import re

import msgspec

from clew.server.openapi import EXAMPLES, describe, document
from clew.server.routes.table import ROUTES
from tests.helpers.paths import ROOT
from tests.server.conftest import Api

DOCS = ROOT / "docs" / "reference" / "openapi.json"


def test_the_checked_in_openapi_is_the_served_one() -> None:
    assert DOCS.read_text(encoding="utf-8") == document(), "python -m clew.server.openapi > docs/reference/openapi.json"


def test_every_route_has_a_summary_and_an_error_response() -> None:
    schema = describe(ROUTES)
    assert schema["openapi"].startswith("3.1")
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            assert operation.get("summary"), f"{method} {path}"
            assert "application/problem+json" in json.dumps(operation["responses"]["default"])
            named = [each["name"] for each in operation.get("parameters", ())]
            assert ("Idempotency-Key" in named) == (method == "post")


def test_every_route_has_an_example_that_matches_its_schema() -> None:
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    names = {f"{route.method} {route.path}": route for route in ROUTES}
    assert examples.keys() == names.keys(), f"an example of each route belongs into {EXAMPLES.name}"
    for name, route in names.items():
        if route.gives is not None:
            msgspec.convert(examples[name]["response"], route.gives)
        if route.takes.body is not None:
            msgspec.convert(examples[name]["request"], route.takes.body)


async def test_the_docs_page_loads_nothing_from_other_sites(api: Api) -> None:
    page = await api.client.get("/docs")
    assert page.status_code == 200 and "/api/threads/{thread}/messages" in page.text
    assert not re.search(r"(src|href)=['\"]?(https?:)?//", page.text) and "<script" not in page.text
    assert (await api.client.get("/openapi.json")).json() == json.loads(document())
