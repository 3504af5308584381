"""A gate on the page hides nothing: what is invisible, or passes for another character, is shown as an escape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from clew.support.display import escape_hidden
from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit, open_desk

pytestmark = pytest.mark.process

# Cyrillic in place of Latin, no width, no break, no ink, a tag, and marks that turn the direction of text.
UNSEEN = "\u0441at a\u200bb rm\u00a0-rf \u2010x \u3164 t\U000e0041 r\u200f m\u061c \u202ex"
SHOWN = r"\u0441at a\u200bb rm\xa0-rf \u2010x \u3164 t\U000e0041 r\u200f m\u061c \u202ex"

PLACES = """box => [...box.firstChild.firstChild.data].map((_, at) => {
  const range = document.createRange();
  range.setStart(box.firstChild.firstChild, at);
  range.setEnd(box.firstChild.firstChild, at + 1);
  return range.getBoundingClientRect().x;
})"""  # of each letter, from the left


@pytest.fixture
def odd_desk(tmp_path: Path) -> Iterator[Desk]:
    """Its workspace has such a name."""
    with open_desk(tmp_path) as desk:
        odd = tmp_path / "\u0441ode\u200b"
        odd.mkdir()
        yield Desk(desk.clew, desk.model, odd)


def open_rule_form(ann: Person) -> None:
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    gate.get_by_role("button", name="More", exact=True).click()
    gate.locator("[data-act='rule']").click()


def nothing_hidden(element: Locator) -> bool:
    shown = element.inner_text()
    named = [each.get_attribute("aria-label") or "" for each in [element, *element.locator("[aria-label]").all()]]
    return all(text == escape_hidden(text) for text in (shown, *named))


def test_a_gate_on_the_page_hides_nothing(odd_desk: Desk, sit_down: Sit) -> None:
    for number, step in enumerate((f"!approve echo {UNSEEN}", f"!patch a{UNSEEN}.txt {UNSEEN}")):
        turn = odd_desk.start(f"{step}\n!text done", title=f"thread {number}")
        ann = sit_down(odd_desk, f"#/threads/{turn['thread']}")
        gate = ann.page.locator("clew-gate")
        expect(gate).to_contain_text(SHOWN)
        expect(gate).not_to_contain_text(r"\u0441ode\u200b")  # it is the workspace, which its thread names
        assert nothing_hidden(gate)
        open_rule_form(ann)
        assert escape_hidden(value := gate.locator(".rule-form input").input_value()) == value
        row = ann.page.locator(f'.rows a[href="#/threads/{turn["thread"]}"]').first
        expect(row).to_contain_text(r"\u0441at")


DIFFS = [
    ("--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n same\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y", "fFhgAsfFhga"),
    ("--- /dev/null\n+++ new\n+one\n+++ two\n--- old\n+++ /dev/null\n--- three\n-four", "fFaAfFGg"),
    ("--- a\n+++ a\n@@ -0,0 +1,6 @@\n+⏎×4\n+++ x\n+y\n--- b\n+++ b", "fFhaAafF"),
    ("diff --git a b\n--- a\n+++ a\n@@ -1 +0,0 @@\n--- x\n\\ No newline at end of file\n--- b\n+++ b", "ffFhGsfF"),
]  # with the first letter of what each line is


@pytest.mark.parametrize(("diff", "kinds"), DIFFS, ids=range(len(DIFFS)))
def test_a_changed_line_of_a_diff_is_not_coloured_as_a_file_name(
    desk: Desk, sit_down: Sit, diff: str, kinds: str
) -> None:
    ann = sit_down(desk)
    found = ann.page.evaluate(
        """async diff => {
          const { newDiff } = await import("/page/parts/thread/diff.js");
          return [...newDiff(diff).querySelectorAll("span")].map(line => line.className[0]).join("");
        }""",
        diff,
    )
    assert found == kinds.lower()


def test_a_command_with_a_very_long_line_says_how_long_it_is(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start(f"!approve make {'x' * 1495}\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-gate")).to_contain_text(re.compile(r"A line of 15\d\d characters:"))
    desk.client.post("threads", turn["thread"], "cancel")


@pytest.mark.parametrize(("command", "offered"), [("node -e 'console.log(2*3)'", ""), ("pytest -q", "pytest …")])
def test_the_form_of_a_rule_starts_with_what_is_offered_or_empty(
    desk: Desk, sit_down: Sit, command: str, offered: str
) -> None:
    """Never with the command: a `*` in it would mean anything."""
    turn = desk.start(f"!approve {command}\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    open_rule_form(ann)
    field = ann.page.locator(".rule-form input")
    expect(field).to_have_value(offered)
    expect(field).to_have_attribute("placeholder", "pytest *")
    desk.client.post("threads", turn["thread"], "cancel")


def test_a_question_about_a_command_shows_it_as_one(desk: Desk, sit_down: Sit) -> None:
    """As an ACP agent asks it that offers other choices than yes and no. This daemon's Codex does not, so the page gets
    another answer."""
    turn = desk.start("!ask Which? | Once | No\n!text done")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")

    def as_command(route: Route) -> None:
        gates = desk.client.get("gates")
        for gate in gates:
            gate["about"], gate["shown"]["title"] = "command", "git  push"
        route.fulfill(json=gates)

    ann.page.route("**/api/gates", as_command)
    ann.page.reload()
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate.locator(".gate-title code")).to_have_text("git  push")
    expect(gate.locator(".gate-kind")).to_have_text("wants to run")
    expect(gate.locator("[data-act='allow']")).to_have_count(0)
    gate.locator("[data-option='2']").click()
    expect(gate).to_have_count(0)
    (answered,) = desk.client.get("gates", thread=turn["thread"])
    assert answered["replies"] == [["No"]]
    ann.page.unroute_all(behavior="wait")


def test_an_option_is_shown_in_full_and_answered_as_it_is(odd_desk: Desk, sit_down: Sit) -> None:
    turn = odd_desk.start(f"!ask Which {UNSEEN}? | {UNSEEN} | other\n!text done")
    ann = sit_down(odd_desk, f"#/threads/{turn['thread']}")
    gate = ann.page.locator("clew-gate:not([aria-disabled])")
    expect(gate.locator("legend")).to_contain_text(SHOWN)
    expect(gate.locator("[data-option='1']")).to_contain_text(SHOWN)
    assert nothing_hidden(gate)
    gate.locator("[data-option='1']").click()
    expect(gate).to_have_count(0)
    (answered,) = odd_desk.client.get("gates", thread=turn["thread"])
    assert answered["replies"] == [[UNSEEN]]


def test_a_long_diff_that_is_fetched_whole_hides_nothing(odd_desk: Desk, sit_down: Sit) -> None:
    turn = odd_desk.start(f"!patch a.txt {'x' * 5000}{UNSEEN}{'y' * 5000}\n!text done")
    ann = sit_down(odd_desk, f"#/threads/{turn['thread']}")
    gate = ann.page.locator("clew-gate")
    expect(gate).to_contain_text(SHOWN[10:])
    assert nothing_hidden(gate)


def test_a_command_on_the_page_stands_in_the_order_in_which_it_runs(odd_desk: Desk, sit_down: Sit) -> None:
    turn = odd_desk.start("!approve cat א > ב\n!text done")
    ann = sit_down(odd_desk, f"#/threads/{turn['thread']}")
    title = ann.page.locator("clew-gate .gate-title")
    expect(title).to_contain_text(r"cat \u05d0 > \u05d1")
    title.evaluate("element => element.firstChild.replaceChildren('cat א > ב')")  # whatever a daemon gives
    places = title.evaluate(PLACES)
    assert places == sorted(places)


@pytest.mark.parametrize("step", ["!approve touch once", "!ask touch once | red | blue"])
def test_what_waits_for_an_answer_is_shown_once_on_its_card(desk: Desk, sit_down: Sit, step: str) -> None:
    turn = desk.start(f"{step}\n!text done", title="thread")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-gate")).to_contain_text("touch once")
    expect(ann.page.locator("main").get_by_text("touch once", exact=True)).to_have_count(1)


def test_what_begins_to_wait_while_the_page_looks_is_shown_once(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text begun\n!hold looks\n!approve touch seen-live\n!text done", title="thread")
    desk.model.wait_held("looks")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("clew-running")).to_contain_text("begun")
    desk.model.release("looks")
    expect(ann.page.locator("clew-gate")).to_contain_text("touch seen-live")
    expect(ann.page.locator("main").get_by_text("touch seen-live", exact=True)).to_have_count(1)
    desk.client.post("threads", turn["thread"], "cancel")


def test_a_question_stands_above_what_explains_its_options(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!ask Which way? | left | right\n!text done", title="thread")
    gate = sit_down(desk, f"#/threads/{turn['thread']}").page.locator("clew-gate")
    expect(gate).to_contain_text("Which way?")
    shown = gate.inner_text()
    assert shown.index("Which way?") < shown.index("left")


def test_the_page_names_a_thread_by_its_handle(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start("!text done", title="Fix the flaky retry")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    expect(ann.page.locator("main").get_by_text("fix-flaky-retry", exact=True)).to_be_visible()
    expect(ann.page.locator("[data-thread] .row-where").first).to_contain_text("fix-flaky-retry")
