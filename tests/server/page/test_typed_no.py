"""A no with its reason that is typed into the message field: nothing is sent before it is clear what is meant."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

TYPED = {"n not on a Friday": "not on a Friday", "No, use make.": "use make.", "拒绝，太危险": "太危险"}
CHOICES = ["Decline with this reason", "Send as a message"]


def at_a_request(desk: Desk, sit_down: Sit) -> tuple[Person, dict[str, Any]]:
    turn: dict[str, Any] = desk.start("!approve touch typed-no\n!text done", policy="careful")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-gate:not([aria-disabled])")).to_have_count(1)
    return ann, turn


@pytest.mark.parametrize("typed", TYPED)
def test_a_typed_no_can_decline_with_its_reason(desk: Desk, sit_down: Sit, typed: str) -> None:
    ann, turn = at_a_request(desk, sit_down)
    message = ann.find("textbox", "Message")
    message.fill(typed)
    ann.press("Enter")
    which = ann.find("group", "A no, or a message?")
    expect(which).to_contain_text("touch typed-no")
    expect(message).to_have_value(typed)
    assert desk.client.get("turns", turn["turn"], "steers") == []
    which.get_by_role("button", name=CHOICES[0]).click()
    desk.clew.wait_ended(turn)
    (gate,) = desk.client.get("gates", thread=turn["thread"])
    assert (gate["decision"], gate["answer_reason"]) == ("decline", TYPED[typed])
    expect(message).to_have_value("")
    expect(which).to_have_count(0)


def test_a_typed_no_can_be_a_message_and_the_request_still_waits(desk: Desk, sit_down: Sit) -> None:
    ann, turn = at_a_request(desk, sit_down)
    message = ann.find("textbox", "Message")
    message.fill("no problem, take your time")
    ann.press("Enter")
    expect(ann.find("button", CHOICES[1])).to_be_visible()
    ann.page.keyboard.type("!")
    expect(ann.find("button", CHOICES[1])).to_have_count(0)
    ann.press("Enter", "Enter")
    expect(message).to_have_value("")
    expect(ann.page.locator(".status-line")).to_contain_text(["What it asks still waits for your answer."])
    (gate,) = desk.client.get("gates", thread=turn["thread"])
    assert gate["state"] == "open"
    desk.client.post("threads", turn["thread"], "cancel")


def test_what_is_asked_about_a_typed_no_goes_with_its_request(desk: Desk, sit_down: Sit) -> None:
    ann, turn = at_a_request(desk, sit_down)
    ann.find("textbox", "Message").fill("n never")
    ann.press("Enter")
    expect(ann.find("button", CHOICES[0])).to_be_visible()
    desk.client.post("threads", turn["thread"], "stop")
    desk.clew.wait_ended(turn)
    expect(ann.find("button", CHOICES[0])).to_have_count(0)
    expect(ann.find("textbox", "Message")).to_have_value("n never")
