"""Answers of the daemon overtake each other on their way to a page, and events overtake them: it shows what is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from clew.client.requests import new_message_id
from tests.server.page.browsers import Late
from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

COUNT = """text => {
  const shown = () => [...document.querySelectorAll(".said")].filter((each) => each.textContent === text).length;
  window.most = 0;
  new MutationObserver(() => (window.most = Math.max(window.most, shown()))).observe(document.body, {
    childList: true,
    subtree: true,
  });
}"""


def arrive(page: Page, late: Late) -> None:
    """Let go of what is late, until the page has read it."""
    with page.expect_request_finished(lambda request: late.url.search(request.url) is not None):
        late.let_go()
    page.evaluate("fetch('/page/app.js').then((answer) => answer.text())")


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


def test_a_yes_that_was_said_before_a_question_came_does_not_answer_it(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text Shall I?", kind="chat")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.answer_of(turn["turn"])).to_have_text("Shall I?")
    slow: list[Route] = []
    ann.page.route(re.compile("/messages$"), lambda route: slow.append(route))
    ann.find("textbox", "Message").fill("y")
    ann.press("Enter")
    while not slow:
        ann.page.wait_for_timeout(20)
    body = {"message_id": new_message_id(), "text": "!approve touch unseen"}
    desk.client.post("threads", turn["thread"], "messages", body=body)
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    with ann.page.expect_response(re.compile("/messages$")) as said:
        slow[0].continue_()
    assert said.value.json()["fate"] == "steer"
    assert desk.client.get("gates", gate)["state"] == "open"
    desk.client.post("threads", turn["thread"], "cancel")


def test_an_answer_that_comes_late_brings_back_nothing_old(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch late\n!text done", title="the old name")
    desk.clew.wait_for(turn["thread"], "gate.opened")
    name = Late(re.compile(f"/api/threads/{turn['thread']}$"))
    ann = sit_down(desk, listen=name.begin)
    ann.go(f"#/threads/{turn['thread']}")
    name.wait()
    desk.client.patch("threads", turn["thread"], body={"title": "the new name"})
    expect(ann.page.locator("h1")).to_have_text("the new name")
    arrive(ann.page, name)
    expect(ann.page.locator("h1")).to_have_text("the new name")
    asked = Late(re.compile("/api/gates$"))
    asked.begin(ann.page)
    ann.go("#/inbox")
    asked.wait()
    gate = ann.page.locator("clew-gate").filter(has_text="touch late")
    gate.get_by_role("button", name="Allow", exact=True).click()
    expect(gate).to_have_count(0)
    desk.clew.wait_ended(turn)
    arrive(ann.page, asked)
    expect(gate).to_have_count(0)


@pytest.mark.parametrize("view", ["#/threads/{thread}", "#/inbox"])
def test_a_request_that_came_while_the_network_was_off_is_shown_when_it_is_back(
    desk: Desk, sit_down: Sit, view: str
) -> None:
    """Events still come over the open stream, but what they announce cannot be fetched."""
    hold = f"offline in {view}"
    turn = desk.start(f"!text begun\n!hold {hold}\n!approve touch offline\n!text done")
    desk.model.wait_held(hold)
    ann = sit_down(desk, view.format(thread=turn["thread"]))
    ann.expected = ["net::ERR_"]
    ann.page.locator("clew-inbox, clew-running").wait_for()
    ann.page.context.set_offline(True)
    with ann.page.expect_event("requestfailed", lambda request: request.url.endswith("/api/gates")):
        desk.model.release(hold)
        desk.clew.wait_for(turn["thread"], "gate.opened")
    ann.page.context.set_offline(False)
    expect(ann.page.locator("clew-gate").filter(has_text="touch offline")).to_be_visible()
    desk.client.post("threads", turn["thread"], "cancel")
