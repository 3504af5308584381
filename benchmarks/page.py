"""The web page in a real Chromium: receiving a text of 5,000 pieces, opening a thread of 2,000 turns, and scrolling a
list of 1,000 threads.

    python -m benchmarks.page
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.report import Line
from clew.client.requests import new_message_id
from clew.model import history
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import Thread, ThreadKind, ThreadStatus
from clew.model.turns import Origin, Turn, TurnState
from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.tables import nodes, threads, turns
from clew.support.clock import SystemClock
from clew.support.home import Home
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.server.page.browsers import a_chromium, find_chromium

PIECES, TURNS, THREADS = 5_000, 2_000, 1_000
OPENINGS = 5
ANSWER = "## Done\n\nIt is **done**, and `all` of it:\n\n- one\n- two\n\n```sh\nmake test\n```\n"


def measure() -> list[Line]:
    path = find_chromium()
    if path is None:
        print("there is no Chromium, so the page is not measured", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder, a_clew(Path(folder)) as (clew, long), a_chromium(path) as browser:
        return [*_writing(clew, browser), *_opening(clew, browser, long), *_scrolling(clew, browser)]


@contextmanager
def a_clew(folder: Path) -> Iterator[tuple[Clew, str]]:
    """Run a clew with 1,000 threads, the newest with 2,000 turns."""
    with Clew(folder / "home", f"{SCRIPTED}[http]\nport = 0\n") as clew:
        clew.home.prepare()
        long = asyncio.run(_fill(clew.home))
        clew.up()
        yield clew, long


async def _fill(home: Home) -> str:
    clock = SystemClock()
    store = open_store(home.database, clock)
    try:
        for number in range(THREADS - 1):
            await store.write(lambda tx, n=number: _talked(tx, clock, f"thread {n}", 1))  # type: ignore[misc]
        return await store.write(lambda tx: _talked(tx, clock, "the long one", TURNS))
    finally:
        await asyncio.to_thread(store.close)


def _talked(tx: Tx, clock: SystemClock, title: str, times: int) -> str:
    """Store a thread with so many turns, as the engine does."""
    now, name = clock.now(), clock.ulid()
    threads.insert(tx, Thread(name, ThreadKind.CHAT, ThreadStatus.IDLE, title, "scripted", "/", now))
    head = nodes.append(tx, name, None, history.Started(name, now, "chat", "scripted", "/"))
    for number in range(times):
        said, turn = PromptMessage(f"{name}-{number}", "ann", f"Please do number {number}."), clock.ulid()
        seq = threads.next_seq(tx, name)
        where = Conversation("cli")
        turns.insert(tx, Turn(turn, name, seq, TurnState.QUEUED, Origin.MESSAGE, (said,), where, now, "scripted"))
        turns.drop_queued(tx, turn, now)
        head = nodes.append(tx, name, head, history.Spoken(turn, now, said.id, "ann", said.text))
        deeds = (history.Deed("command", "make test", "passed\n" * 20, "completed", 0),)
        head = nodes.append(tx, name, head, history.Outcome(turn, now, "completed", "scripted", ANSWER, deeds))
    return name


def _come_in(clew: Clew, browser: Browser) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-US")
    page.goto(Client(clew.home).post("logins")["url"])
    page.locator("clew-thread-list [data-thread]").first.wait_for()
    return page


def _writing(clew: Clew, browser: Browser) -> list[Line]:
    client = Client(clew.home)
    turn = client.post("threads", body={"message_id": new_message_id(), "text": "!text ready"})
    page = _come_in(clew, browser)
    page.evaluate("where => { location.hash = where }", f"#/threads/{turn['thread']}")
    page.locator(f"[data-turn='{turn['turn']}'] .answer").wait_for()
    page.evaluate(_RECORD)
    body = {"message_id": new_message_id(), "text": f"!slow {PIECES} 1"}
    asked = client.post("threads", turn["thread"], "messages", body=body)
    page.locator(f"[data-turn='{asked['turn']}'] .answer").wait_for(timeout=120_000)
    gaps: list[float] = page.evaluate("() => window.gaps")
    words = page.locator(f"[data-turn='{asked['turn']}'] .answer clew-text").inner_text()
    assert len(words.split()) == PIECES, len(words.split())
    page.close()
    return [
        Line(f"{PIECES} pieces of text in the page, the longest frame", max(gaps), "ms", at_most=200),
        Line(f"{PIECES} pieces of text in the page, a frame, median", statistics.median(gaps), "ms"),
    ]


def _opening(clew: Clew, browser: Browser, long: str) -> list[Line]:
    page = _come_in(clew, browser)
    times: list[float] = []
    for _ in range(OPENINGS):
        page.evaluate("() => { location.hash = '#/health' }")
        page.locator("body[data-view=health]").wait_for()
        times.append(page.evaluate(_OPEN, long))
    page.close()
    return [Line(f"a thread of {TURNS} turns opens", statistics.median(times), "ms", at_most=1_000)]


def _scrolling(clew: Clew, browser: Browser) -> list[Line]:
    page = _come_in(clew, browser)
    gaps: list[float] = page.evaluate(_SCROLL, THREADS)
    slow = statistics.quantiles(gaps, n=20)[18]
    page.close()
    return [
        Line(f"{THREADS} threads scrolled, a frame, slowest in twenty", slow, "ms", at_most=34),
        Line(f"{THREADS} threads scrolled, the longest frame", max(gaps), "ms", at_most=200),
    ]


_RECORD = """() => {
    window.gaps = [];
    let last = performance.now();
    const tick = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
}"""

# Until the newest answer is in the page as Markdown and painted.
_OPEN = """async (thread) => {
    const frame = () => new Promise(requestAnimationFrame);
    const began = performance.now();
    location.hash = `#/threads/${thread}`;
    while (!document.querySelector("main .answer clew-text h2")) await frame();
    await frame();
    return performance.now() - began;
}"""

# A screen every few frames, to the last row: the list is fetched page by page.
_SCROLL = """async (count) => {
    const list = document.querySelector(".list-scroll");
    const gaps = [];
    let last = await new Promise(requestAnimationFrame);
    const until = performance.now() + 60000;
    while (!document.querySelector(`[aria-posinset="${count}"]`) && performance.now() < until) {
        list.scrollTop += 120;
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
    }
    if (performance.now() >= until) throw new Error("the end of the list was not reached");
    return gaps;
}"""


if __name__ == "__main__":
    for line in measure():
        print(line)
