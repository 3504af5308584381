"""The pictures of README and docs: made by this test, of a real clew in a real browser.

`CLEW_IMAGES=docs/images ./check --all tests/server/page/test_images.py` makes them anew; else they are only tried.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from clew.support.home import Home
from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit, open_desk
from tests.server.page.scene import CHINESE_TALKS, set_up

pytestmark = pytest.mark.process

WAITING = {
    "!approve ./migrate --env staging": "Migrate staging",
    "!ask Which one first? | the web server | the worker": "Split the service",
}
LARGEST = 300_000  # bytes of a picture


@pytest.fixture
def lived_in() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="clew-") as folder, open_desk(Path(folder), before=set_up) as desk:
        yield desk


@pytest.fixture
def lived_in_chinese() -> Iterator[Desk]:
    def before(home: Home) -> str:
        return set_up(home, CHINESE_TALKS)

    with tempfile.TemporaryDirectory(prefix="clew-") as folder, open_desk(Path(folder), before) as desk:
        yield desk


@pytest.mark.heavy
def test_the_four_views_are_pictured(lived_in: Desk, sit_down: Sit, tmp_path: Path) -> None:
    folder = Path(os.environ.get("CLEW_IMAGES") or tmp_path)
    (work := Path(tempfile.gettempdir()) / "app").mkdir(exist_ok=True)  # nothing is done there: nobody says yes
    for text, title in WAITING.items():
        turn = lived_in.start(text, title=title, workspace=str(work))
        lived_in.clew.wait_for(turn["thread"], "gate.opened")
    views = {
        "threads": ("#/new", "What is to be done"),
        "thread": (f"#/threads/{lived_in.made}", "reached Telegram"),
        "inbox": ("#/inbox", "./migrate --env staging"),
        "health": ("#/health", "supervisor"),
    }
    ann = sit_down(lived_in)
    for name, (where, words) in views.items():
        take(ann, where, words, folder / f"page-{name}.png", 1180 if name == "health" else 860)


@pytest.mark.heavy
def test_a_thread_is_pictured_in_chinese(lived_in_chinese: Desk, sit_down: Sit, tmp_path: Path) -> None:
    """With the fonts of this machine, one of which has to have Chinese."""
    folder = Path(os.environ.get("CLEW_IMAGES") or tmp_path)
    ann = sit_down(lived_in_chinese, locale="zh-CN")
    take(ann, f"#/threads/{lived_in_chinese.made}", "送达 Telegram", folder / "page-thread.zh.png")


def take(ann: Person, where: str, words: str, path: Path, height: int = 860) -> None:
    ann.page.set_viewport_size({"width": 1180, "height": height})
    ann.go(where)
    expect(ann.page.locator("main")).to_contain_text(words)
    expect(ann.page.locator("main [aria-busy=true]")).to_have_count(0)
    picture = ann.page.screenshot(path=path, animations="disabled")
    assert len(picture) < LARGEST, path.name
