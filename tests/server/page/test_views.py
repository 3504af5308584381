"""Every view of the page, for every eye: light and dark, wide and narrow, English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.page.conftest import Desk, Sit, write

pytestmark = pytest.mark.process

VIEWS = {  # and what is in each of them once it stands
    "#/threads": "clew-thread-list [data-thread]",
    "#/new": "main form, main textarea",
    "#/threads/THREAD": ".thread-actions .plain",
    "#/inbox": "main clew-gate",
    "#/health": "main svg.plot, main .plot",
}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
TEXT = "# All done\n\nSee [the docs](https://docs.example) and `code`.\n\n> quoted\n\n| a | b |\n| - | - |\n| 1 | 2 |"


@pytest.fixture(scope="module")
def full(desk: Desk) -> Iterator[str]:
    """A thread with something of everything in it, while another one waits."""
    waiting = desk.start("!approve make test\n!text tested")
    acts = "!plan look | leap\n!shell echo hello\n!patch notes.txt new line"
    turn = desk.start(f"{acts}\n{write(TEXT)}", policy="trusted")
    desk.clew.wait_ended(turn)
    yield turn["thread"]
    desk.client.post("threads", waiting["thread"], "cancel")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", 360),
        pytest.param("dark", 1280, marks=pytest.mark.heavy),
        pytest.param("light", 360, marks=pytest.mark.heavy),
    ],
)
def test_every_view_can_be_read_by_everybody(desk: Desk, sit_down: Sit, full: str, scheme: str, width: int) -> None:
    """Contrast, names of all that can be pressed and more, as axe finds them; and nothing is wider than the window."""
    ann = sit_down(desk, color_scheme=scheme, viewport={"width": width, "height": 800})
    background = ann.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == (scheme == "dark"), background
    for view in VIEWS:
        ann.go(view.replace("THREAD", full))
        settle(ann.page, view)
        assert violations(ann.page) == [], f"{view} in {scheme} at {width}"
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_in_chinese_the_page_speaks_chinese(desk: Desk, sit_down: Sit, full: str) -> None:
    ann = sit_down(desk, locale="zh-CN")
    for view in VIEWS:
        ann.go(view.replace("THREAD", full))
        settle(ann.page, view)
        left = [words for words in ("Inbox", "Health", "Threads", "New", "Send") if ann.shows(words)]
        assert left == [], view
    assert ann.page.evaluate("document.documentElement.lang").startswith("zh")
    expect(ann.page.locator("nav")).to_contain_text(re.compile("[一-鿿]"))
    ann.page.set_viewport_size({"width": 360, "height": 800})
    ann.page.locator(".tools button").last.click()
    ann.find("combobox", "语言").select_option("en")
    expect(ann.page.locator("nav")).to_contain_text("Inbox")


def settle(page: Page, view: str) -> None:
    """Until the view stands and nothing in it is being fetched."""
    name = {"#/threads/THREAD": "thread"}.get(view, view.removeprefix("#/"))
    page.locator(f"body[data-view='{name}']").wait_for()
    page.locator(VIEWS[view]).first.wait_for()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)


def violations(page: Page) -> list[str]:
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    only = {"resultTypes": ["violations"], "runOnly": RULES}
    found: Any = page.evaluate("only => axe.run(only)", only)
    nodes = [(rule["id"], node) for rule in found["violations"] for node in rule["nodes"]]
    return [f"{name}: {node['html'][:200]} {node['failureSummary']}" for name, node in nodes]
