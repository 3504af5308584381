"""The page on a phone: the answers of a request are in view, whatever is above them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

PHONE = {"viewport": {"width": 390, "height": 667}, "has_touch": True, "is_mobile": True}
LONG = f"!patch long.txt {'x' * 900} {'a line of many words ' * 60}\n!text done"
ASK = "!ask Which database shall we use for the new service? | PostgreSQL | SQLite | keep files\n!text done"
IN_VIEW = """() => [...document.querySelectorAll("clew-gate .gate-answers button")]
  .filter((button) => button.checkVisibility())
  .every((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight && button.contains(found);
  })"""


@pytest.mark.parametrize("text", [LONG, ASK])
@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_a_thread_that_waits_opens_at_its_answers(desk: Desk, sit_down: Sit, text: str, locale: str) -> None:
    turn = desk.start(text)
    desk.clew.wait_for(turn["thread"], "gate.opened")
    ann = sit_down(desk, f"#/threads/{turn['thread']}", locale=locale, **PHONE)
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate).to_have_count(1)
    ann.page.wait_for_function(IN_VIEW)
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= 390
    if text == LONG:
        diff = ann.page.locator(".diff:visible")
        expect(diff).to_have_count(1)
        assert diff.evaluate("box => box.scrollHeight > box.clientHeight && box.scrollWidth <= box.clientWidth + 1")
        assert diff.evaluate("box => box.clientHeight < innerHeight / 2")
        expect(gate.locator(".gate-below:visible")).to_have_count(1)
        diff.evaluate("box => { box.scrollTop = box.scrollHeight }")
        expect(gate.locator(".gate-below:visible")).to_have_count(0)
        ann.page.locator(".scroll").evaluate("element => { element.scrollTop -= 60 }")
        ann.page.wait_for_function(IN_VIEW)
    desk.client.post("threads", turn["thread"], "cancel")


def test_the_button_that_sends_is_at_the_right_edge(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text before", kind="chat")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}", **PHONE)
    field, button = ann.page.locator(".composer"), ann.find("button", "Send")
    expect(button).to_be_visible()
    outer, inner = field.bounding_box(), button.bounding_box()
    assert outer and inner and outer["x"] + outer["width"] - (inner["x"] + inner["width"]) < 20


def test_a_notice_covers_no_title(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text before", kind="chat", title="a title")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}", **PHONE)
    ann.find("button", "More").last.click()
    ann.find("menuitem", "Mark as done").click()
    notice = ann.page.locator(".status-line:visible").bounding_box()
    title = ann.page.locator("h1").bounding_box()
    assert notice and title and notice["y"] + notice["height"] <= title["y"]
