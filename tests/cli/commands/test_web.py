"""`clew web` with different settings and running turns."""

from __future__ import annotations

import os
import socket
import stat
import tomllib
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import pytest

from clew.cli.commands import web
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.ports import held_port, number_of

pytestmark = pytest.mark.process


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


@pytest.fixture
def place() -> Iterator[socket.socket]:
    """A port that only this test uses: `clew web` takes the first free one of a few."""
    with held_port() as place:
        yield place


def status(url: str, path: str, shown: Mapping[str, str] = MappingProxyType({})) -> int:
    asked = HTTPConnection(urlsplit(url).netloc)
    try:
        asked.request("GET", path, headers=dict(shown))
        return asked.getresponse().status
    finally:
        asked.close()


def log_in(url: str) -> dict[str, str]:
    """Log in with a link; returns the headers with the cookie and its key."""
    parts = urlsplit(url)
    asked = HTTPConnection(parts.netloc)
    try:
        asked.request("GET", f"{parts.path}?{parts.query}")
        given = asked.getresponse().headers
        return {
            "Cookie": str(given["Set-Cookie"]).partition(";")[0],
            "X-Clew-Key": str(given["Location"]).partition("#k=")[2],
        }
    finally:
        asked.close()


def test_web_opens_the_page_without_cutting_turns_even_after_a_crash(
    home: Clew, place: socket.socket, tmp_path: Path
) -> None:
    gate = home.gate("web")
    turn = home.json("start", "!hold web\n!text done")
    gate.wait()
    before = home.pid
    home.configure(f"{SCRIPTED}[http]\nport = {number_of(place)}\n")
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(opened)
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    home.env = {"BROWSER": str(browser)}
    process = home.begin("web")
    led = Path(urlsplit(opened.read_text().strip()).path)  # visible to every user of the machine
    url = home.wait(process).out.strip()
    assert stat.filemode(led.stat().st_mode) == "-rw-------" and f"url={url}" in led.read_text()
    assert urlsplit(url).port == number_of(place)
    shown = log_in(url)
    assert not led.exists()
    assert (status(url, "/"), status(url, "/api/status"), status(url, "/api/status", shown)) == (200, 401, 200)
    assert home.pid == before and not home.json("status")["daemon"]["outdated"]
    gate.release()
    assert home.wait_ended(turn)["state"] == "completed"
    home.kill()
    home.up()
    assert status(url, "/api/status", shown) == 200


def test_web_takes_the_next_free_port_and_keeps_the_rest_of_the_config(
    home: Clew, place: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure(f"# mine\n{SCRIPTED}# the end\n")
    home.up()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        monkeypatch.setattr(web, "PORTS", [number_of(other), number_of(place)])
        chosen = web.link(home.home, lambda line: None)
    login = home.json("web")
    assert set(login) == {"url", "expires_at", "opened"} and login["opened"] is False
    assert [urlsplit(each).port for each in (chosen.url, login["url"])] == [number_of(place)] * 2
    assert tomllib.loads(home.home.config.read_text())["http"]["port"] == number_of(place)
    assert home.home.config.read_text().startswith(f"# mine\n{SCRIPTED}# the end\n")
