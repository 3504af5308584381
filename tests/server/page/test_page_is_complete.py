"""Somebody who has only the page can do with a thread all that there is to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from clew.cli.demo.phone import OWNER
from clew.cli.demo.stage import Helper
from tests.server.page.browsers import Late, Person
from tests.server.page.conftest import Desk, Sit, open_desk
from tests.server.page.test_views import violations

pytestmark = pytest.mark.process


def choose(ann: Person, words: str) -> None:
    ann.find("button", "More").click()
    ann.find("menuitem", words).click()


FOCUS_AND_MARK = """() => {
  const button = document.querySelector("clew-pending button");
  if (button) (button.focus(), button.setAttribute("data-old", ""));
  return Boolean(button);
}"""


def test_a_turn_is_queued_behind_taken_back_and_stopped(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold stop-me", kind="chat")
    desk.model.wait_held("stop-me")
    late = Late(re.compile(r"/api/threads(\?|/\w+$)"))
    ann = sit_down(desk, f"#/threads/{turn['thread']}", listen=late.begin)
    message = ann.find("textbox", "Message")
    message.fill("!text never")
    message.press("Alt+Enter")  # before the page knows that a turn runs
    expect(ann.page.get_by_role("article", name="Queued")).to_have_count(1)
    late.let_go()
    back = ann.find("button", "Take back")
    ann.page.wait_for_function(FOCUS_AND_MARK)
    desk.client.patch("threads", turn["thread"], body={"title": "drawn anew"})
    expect(ann.page.locator("[data-old]")).to_have_count(0)
    expect(back).to_be_focused()
    ann.press("Enter")
    expect(message).to_have_value("!text never")
    assert desk.client.get("threads", turn["thread"], "queue") == []
    message.fill("")
    ann.find("button", "Stop").click()
    assert desk.clew.wait_ended(turn)["state"] == "interrupted"
    expect(ann.page.locator("clew-running")).to_have_count(0)


def test_what_is_queued_is_shown_once_while_the_daemons_yes_is_on_its_way(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold a-while", kind="chat")
    desk.model.wait_held("a-while")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    late = Late(re.compile("/messages$"))
    late.begin(ann.page)
    ann.find("textbox", "Message").fill("!text next")
    ann.press("Alt+Enter")
    expect(ann.page.get_by_role("article", name="Queued")).to_have_count(1)
    expect(ann.page.locator("clew-pending article")).to_have_count(1)
    desk.model.release("a-while")
    expect(ann.page.locator(".answer clew-text").last).to_have_text("next")
    expect(ann.page.locator("clew-pending article")).to_have_count(0)
    expect(ann.page.locator(".said").filter(has_text="!text next")).to_have_count(1)
    late.wait()
    late.let_go()


def test_a_thread_is_renamed_forked_done_picked_up_with_a_file_and_cancelled(
    desk: Desk, sit_down: Sit, tmp_path: Path
) -> None:
    first = desk.start("!text one", kind="chat", title="the old name")
    desk.clew.wait_ended(first)
    second = desk.client.post("threads", first["thread"], "messages", body={"message_id": "m2", "text": "!text two"})
    desk.clew.wait_ended(second)
    ann = sit_down(desk, f"#/threads/{first['thread']}")
    ann.find("button", "the old name").click()
    ann.page.keyboard.insert_text("the new name")
    ann.press("Enter")
    expect(ann.page.locator(f"clew-thread-list [data-thread='{first['thread']}']")).to_contain_text("the new name")
    ann.page.locator(f"[data-turn='{first['turn']}']").get_by_role("button", name="Fork from here").click()
    expect(ann.page).not_to_have_url(re.compile(first["thread"]))
    expect(ann.page.locator("article.entry .answer clew-text")).to_have_text(["one"])
    choose(ann, "Mark as done")
    (tmp_path / "notes.txt").write_text("a note")
    ann.page.locator("input[type=file]").set_input_files(tmp_path / "notes.txt")
    expect(ann.page.locator("ul.files")).to_contain_text("notes.txt")
    ann.find("textbox", "Message").fill("!text again")
    ann.find("button", "Pick up again").click()
    expect(ann.page.locator(".answer clew-text").last).to_have_text("again")
    expect(ann.page.locator("article.entry").filter(has_text="notes.txt")).to_have_count(1)
    choose(ann, "What it asked")
    expect(ann.page.locator("dialog[open]")).to_contain_text("It has asked nothing yet")
    ann.press("Escape")
    choose(ann, "Details")
    known = ann.page.locator("dialog[open]")
    for words in ("codex", "kept in the thread", ":final"):
        expect(known).to_contain_text(words)
    assert violations(ann.page) == []
    ann.press("Escape")
    choose(ann, "Check its history")
    expect(ann.page.locator(".status-line[role=status]")).to_contain_text("sound")
    choose(ann, "Cancel for good")
    ann.find("button", "Cancel the thread").click()
    expect(ann.page.locator("main")).to_contain_text("A cancelled thread never runs again")


def test_a_rule_is_made_tried_removed_and_restored(desk: Desk, sit_down: Sit) -> None:
    ann = sit_down(desk, "#/inbox")
    ann.page.locator("summary", has_text="Rules").click()
    new = ann.find("form", "Make a rule")
    new.get_by_label("Does").select_option("deny")
    new.get_by_label("Pattern").fill("git push")
    new.get_by_label("Where").select_option("workspace")
    new.get_by_label("Which").fill(str(desk.folder))
    new.get_by_label("For").select_option("2 hours")
    new.get_by_role("button").click()
    row = ann.page.locator(".rules li").filter(has_text="git push")
    expect(row).to_contain_text(f"in {desk.folder.name}")
    trial = ann.find("form", "Try the rules")
    expect(trial.locator("label > span")).to_have_text(["What would become of", "Kind", "Folder"])
    trial.get_by_label("What would become of").fill("git push")
    trial.get_by_label("Kind").select_option("command")
    expect(trial.get_by_label("Folder")).not_to_have_value("")  # a folder of the threads, to begin with
    trial.get_by_label("Folder").fill(str(desk.folder))
    trial.get_by_role("button").click()
    expect(trial.locator("[role=status]")).to_contain_text("deny")
    row.get_by_role("button").click()
    expect(row).to_have_count(0)
    ann.find("button", "Undo").click()
    expect(row).to_contain_text("until")
    row.get_by_role("button").click()
    expect(row).to_have_count(0)


def test_threads_are_filtered_and_the_shortcuts_are_listed(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text one", kind="chat", title="to be filtered")
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    row = ann.page.locator(f"clew-thread-list [data-thread='{turn['thread']}']")
    ann.page.locator("summary", has_text="Filter").click()
    status = ann.page.get_by_label("Any status")
    status.select_option("suspended")
    expect(row).to_have_count(0)
    status.select_option("idle")
    expect(row).to_contain_text("to be filtered")
    ann.find("heading", "to be filtered").focus()
    ann.press("?")
    listed = ann.page.locator("dialog[open]")
    for words in ("Everywhere", "In this thread", "next entry", "previous entry", "allow"):
        expect(listed).to_contain_text(words)
    ann.press("Escape")
    ann.press("c")
    expect(ann.find("textbox", "Message")).to_be_focused()


@pytest.fixture
def with_a_phone(tmp_path: Path) -> Iterator[Desk]:
    phone = Helper("clew.cli.demo.phone")
    try:
        chat = f'[surfaces.telegram]\ntoken = "1:page-{phone.pid}"\nbase_url = "{phone.url}"\n'
        owner = f'allow = ["{OWNER["id"]}"]\nhome = "{OWNER["id"]}"\n'
        with open_desk(tmp_path, more=f"{chat}{owner}") as desk:
            yield desk
    finally:
        phone.end()


@pytest.mark.heavy
def test_a_thread_is_handed_to_a_phone_and_taken_back(with_a_phone: Desk, sit_down: Sit) -> None:
    turn = with_a_phone.start("!text hello", kind="chat")
    with_a_phone.clew.wait_ended(turn)
    ann = sit_down(with_a_phone, f"#/threads/{turn['thread']}")
    ann.find("button", "Hand off").click()
    ann.page.locator("dialog[open]").get_by_role("button", name=re.compile("Telegram")).first.click()
    expect(ann.page.locator("main")).to_contain_text("in Telegram")
    ann.find("button", "Take back").click()
    expect(ann.find("button", "Hand off")).to_be_visible()
