"""A whole clew with the real Codex and the scripted model behind it, and people in front of real browsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from clew.scripted_model import write_codex_home
from tests.daemons import Clew
from tests.models import Model
from tests.web.browsers import Person, a_chromium, find_chromium

SIZE = {"width": 1280, "height": 800}


@dataclass(frozen=True, slots=True)
class Desk:
    clew: Clew
    model: Model

    def start(self, text: str, *options: str) -> Any:
        """A thread on the real Codex, begun at a terminal."""
        return self.clew.json("start", text, *options)

    def say(self, thread: str, text: str) -> Any:
        return self.clew.json("send", thread, text)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium: install one, or set CLEW_CHROMIUM to where it is")
    with a_chromium(path) as browser:
        yield browser


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One for all tests of a worker, each with threads of its own."""
    folder = tmp_path_factory.mktemp("web")
    with open_desk(folder) as made:
        yield made


@pytest.fixture
def own_desk(tmp_path: Path) -> Iterator[Desk]:
    """For a test that kills its daemon, or looks at all there is."""
    with open_desk(tmp_path) as made:
        yield made


class open_desk:
    def __init__(self, folder: Path, more: str = "") -> None:
        self._folder = folder
        self._more = more
        self._stack = ExitStack()

    def __enter__(self) -> Desk:
        model = self._stack.enter_context(Model())
        home = write_codex_home(self._folder / "codex", model.url)
        config = f'[runtimes.codex]\nhome = "{home}"\n[http]\nport = 0\n{self._more}'
        return Desk(self._stack.enter_context(Clew(self._folder / "home", config)), model)

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


@pytest.fixture
def sit_down(chromium: Browser) -> Iterator[Callable[..., Person]]:
    """Somebody comes to a browser of their own and follows the link of `clew web`. At the end nothing may have gone wrong."""
    people: list[Person] = []

    def sit(desk: Desk, where: str = "", **settings: Any) -> Person:
        context = chromium.new_context(**{"viewport": SIZE, "locale": "en-US", "color_scheme": "light", **settings})
        person = Person(context.new_page())
        people.append(person)
        person.page.goto(desk.clew.json("web")["url"])
        person.page.locator("main").wait_for()
        if where:
            person.go(where)
        return person

    yield sit
    for person in people:
        person.page.context.close()
    assert [trouble for person in people for trouble in person.unexpected] == []
