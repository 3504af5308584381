"""Answers of the daemon overtake each other on their way to a page, and events overtake them: what is shown is right."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.web.conftest import Desk, Sit

COUNT = """text => {
  const shown = () => [...document.querySelectorAll(".said")].filter((each) => each.textContent === text).length;
  window.most = 0;
  new MutationObserver(() => (window.most = Math.max(window.most, shown()))).observe(document.body, {
    childList: true,
    subtree: true,
  });
}"""


def test_what_is_said_is_shown_once_at_every_moment(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text before", kind="chat")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.answer_of(turn["turn"])).to_have_text("before")
    ann.page.evaluate(COUNT, "!text once")
    ann.find("textbox", "Message").fill("!text once")
    ann.press("Enter")
    expect(ann.page.locator(".answer clew-text")).to_have_text(["before", "once"])
    expect(ann.page.locator("clew-pending article")).to_have_count(0)
    assert ann.page.evaluate("window.most") == 1
