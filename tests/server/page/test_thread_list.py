"""The list of threads on the page."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process


def test_a_search_looks_into_both_tabs_and_says_where_it_found_something(own_desk: Desk, sit_down: Sit) -> None:
    titles = {"chat": "the kraken wakes", "task": "the kraken is done"}
    for kind, title in titles.items():
        own_desk.clew.wait_ended(own_desk.start("!text before", kind=kind, title=title))
    ann = sit_down(own_desk)
    found = ann.page.locator(".rows .row-title")
    expect(found).to_have_text(["the kraken wakes"])
    ann.find("searchbox", "Search threads").fill("kraken")
    expect(found).to_have_text(["the kraken wakes", "the kraken is done"])
    expect(ann.page.locator(".list-notice")).to_have_text("1 active, 1 in history")
    ann.find("button", "History").click()
    expect(found).to_have_count(2)
    expect(ann.page.locator(".list-notice")).to_have_text("1 active, 1 in history")
    ann.find("searchbox", "Search threads").fill("nothing like it")
    expect(ann.page.locator(".list-notice")).to_have_text("Nothing found.")


def test_a_thread_moves_up_when_something_happens_in_it(own_desk: Desk, sit_down: Sit) -> None:
    started = [own_desk.start("!text before", kind="chat", title=title) for title in ("older", "newer")]
    for each in started:
        own_desk.clew.wait_ended(each)
    older = started[0]["thread"]
    own_desk.clew.wait_ended(own_desk.clew.json("send", started[1]["thread"], "!text again"))
    ann = sit_down(own_desk)
    titles = ann.page.locator(".rows li")
    expect(ann.page.locator(".rows li[aria-posinset='1'] .row-title")).to_have_text("newer")
    expect(titles).to_have_count(2)
    own_desk.clew.wait_ended(own_desk.clew.json("send", older, "!text again"))
    expect(ann.page.locator(".rows li[aria-posinset='1'] .row-title")).to_have_text("older")
    expect(titles).to_have_count(2)


@pytest.mark.parametrize("settings", [{}, {"locale": "zh-CN", "viewport": {"width": 375, "height": 667}}])
def test_idle_threads_are_marked_as_done_after_a_question_that_says_how_many(
    own_desk: Desk, sit_down: Sit, settings: dict[str, object]
) -> None:
    started = [own_desk.start("!text before", kind="chat", title=f"chat {n}") for n in range(3)]
    for each in started:
        own_desk.clew.wait_ended(each)
    earlier = 31 * 86_400_000
    with own_desk.away(), closing(sqlite3.connect(own_desk.clew.home.database)) as database, database:
        for each in started[:2]:
            database.execute("UPDATE threads SET active_at = active_at - ? WHERE id = ?", (earlier, each["thread"]))
    ann = sit_down(own_desk, **settings)
    rows = ann.page.locator(".rows .row-title")
    expect(rows).to_have_count(3)
    ann.page.locator(".list-filter summary").click()
    selects = [each.bounding_box() for each in ann.page.locator(".list-filter select").all()]
    assert all(box and box["width"] > 100 for box in selects)
    ann.page.locator(".list-filter button").click()
    dialog = ann.page.locator("dialog")
    yes = dialog.locator("button.main")
    expect(dialog.locator("li")).to_have_count(2)
    assert sorted(dialog.locator("li").all_text_contents()) == ["chat 0", "chat 1"]
    expect(yes).to_have_text("将 2 个标为完成" if settings else "Mark 2 as done")
    expect(dialog.locator(".dialog-foot button.plain")).to_be_focused()  # Enter alone does nothing
    dialog.get_by_role("combobox").select_option("90")
    expect(yes).to_be_disabled()
    dialog.get_by_role("combobox").select_option("30")
    yes.click()
    expect(rows).to_have_text(["chat 2"])
    expect(dialog).to_have_count(0)
    states = [own_desk.clew.json("show", each["thread"])["status"] for each in started]
    assert states == ["completed", "completed", "idle"]
