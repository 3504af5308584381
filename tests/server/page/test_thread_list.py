"""The list of threads on the page."""

from __future__ import annotations

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
