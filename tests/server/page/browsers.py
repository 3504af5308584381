"""A real Chromium, and a person who sits at it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import (
    APIResponse,
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Route,
    expect,
    sync_playwright,
)

from tests.helpers.daemons import TIMEOUT

T = TypeVar("T")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
QUIET = (  # nothing leaves this machine, and nothing waits for a screen
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


def find_chromium() -> str | None:
    named = [os.environ.get("CLEW_CHROMIUM"), *map(shutil.which, NAMES), ON_A_MAC]
    return next((path for path in named if path and Path(path).exists()), None)


class Seat:
    """A thread of its own: where Playwright is used a loop runs, in which nothing else could begin one."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    def do(self, work: Callable[..., T], **given: Any) -> T:
        return self._thread.submit(work, **given).result()

    @contextmanager
    def chromium(self, path: str) -> Iterator[Browser]:
        stack = ExitStack()
        yield self.do(lambda: stack.enter_context(a_chromium(path)))
        self.do(stack.close)
        self._thread.shutdown()


@contextmanager
def a_chromium(path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        expect.set_options(timeout=TIMEOUT * 1000)
        sandbox = [] if os.getuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


@dataclass
class Person:
    """A page, and all that went wrong in it."""

    page: Page
    troubles: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns of troubles that belong to the story

    def __post_init__(self) -> None:
        self.page.set_default_timeout(TIMEOUT * 1000)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("crash", lambda _: self.troubles.append("the page crashed"))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(f"{message.text} ({message.location.get('url', '')})")

    @property
    def unexpected(self) -> list[str]:
        return [each for each in self.troubles if not any(re.search(wanted, each) for wanted in self.expected)]

    def go(self, where: str) -> None:
        """To a place in the page, as by a link in it."""
        self.page.evaluate("where => { location.hash = where }", where)

    def find(self, role: Any, name: str | re.Pattern[str] | None = None, **more: Any) -> Locator:
        return self.page.get_by_role(role, name=name, **more)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.insert_text(text)

    def shows(self, words: str) -> bool:
        return self.page.get_by_text(words, exact=True).count() > 0

    def answer_of(self, turn: str) -> Locator:
        """The rendered answer of a turn that has ended."""
        return self.page.locator(f"[data-turn='{turn}'] .answer clew-text")


@dataclass
class Late:
    """Answers that the daemon has given and a page does not get yet."""

    url: re.Pattern[str]
    _held: list[tuple[Route, APIResponse]] = field(default_factory=list)
    _asked: int = 0  # of the daemon, and not answered yet
    _is_over: bool = False

    def begin(self, page: Page) -> None:
        self._page = page
        page.route(self.url, self._hold)

    def wait(self) -> None:
        """Until there is one; those that are asked for after it come at once."""
        while not self._held:
            self._page.wait_for_timeout(20)
        self._is_over = True

    def let_go(self) -> None:
        self._is_over = True
        for route, response in self._held:
            route.fulfill(response=response)
        while self._asked:
            self._page.wait_for_timeout(20)
        self._page.unroute(self.url, self._hold)

    def _hold(self, route: Route) -> None:
        if self._is_over:
            route.continue_()
        else:
            self._ask(route)

    def _ask(self, route: Route) -> None:
        self._asked += 1
        response = route.fetch(max_retries=3)
        if self._is_over:
            route.fulfill(response=response)
        else:
            self._held.append((route, response))
        self._asked -= 1
