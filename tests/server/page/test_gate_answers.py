"""The answers of a gate on the page: yes and no have one place, and few are shown at first sight."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

OFFERED = ["allow", "decline", "thread", "rule"]
NOT_OFFERED = ["allow", "decline", "thread", "stop"]


def focus_gate(ann: Person) -> None:
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate).to_have_count(1)
    gate.focus()


@pytest.mark.parametrize(
    ("command", "acts", "more"), [("pytest -q", OFFERED, "stop"), ("node -e 1", NOT_OFFERED, "rule")]
)
def test_four_answers_at_most_are_shown_at_first_sight(
    desk: Desk, sit_down: Sit, command: str, acts: list[str], more: str
) -> None:
    turn = desk.start(f"!approve {command}\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    shown = gate.locator("[data-act]:visible")
    expect(shown).to_have_count(4)
    assert [each.get_attribute("data-act") for each in shown.all()] == acts
    (view,) = desk.client.get("gates", thread=turn["thread"])
    numbers = view.get("numbers") or range(1, 5)
    assert [each.locator("kbd").inner_text() for each in shown.all()] == [str(number) for number in numbers[:4]]
    assert len(view["options"]) == (5 if "rule" in acts else 4) and view["options"][:2] == ["allow", "decline"]
    gate.get_by_role("button", name="More", exact=True).click()
    expect(gate.locator(f"[data-act='{more}']")).to_be_visible()
    desk.client.post("threads", turn["thread"], "cancel")


@pytest.mark.parametrize("command", ["pytest -q", "node -e 1"])
@pytest.mark.parametrize("typed", [True, False])
def test_two_is_no_for_every_request(desk: Desk, sit_down: Sit, command: str, typed: bool) -> None:
    turn = desk.start(f"!approve {command}\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    focus_gate(ann)
    if typed:
        ann.find("textbox", "Message").fill("2")
        ann.press("Enter")
    else:
        ann.press("2")
        expect(ann.page.locator("clew-gate textarea")).to_be_focused()
        ann.press("Enter")
    desk.clew.wait_ended(turn)
    (view,) = desk.client.get("gates", thread=turn["thread"])
    assert view["decision"] == "decline"


def test_the_numbers_are_those_that_the_daemon_says(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve node -e 1\n!text done")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]

    def listed(route: Route) -> None:
        route.fulfill(json=[{**row, "numbers": [1, 2, 3, 5]} for row in route.fetch().json() if row["id"] == gate])

    ann = sit_down(desk, listen=lambda page: page.route(re.compile(r"/api/gates(\?.*)?$"), listed))
    ann.go(f"#/threads/{turn['thread']}")
    focus_gate(ann)
    expect(ann.page.locator("clew-gate [data-act]:visible kbd")).to_have_text(["1", "2", "3", "5"])
    ann.press("5")
    assert desk.clew.wait_ended(turn)["state"] == "interrupted"
    ann.page.unroute_all(behavior="wait")
