"""The page shows all of what a yes allows, and allows nothing before it does."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

LINES = [f"+line {number} {'x' * 300}" for number in range(2500)]
DIFF = "\n".join(["--- a/src/a.py", "+++ b/src/a.py", "@@ -0,0 +1,2500 @@", *LINES])
RUNS_OUT = "box => box.scrollWidth > box.clientWidth + 1"


def with_detail(view: Any, detail: str) -> Any:
    return {**view, "detail": detail, "cut": detail != DIFF, "shown": {**view["shown"], "detail": detail}}


def test_a_long_diff_is_shown_whole_before_it_can_be_allowed(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch whole\n!text done")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    view = desk.client.get("gates", gate)
    held: list[Route] = []

    def listed(route: Route) -> None:
        rows: list[Any] = route.fetch().json()
        short = f"{DIFF[:900]} … {DIFF[-500:]}"
        route.fulfill(json=[with_detail(row, short) if row["id"] == gate else row for row in rows])

    ann = sit_down(desk, listen=lambda page: page.route(re.compile(r"/api/gates(\?.*)?$"), listed))
    ann.page.route(re.compile(f"/api/gates/{gate}$"), lambda route: held.append(route))
    ann.go(f"#/threads/{turn['thread']}")
    box = ann.page.locator(f'clew-gate[data-gate="{gate}"]')
    allowing = box.locator('[data-act="allow"], [data-act="thread"], [data-act="rule"]')
    expect(allowing).to_have_count(3)
    assert all(button.is_disabled() for button in allowing.all())
    expect(box.locator('[data-act="decline"]')).to_be_enabled()
    while not held:
        ann.page.wait_for_timeout(20)
    held[0].fulfill(json=with_detail(view, DIFF))
    expect(box.locator('[data-act="allow"]')).to_be_enabled()
    expect(box.locator(".diff span")).to_have_count(len(DIFF.split("\n")))
    assert not any(each.evaluate(RUNS_OUT) for each in box.locator(".diff, .gate-title").all())
    below = box.get_by_text("More below: scroll in the box")
    expect(below.locator("visible=true")).to_have_count(1)
    box.locator(".diff").evaluate("diff => { diff.scrollTop = diff.scrollHeight }")
    expect(box.locator(".diff span").last).to_be_in_viewport()
    expect(below.locator("visible=true")).to_have_count(0)
    desk.client.post("threads", turn["thread"], "cancel")


def test_a_gate_that_shows_only_a_name_cannot_be_allowed_for_the_thread(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch unshown\n!text done")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]

    def listed(route: Route) -> None:
        route.fulfill(json=[{**row, "only_once": row["id"] == gate} for row in route.fetch().json()])

    ann = sit_down(desk, listen=lambda page: page.route(re.compile(r"/api/gates(\?.*)?$"), listed))
    ann.go(f"#/threads/{turn['thread']}")
    box = ann.page.locator(f'clew-gate[data-gate="{gate}"]')
    expect(box.locator('[data-act="allow"]')).to_be_enabled()
    expect(box.locator('[data-act="thread"]')).to_have_count(0)
    desk.client.post("threads", turn["thread"], "cancel")


@pytest.mark.parametrize("view", ["#/threads/{thread}", "#/inbox"])
def test_a_gate_that_is_asked_again_is_drawn_again_with_its_warning(desk: Desk, sit_down: Sit, view: str) -> None:
    """The page was away when it was answered and asked again, so it never saw the gate closed."""
    turn = desk.start("!approve touch again\n!text done")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    again: dict[str, Any] = {}

    def listed(route: Route) -> None:
        route.fulfill(json=[{**row, **(again if row["id"] == gate else {})} for row in route.fetch().json()])

    ann = sit_down(desk, listen=lambda page: page.route(re.compile(r"/api/gates(\?.*)?$"), listed))
    ann.go(view.format(thread=turn["thread"]))
    box = ann.page.locator(f'clew-gate[data-gate="{gate}"]')
    expect(box.locator('[data-act="allow"]')).to_be_enabled()
    again |= {"asked_at": 1, "warning": "The answer did not arrive."}
    other = desk.start("!approve touch other\n!text done")
    expect(box.locator(".warning")).to_have_text("The answer did not arrive.")
    expect(box).to_have_count(1)
    for each in (turn, other):
        desk.client.post("threads", each["thread"], "cancel")
