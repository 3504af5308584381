"""Every policy can be chosen wherever a policy is, and is compared with every other."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import get_args, get_type_hints

import pytest

from clew.cli import completion
from clew.cli.chat import setting_commands
from clew.cli.commands import run
from clew.client import api
from clew.model.gates import Policy
from clew.server.routing import schemas
from tests.helpers.paths import ROOT

PAGE = ROOT / "src/clew/server/page/static/parts"
STRICTEST_FIRST = (Policy.READ_ONLY, Policy.CAREFUL, Policy.SANDBOX, Policy.TRUSTED, Policy.YOLO)


@pytest.mark.parametrize("listed", [run.POLICIES, completion.POLICIES, setting_commands.POLICIES, get_args(api.Policy)])
def test_each_list_of_clients_has_every_policy(listed: tuple[str, ...]) -> None:
    assert set(listed) == set(Policy)


def test_each_request_of_the_api_takes_every_policy() -> None:
    bodies = [each for each in vars(schemas).values() if isinstance(each, type) and "policy" in get_type_hints(each)]
    assert len(bodies) >= 3
    for body in bodies:
        literal, _ = get_args(get_type_hints(body)["policy"])
        assert set(get_args(literal)) == set(Policy), body


@pytest.mark.parametrize("name", ["thread_options.js", "dialogs/adopt.js"])
def test_the_page_offers_every_policy(name: str) -> None:
    found = re.search(r'\["careful"[^]]*\]', (PAGE / name).read_text(encoding="utf-8"))
    assert found is not None and set(re.findall(r'"([\w-]+)"', found[0])) == set(Policy)


def test_policies_are_ordered_by_how_much_they_allow() -> None:
    assert set(STRICTEST_FIRST) == set(Policy)
    for stricter, looser in pairwise(STRICTEST_FIRST):
        assert looser.is_looser_than(stricter) and not stricter.is_looser_than(looser)
