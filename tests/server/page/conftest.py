"""A whole clew with the real Codex and the scripted model behind it, and people in front of real browsers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from clew.client.requests import new_message_id
from clew.server.page import forward
from clew.support.home import Home
from clew.testing.scripted_model import write_codex_home
from tests.helpers.daemons import Clew
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.models import Model
from tests.helpers.ports import held_port, number_of
from tests.server.page.browsers import Person, Seat, find_chromium

Sit = Callable[..., Person]

SIZE = {"width": 1280, "height": 800}


@dataclass(frozen=True, slots=True)
class Desk:
    clew: Clew
    model: Model
    folder: Path
    made: str = ""  # the thread that was there before the daemon

    @property
    def client(self) -> Client:
        return Client(self.clew.home)

    @property
    def url(self) -> str:
        return str(self.client.get("status")["daemon"]["http"])

    def start(self, text: str, **more: Any) -> Any:
        """A thread on the real Codex, begun elsewhere."""
        body = {"message_id": new_message_id(), "text": text, "workspace": str(self.folder), **more}
        return self.client.post("threads", body=body)

    @contextmanager
    def away(self) -> Iterator[None]:
        """While the daemon is dead and nobody brings it back."""
        self.clew.kill_for_good()
        yield
        self.clew.up()


@pytest.fixture(scope="session")
def seat() -> Seat:
    return Seat()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test with a browser runs where its browser does."""
    seat = pyfuncitem.funcargs.get("seat")
    if not isinstance(seat, Seat):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    seat.do(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture(scope="session")
def chromium(seat: Seat) -> Iterator[Browser]:
    """One per worker."""
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium: install one, or set CLEW_CHROMIUM to where it is")
    with seat.chromium(path) as browser:
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


@contextmanager
def open_desk(folder: Path, before: Callable[[Home], str] = lambda home: "", more: str = "") -> Iterator[Desk]:
    """`before` is done to its home before there is a daemon; `more` are further settings."""
    with Model() as model, held_port() as place:  # the same for the next daemon, so that a page finds it again
        home = write_codex_home(folder / "codex", model.url)
        config = f'[runtimes.codex]\nhome = "{home}"\n[http]\nport = {number_of(place)}\n{more}'
        with Clew(folder / "home", config) as clew:
            (work := folder / "work").mkdir()
            made = before(clew.home)
            clew.up()
            yield Desk(clew, model, work, made)


def write(text: str) -> str:
    """A script that says a text of several lines."""
    return f"!write 0 {json.dumps(text)}"


@pytest.fixture
def sit_down(seat: Seat, chromium: Browser) -> Iterator[Sit]:
    """Somebody comes to a browser of their own as `clew web` leads them. At the end nothing may have gone wrong."""
    people: list[Person] = []

    def sit(desk: Desk, where: str = "", listen: Callable[[Page], object] = bool, **settings: Any) -> Person:
        context = chromium.new_context(**{"viewport": SIZE, "locale": "en-US", "color_scheme": "light", **settings})
        person = Person(context.new_page())
        people.append(person)
        listen(person.page)
        person.page.goto(forward.write(desk.clew.home, desk.client.post("logins")["url"]).as_uri())
        person.page.locator("body[data-view]").wait_for()
        if where:
            person.go(where)
        return person

    yield sit
    for person in people:
        seat.do(person.page.context.close)
    assert [trouble for person in people for trouble in person.unexpected] == []
