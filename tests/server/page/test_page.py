"""The page, in a real browser, with the real daemon and the real Codex."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit, write

pytestmark = pytest.mark.process


def test_a_first_visit_without_the_link_says_what_to_do(desk: Desk, chromium: Browser) -> None:
    ann = Person(chromium.new_context().new_page(), expected=["401"])
    ann.page.goto(desk.url)
    expect(ann.page.get_by_text("clew web")).to_be_visible()
    assert ann.unexpected == []
    ann.page.context.close()


def test_a_first_visit_by_the_link_shows_what_there_is_and_asks_nobody_else(own_desk: Desk, sit_down: Sit) -> None:
    asked: list[str] = []
    ann = sit_down(own_desk, listen=lambda page: page.on("request", lambda request: asked.append(request.url)))
    expect(ann.find("link", "Threads")).to_be_visible()
    expect(ann.page.get_by_text("No thread yet")).to_be_visible()
    for view, words in (("Inbox", "nothing waits"), ("Health", "up")):
        ann.find("link", view).click()
        expect(ann.page.locator("main")).to_contain_text(re.compile(words, re.IGNORECASE))
    assert {url for url in asked if not url.startswith((own_desk.url, "data:", "blob:", "file:"))} == set()


def test_a_thread_is_begun_and_talked_in(desk: Desk, sit_down: Sit) -> None:
    ann = sit_down(desk, "#/new")
    ann.find("textbox", "What is to be done").fill('!write 0 "# Plan\\n\\n1. look\\n2. *leap*"')
    ann.find("button", "Start").click()
    answer = ann.page.locator(".answer clew-text")
    expect(answer.locator("li")).to_have_text(["look", "leap"])
    expect(answer.locator("em")).to_have_text("leap")
    ann.find("textbox", "Message").fill("!shell echo here-it-is\n!plan one | two\n!text second answer")
    ann.press("Enter")
    expect(answer.last).to_have_text("second answer")
    expect(ann.page.locator("[data-item]").first).to_contain_text("echo here-it-is")
    expect(ann.page.locator("article.entry")).to_have_count(4)
    assert ann.find("textbox", "Message").input_value() == ""


def test_an_approval_is_given_and_refused_by_keyboard_alone(own_desk: Desk, sit_down: Sit) -> None:
    first = own_desk.start("!approve touch first.txt\n!text done")
    ann = sit_down(own_desk)
    expect(ann.page).to_have_title(re.compile(r"^\(1\)"))
    ann.press("g", "i")
    ann.page.locator("body[data-view=inbox]").wait_for()
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate).to_contain_text("touch first.txt")
    ann.press("j")
    expect(gate).to_be_focused()
    ann.page.keyboard.down("a")
    own_desk.clew.wait_ended(first)
    expect(ann.page.locator("clew-gate")).to_have_count(0)
    second = own_desk.start("!approve touch second.txt\n!text done")
    expect(gate).to_contain_text("touch second.txt")
    gate.locator("header").click()
    expect(gate).to_be_focused()
    ann.page.keyboard.down("a")  # held down, it is no second yes
    ann.page.keyboard.up("a")
    ann.press("d")
    reason = ann.page.locator("clew-gate textarea")
    expect(reason).to_be_focused()
    third = own_desk.start("!approve touch third.txt\n!text done")
    expect(gate).to_have_count(2)
    ann.page.keyboard.type("not on a Monday")
    expect(reason).to_have_value("not on a Monday")
    ann.press("Enter")
    expect(gate).to_have_count(1)
    ann.find("button", "Decline and stop").click()
    for turn in (second, third):
        own_desk.clew.wait_ended(turn)
    assert [path.name for path in own_desk.folder.iterdir()] == ["first.txt"]
    ann.go(f"#/threads/{second['thread']}")
    expect(ann.page.locator(".activity-gate")).to_contain_text("not on a Monday")
    expect(ann.page).to_have_title(re.compile(r"^[^(]"))


def test_what_is_refused_is_in_the_field_again_wherever_one_is(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text before", kind="chat")
    desk.clew.wait_ended(turn)
    where, name = f"#/threads/{turn['thread']}", f"clew.draft.{turn['thread']}"
    ann = sit_down(desk, "#/inbox")
    ann.expected = ["net::ERR_", "422"]
    ann.page.locator("clew-inbox").wait_for()
    gone = {"text": "with a file", "files": [{"id": "gone", "name": "gone.txt", "size": 1}]}
    ann.page.evaluate("([name, text]) => localStorage.setItem(name, text)", [name, json.dumps(gone)])
    ann.go(where)
    message, alarm = ann.find("textbox", "Message"), ann.page.get_by_role("alert")
    expect(message).to_have_value("with a file")
    ann.page.context.set_offline(True)
    message.press("Enter")
    expect(message).to_have_value("")
    ann.go("#/inbox")
    ann.page.context.set_offline(False)
    expect(alarm).to_contain_text("files")
    ann.go(where)
    expect(message).to_have_value("with a file")
    alarm.get_by_role("button").click()
    message.press("Enter")
    expect(alarm).to_contain_text("files")
    expect(message).to_be_focused()
    other = Person(ann.page.context.new_page())
    other.page.goto(f"{desk.url}/{where}")
    message.press_sequentially("!")
    desk.client.patch("threads", turn["thread"], body={"title": "another name"})
    expect(other.page.locator("h1")).to_have_text("another name")
    expect(other.find("textbox", "Message")).to_have_value("with a file!")
    assert other.page.evaluate("name => JSON.parse(localStorage.getItem(name)).text", name) == "with a file!"
    assert other.unexpected == []


def test_after_a_reload_in_mid_stream_the_text_is_the_stored_one(desk: Desk, sit_down: Sit) -> None:
    begin, end = "# One\n\nfirst *part*, 世界 😀 and", "more\n\n- two\n- three"
    turn = desk.start(f"{write(begin)}\n!hold reload\n{write(end)}")
    desk.model.wait_held("reload")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    text = ann.page.locator("clew-running clew-text").last
    for _ in range(2):
        expect(text.locator("h1")).to_have_text("One")
        expect(text.locator("p")).to_have_text("first part, 世界 😀 and")
        ann.page.reload()
    desk.model.release("reload")
    stored = desk.clew.wait_ended(turn)["text"]
    assert stored == f"{begin}\n{end}"
    shown = ann.answer_of(turn["turn"])
    expect(shown.locator("li")).to_have_text(["two", "three"])
    live = shown.inner_html()
    ann.page.reload()
    expect(shown.locator("li")).to_have_count(2)
    rendered = desk.client.post("markdown", body={"texts": [stored]})["rendered"][0]["html"]
    assert shown.inner_html().strip() == live.strip() == rendered.strip()


def test_a_daemon_that_is_killed_comes_back_and_nothing_typed_is_lost(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text before\n!hold cut", kind="chat")
    desk.model.wait_held("cut")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.expected = ["net::ERR_", "503"]  # while it is away
    expect(ann.page.locator("clew-running clew-text")).to_have_text("before")
    ann.find("textbox", "Message").fill("!text after")
    with desk.away():
        expect(ann.page.locator(".link-banner")).to_be_visible()
        assert ann.find("textbox", "Message").input_value() == "!text after"
        expect(ann.page.locator("clew-working")).to_contain_text("The daemon does not answer")
        desk.model.wait_left("cut")
        desk.model.release("cut")
    expect(ann.page.locator(".link-banner")).to_be_hidden()
    expect(ann.page.locator(".answer clew-text")).to_have_text(["before", "before"])
    cut = ann.page.locator(f"[data-turn='{turn['turn']}'] .is-cut")
    expect(cut).to_contain_text("cut off")
    cut.get_by_role("button", name="goes on below").click()
    expect(ann.page.locator(".entry:focus .answer clew-text")).to_have_text("before")
    ann.find("textbox", "Message").press("Enter")
    expect(ann.page.locator(".answer clew-text").last).to_have_text("after")


def test_two_tabs_show_the_same(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch two-tabs\n!text agreed")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    other = Person(ann.page.context.new_page())
    other.page.goto(f"{desk.url}/#/threads/{turn['thread']}")
    for each in (ann, other):
        expect(each.page.locator("clew-gate")).to_contain_text("touch two-tabs")
    ann.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000 }")
    ann.go("#/inbox")
    ann.page.locator("clew-inbox").wait_for()
    ann.go(f"#/threads/{turn['thread']}")
    stands = re.compile(r"Waits for your answer, after (\d+ min )?\d+ s of work")
    expect(ann.page.locator("clew-working")).to_have_text(stands)
    other.find("button", "Allow", exact=True).click()
    for each in (ann, other):
        expect(each.answer_of(turn["turn"])).to_have_text("agreed")
        expect(each.page.locator("clew-gate button")).to_have_count(0)
    ann.find("textbox", "Message").fill("!text from the first tab")
    ann.press("Enter")
    expect(other.page.locator(".answer clew-text").last).to_have_text("from the first tab")
    assert other.unexpected == []


HOSTILE = (
    "<script>window.hurt = 1</script>\n\n<img src=x onerror='window.hurt = 2'>\n\n[click](javascript:window.hurt=3)\n\n"
    "![x](https://evil.example/x.png)\n\n<style>* { display: none }</style>\n\n`<b>code</b>`\n\n"
    "```html\n</code></pre><script>window.hurt = 4</script>\n```\n\n</div></article><h1 onclick=alert(1)>big</h1>"
)


def test_what_is_hostile_is_shown_as_text(desk: Desk, sit_down: Sit) -> None:
    evil = "<img src=x onerror='window.hurt=5'>"
    command = "touch '<svg onload=window.hurt=6>'"
    turn = desk.start(f"!approve {command}\n{write(HOSTILE)}", title=evil)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-gate")).to_contain_text("<svg onload=window.hurt=6>")
    expect(ann.page.locator("h1").first).to_have_text(evil)
    ann.go("#/inbox")
    expect(ann.page.locator("clew-gate").filter(has_text="hurt=6")).to_be_visible()
    ann.go(f"#/threads/{turn['thread']}")
    mine = ann.page.locator("clew-gate").filter(has_text="hurt=6")  # the inbox may still be there, with others
    mine.get_by_role("button", name="Allow", exact=True).click()
    shown = ann.answer_of(turn["turn"])
    for words in ("<script>window.hurt = 1</script>", "<img src=x onerror=", "<style>", "</div></article><h1 onclick"):
        expect(shown).to_contain_text(words)
    expect(shown.locator("script, style, img, svg, h1, [onclick], [onerror]")).to_have_count(0)
    expect(shown.locator("a")).to_have_count(1)
    expect(shown.locator("a")).to_have_attribute("href", "https://evil.example/x.png")
    assert ann.page.evaluate("window.hurt") is None
    expect(ann.page.locator(f"clew-thread-list [data-thread='{turn['thread']}']")).to_contain_text(evil)
