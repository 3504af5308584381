"""What a thread on the page shows of a turn that was stopped or cut off: everything once, in its order."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process


def test_after_a_stop_each_text_stands_once_where_it_was_said(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text one\n!shell echo x\n!text two\n!shell echo y\n!text three\n!hold stopped", kind="chat")
    desk.model.wait_held("stopped")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-running clew-text")).to_have_text(["one", "two", "three"])
    ann.find("button", "Stop", exact=True).click()
    ended = ann.page.locator(f".entry.is-interrupted[data-turn='{turn['turn']}']")
    expect(ended.locator("clew-text")).to_have_text(["one", "two", "three"])
    ann.page.reload()
    expect(ended.locator("clew-text")).to_have_text(["one", "two", "three"])
    desk.model.release("stopped")


def test_after_a_restart_a_message_is_shown_once(own_desk: Desk, sit_down: Sit) -> None:
    turn = own_desk.start("!text before\n!hold again", kind="chat")
    own_desk.model.wait_held("again")
    with own_desk.away():
        own_desk.model.wait_left("again")
        own_desk.model.release("again")
    ann = sit_down(own_desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator(".is-cut")).to_contain_text("goes on below")
    expect(ann.page.locator(".answer clew-text").last).to_have_text("before")
    expect(ann.page.locator(".by-person .said")).to_have_text(["!text before\n!hold again"])
    transcript = own_desk.client.get("threads", turn["thread"], "transcript")
    assert [each["role"] for each in transcript] == ["person", "agent", "clew", "agent"]


@pytest.mark.parametrize(("locale", "said"), [("en-US", "answered by you"), ("zh-CN", "你")])
def test_the_answer_to_a_question_is_in_the_timeline(desk: Desk, sit_down: Sit, locale: str, said: str) -> None:
    turn = desk.start(f"!ask Which colour? | red | blue\n!hold {locale}\n!text done", kind="chat")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    ann = sit_down(desk, f"#/threads/{turn['thread']}", locale=locale)
    expect(ann.page.locator("clew-gate:not([aria-disabled])")).to_have_count(1)
    desk.client.post("gates", gate, "answer", body={"decision": "reply", "replies": [["blue"]]})
    running = ann.page.locator("clew-running .activity-gate")
    expect(running).to_contain_text("→ blue")
    desk.model.release(locale)
    desk.clew.wait_ended(turn)
    ended = ann.page.locator(f".entry[data-turn='{turn['turn']}']:not(clew-running) .activity-gate")
    expect(ended).to_contain_text("→ blue")
    expect(ended).to_contain_text(said)
    transcript = desk.client.get("threads", turn["thread"], "transcript")
    assert [each["replies"] for each in transcript[-1]["items"] if each["kind"] == "gate"] == [["blue"]]


def test_a_stopped_turn_says_who_stopped_it(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text done", kind="chat")
    desk.clew.wait_ended(turn)
    answer = desk.client.get("threads", turn["thread"], "transcript")[-1]
    stopped = {**answer, "state": "interrupted", "stopped_by": "ann"}
    ann = sit_down(desk)
    ann.page.route(re.compile("/transcript"), lambda route: route.fulfill(json=[stopped]))
    ann.go(f"#/threads/{turn['thread']}")
    expect(ann.page.locator(".entry .tag")).to_have_text("stopped by ann")


def test_a_command_that_was_declined_is_not_said_to_have_run(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch never-ran\n!text done", kind="chat")
    gate = desk.clew.wait_for(turn["thread"], "gate.opened").data["data"]["gate"]
    desk.client.post("gates", gate, "answer", body={"decision": "decline"})
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    command = ann.page.locator(".activity-command")
    expect(command).to_contain_text("declined")
    expect(command.locator(".activity-kind")).to_have_text("command")
