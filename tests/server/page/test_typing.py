"""Whoever types on the page writes text: nothing is allowed, stopped or renamed by it, whatever has the focus."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process

SENTENCES = (
    "also please add a test",
    "do the same for x and t",
    "stop, that is wrong",
    "run make all, then 1 or 2",
    "for each file: rename it, archive the rest",
    "how about a",
    "the merge is done? just keep it",
    "Go on / and then 3 e",
    "ni hao, qing yong zhong wen",  # as an input method that is off sends it
    "A rule for git has to go in",
)
CHINESE = ("你好，请继续", "顺便把测试也改一下", "不要执行这个命令")
ENDED = ("idle", "completed")


def begin(desk: Desk, state: str) -> dict[str, Any]:
    """A thread in that state."""
    texts = {
        "idle": "!text before",
        "running": "!text begun\n!hold typing",
        "gate": "!approve touch typed.txt\n!text done",
        "question": "!ask Which? | first | second\n!text done",
        "suspended": "!shell echo begun\n!hold typing",
        "completed": "!text before",
    }
    kind = "task" if state == "completed" else "chat"
    turn: dict[str, Any] = desk.start(texts[state], kind=kind, title="as it was", policy="careful")
    if state in ENDED:
        desk.clew.wait_ended(turn)
    if state in ("running", "suspended"):
        desk.model.wait_held("typing")
    if state in ("gate", "question"):
        desk.clew.wait_for(turn["thread"], "gate.opened")
    if state == "suspended":
        with desk.away():
            desk.model.wait_left("typing")
            desk.model.release("typing")
        desk.clew.wait_for(turn["thread"], "thread.status")
    return turn


def facts(desk: Desk, turn: dict[str, Any]) -> object:
    thread = desk.client.get("threads", turn["thread"])
    gates = desk.client.get("gates", thread=turn["thread"])
    every = desk.client.get("threads")["threads"] + desk.client.get("threads", history="true")["threads"]
    return (
        [thread[name] for name in ("title", "status", "turn", "queued", "bound")],
        [(gate["state"], gate["decision"]) for gate in gates],
        sorted(each["id"] for each in every),
    )


def write(ann: Person, *sentences: str) -> None:
    """Quickly, however slow this machine is: for the page no time passes between two keys."""
    ann.page.clock.pause_at(ann.page.evaluate("Date.now() + 2000") / 1000)
    for sentence in sentences:
        ann.page.keyboard.type(sentence)
    ann.page.clock.run_for(400)  # in which the page would act on the last key
    ann.page.clock.resume()


def with_clock(page: Page) -> None:
    page.clock.install()


def compose(ann: Person, text: str) -> None:
    """As an input method does: letters that become characters when a key chooses them."""
    keys = ann.page.context.new_cdp_session(ann.page)
    for end in range(1, len(text) + 1):
        keys.send("Input.imeSetComposition", {"text": text[:end], "selectionStart": end, "selectionEnd": end})
    keys.send("Input.insertText", {"text": text})
    keys.detach()


def nothing_happened(ann: Person, where: str) -> None:
    assert ann.page.evaluate("location.hash") == where
    expect(ann.page.locator("dialog[open], input.title, clew-gate textarea, .rule-form")).to_have_count(0)


@pytest.mark.parametrize("state", ["idle", "running", "gate", "question", "suspended", "completed"])
def test_what_is_typed_in_a_thread_is_text(own_desk: Desk, sit_down: Sit, state: str) -> None:
    turn = begin(own_desk, state)
    where = f"#/threads/{turn['thread']}"
    ann = sit_down(own_desk, listen=with_clock)
    ann.go(where)
    ann.page.locator("clew-thread h1 button, clew-thread .gate").first.wait_for()
    message = ann.find("textbox", "Message")
    expect(message).to_be_focused()
    if state in ("gate", "question", "suspended"):
        expect(ann.page.locator(".gate:not([aria-disabled])")).to_have_count(1)
    before = facts(own_desk, turn)
    write(ann, *SENTENCES)
    for sentence in CHINESE:
        compose(ann, sentence)
    expect(message).to_have_value("".join(SENTENCES + CHINESE))
    nothing_happened(ann, where)
    for place in ("h1 button", ".scroll", ".gate", ".gate .gate-answers .main"):
        typed_at(ann, ann.page.locator(f"clew-thread {place}"), where)
    assert facts(own_desk, turn) == before
    own_desk.model.release("typing")


def typed_at(ann: Person, place: Locator, where: str) -> None:
    if place.count():
        place.first.focus()
        write(ann, *SENTENCES)
        nothing_happened(ann, where)
        expect(place.first).to_be_visible()


@pytest.mark.parametrize("where", ["#/threads", "#/new", "#/inbox", "#/health"])
def test_what_is_typed_in_another_view_does_nothing(own_desk: Desk, sit_down: Sit, where: str) -> None:
    turn = begin(own_desk, "gate")
    ann = sit_down(own_desk, where if where != "#/threads" else "#/health", listen=with_clock)
    ann.go(where)
    ann.page.locator(f"body[data-view={where.removeprefix('#/')}] main h1").wait_for()
    if where == "#/inbox":
        expect(ann.page.locator("clew-gate:not([aria-disabled])")).to_have_count(1)
    before = facts(own_desk, turn)
    write(ann, *SENTENCES)
    nothing_happened(ann, where)
    if where == "#/inbox":
        typed_at(ann, ann.page.locator("clew-gate"), where)
    assert facts(own_desk, turn) == before


def test_after_a_start_what_is_typed_goes_to_the_new_thread(desk: Desk, sit_down: Sit) -> None:
    ann = sit_down(desk, "#/new", listen=with_clock)
    ann.find("textbox", "What is to be done").fill("!approve touch unwanted.txt\n!text done")
    ann.press("Enter")
    expect(ann.page.locator("clew-gate:not([aria-disabled])")).to_contain_text("touch unwanted.txt")
    write(ann, "also please")
    expect(ann.find("textbox", "Message")).to_have_value("also please")
    nothing_happened(ann, ann.page.evaluate("location.hash"))
    expect(ann.page.locator("clew-gate")).to_have_count(1)
    desk.client.post("threads", ann.page.evaluate("location.hash").split("/")[-1], "cancel")


def test_a_key_answers_the_gate_that_has_the_focus(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!approve touch by-key.txt\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(gate := ann.page.locator("clew-gate:not([aria-disabled])")).to_have_count(1)
    ann.press("Escape", "k")
    expect(gate).to_be_focused()
    ann.press("a")
    desk.clew.wait_ended(turn)
    assert (desk.folder / "by-key.txt").exists()


def test_stop_needs_a_modifier(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold modifier", kind="chat")
    desk.model.wait_held("modifier")
    ann = sit_down(desk, f"#/threads/{turn['thread']}", listen=with_clock)
    expect(ann.find("button", "Stop", exact=True)).to_be_visible()
    ann.press("Escape")
    write(ann, "s")
    assert desk.client.get("threads", turn["thread"])["status"] == "running"
    ann.press("Alt+s")
    expect(ann.page.locator(".entry .tag")).to_have_text(re.compile("stopped"))
    desk.model.release("modifier")


def test_after_the_stop_button_what_is_typed_is_a_message(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold button", kind="chat")
    desk.model.wait_held("button")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.find("button", "Stop", exact=True).click()
    desk.clew.wait_ended(turn)
    expect(ann.find("textbox", "Message")).to_be_focused()
    desk.model.release("button")


def test_stop_works_in_the_message_field_unless_its_key_writes_a_letter(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold stopped-in-field", kind="chat")
    desk.model.wait_held("stopped-in-field")
    ann = sit_down(desk, f"#/threads/{turn['thread']}", listen=with_clock)
    expect(ann.find("button", "Stop", exact=True)).to_be_visible()
    message = ann.find("textbox", "Message")
    message.fill("nearly")
    message.dispatch_event("keydown", {"key": "ś", "code": "KeyS", "altKey": True, "bubbles": True})
    write(ann, " there")
    assert desk.client.get("threads", turn["thread"])["status"] == "running"
    ann.press("Alt+s")
    expect(ann.page.locator(".entry .tag")).to_have_text(re.compile("stopped"))
    expect(message).to_have_value("nearly there")
    desk.model.release("stopped-in-field")


IN_A_COMPOSITION = """(field, safari) => {
  const of = safari ? { keyCode: 229 } : { isComposing: true };
  for (const key of ["ArrowDown", "Enter", "Escape"])
    field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...of }));
}"""


def choose_with_keys(field: Locator, text: str) -> None:
    """The keys that choose a character of an input method belong to it, as each browser says so."""
    field.fill(text)
    field.focus()
    for safari in (False, True):
        field.evaluate(IN_A_COMPOSITION, safari)
    expect(field).to_be_focused()
    expect(field).to_have_value(text)


def test_the_enter_that_ends_a_composition_sends_nothing(own_desk: Desk, sit_down: Sit) -> None:
    turn = begin(own_desk, "gate")
    where = f"#/threads/{turn['thread']}"
    ann = sit_down(own_desk, where)
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate).to_have_count(1)
    before = facts(own_desk, turn)
    choose_with_keys(ann.find("textbox", "Message"), CHINESE[0])
    choose_with_keys(ann.find("searchbox", "Search threads"), CHINESE[1])
    gate.get_by_role("button", name="Decline", exact=True).click()
    choose_with_keys(gate.locator("textarea"), CHINESE[2])
    gate.get_by_role("button", name="More", exact=True).click()
    gate.locator("[data-act=rule]").click()
    choose_with_keys(gate.locator(".rule-form input"), CHINESE[2])
    ann.page.locator("h1 button").click()
    choose_with_keys(ann.page.locator("input.title"), CHINESE[0])
    ann.press("Escape")
    ann.go("#/new")
    choose_with_keys(ann.find("textbox", "What is to be done"), CHINESE[1])
    assert facts(own_desk, turn) == before


SEND_AT_ONCE = """() => new MutationObserver((_, observer) => {
  if (!document.querySelector("clew-gate")) return;
  observer.disconnect();
  const field = document.querySelector("clew-composer textarea");
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}).observe(document.body, { childList: true, subtree: true })"""


def test_what_was_typed_before_a_request_appeared_does_not_answer_it(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold before\n!approve touch unseen.txt\n!text done", policy="careful")
    desk.model.wait_held("before")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    field = ann.page.locator("clew-composer textarea")
    field.click()
    ann.page.keyboard.type("y")
    ann.page.evaluate(SEND_AT_ONCE)
    desk.model.release("before")
    expect(ann.page.locator("clew-gate")).to_be_visible()
    expect(ann.page.get_by_text("A request has just appeared")).to_be_visible()
    expect(field).to_have_value("y")
    [gate] = desk.client.get("gates", thread=turn["thread"])
    assert gate["state"] == "open"
    desk.client.post("gates", gate["id"], "answer", body={"decision": "decline"})
    desk.clew.wait_ended(turn)
