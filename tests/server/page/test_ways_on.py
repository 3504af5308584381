"""No dead ends: wherever the page can do nothing more, it says what a person can do."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process


def test_logged_out_the_page_has_no_form(desk: Desk, chromium: Browser) -> None:
    ann = Person(chromium.new_context().new_page(), expected=["401"])
    ann.page.goto(desk.url)
    expect(ann.page.get_by_text("clew web")).to_be_visible()
    expect(ann.page.locator("form:visible, textarea:visible, input:visible, nav a:visible")).to_have_count(0)
    assert ann.unexpected == []
    ann.page.context.close()


def test_a_used_link_says_how_to_get_another(desk: Desk, chromium: Browser) -> None:
    link = desk.client.post("logins")["url"]
    first, second = (Person(chromium.new_context().new_page(), expected=["403"]) for _ in range(2))
    first.page.goto(link)
    first.page.locator("body[data-view]").wait_for()
    second.page.goto(link)
    expect(second.page.locator("code").first).to_have_text("clew web")
    expect(second.page.locator("meta[name=viewport]")).to_have_count(1)  # else a phone shows it tiny
    assert second.page.locator("main").evaluate("main => getComputedStyle(main).maxWidth") != "none"
    for person in (first, second):
        person.page.context.close()


def test_a_handoff_without_a_chat_says_how_to_connect_one(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.find("button", "Hand off").click()
    expect(ann.page.locator("dialog[open]")).to_contain_text("clew connect telegram")


def test_a_cancel_names_what_is_cancelled(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text done", title="the old parser")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.find("button", "More").last.click()
    ann.find("menuitem", re.compile("Cancel for good")).click()
    dialog = ann.page.locator("dialog[open]")
    expect(dialog).to_contain_text("the old parser")
    expect(dialog).to_contain_text("never runs again")
    dialog.get_by_role("button", name="Leave it as it is").click()
    assert desk.client.get("threads", turn["thread"])["status"] != "cancelled"


def test_a_finished_thread_offers_no_cancel(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text done", kind="task")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.find("button", "More").last.click()
    expect(ann.find("menuitem", re.compile("Fork"))).to_be_visible()
    expect(ann.find("menuitem", re.compile("Cancel for good"))).to_have_count(0)


def test_if_the_daemon_was_stopped_the_page_says_how_to_start_it(own_desk: Desk, sit_down: Sit) -> None:
    ann = sit_down(own_desk, "#/new")
    ann.expected = ["net::ERR_", "503"]
    with own_desk.away():
        expect(ann.page.locator(".link-banner")).to_contain_text("clew up")
    expect(ann.page.locator(".link-banner")).to_be_hidden()


def test_the_time_of_an_answer_leaves_out_the_wait_for_a_person(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch waited\n!text done")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    desk.client.post("gates", gate, "answer", body={"decision": "accept"})
    desk.clew.wait_ended(turn)
    view = desk.client.get("gates", gate)
    answer = desk.client.get("threads", turn["thread"], "transcript")[-1]
    assert answer["waited"] == view["answered_at"] - view["asked_at"]
    ann = sit_down(desk)
    longer = {**answer, "started_at": answer["at"] - 3_605_000, "waited": 3_600_000}
    ann.page.route(re.compile("/transcript"), lambda route: route.fulfill(json=[longer]))
    ann.go(f"#/threads/{turn['thread']}")
    expect(ann.page.locator(".entry footer")).to_contain_text("5.0 s")
