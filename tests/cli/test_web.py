"""`clew web`, as a person uses it: one command, whatever was set up before, and whatever runs."""

from __future__ import annotations

import os
import socket
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import pytest

from clew.cli.web import PORTS
from tests.daemons import SCRIPTED, Clew


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


def status(url: str, path: str, shown: Mapping[str, str] = MappingProxyType({})) -> int:
    asked = HTTPConnection(urlsplit(url).netloc)
    try:
        asked.request("GET", path, headers=dict(shown))
        return asked.getresponse().status
    finally:
        asked.close()


def come_in(url: str) -> dict[str, str]:
    """What a link gives to show from then on: the cookie, and the key to it."""
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


def test_one_command_opens_the_page_and_cuts_no_turn_also_through_a_crash(home: Clew, tmp_path: Path) -> None:
    gate = home.gate("web")
    turn = home.json("start", "!hold web\n!text done")
    gate.wait()
    before = home.pid
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(opened)
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    home.env = {"BROWSER": str(browser)}
    process = home.begin("web")
    led = Path(urlsplit(opened.read_text().strip()).path)  # what all on the machine can see
    url = home.wait(process).out.strip()
    assert stat.filemode(led.stat().st_mode) == "-rw-------" and f"url={url}" in led.read_text()
    assert tomllib.loads(home.home.config.read_text())["http"]["port"] == urlsplit(url).port
    shown = come_in(url)
    assert not led.exists()
    assert (status(url, "/"), status(url, "/api/status"), status(url, "/api/status", shown)) == (200, 401, 200)
    assert home.pid == before and not home.json("status")["daemon"]["outdated"]
    gate.release()
    assert home.wait_ended(turn)["state"] == "completed"
    home.kill()
    home.up()
    assert status(url, "/api/status", shown) == 200


def test_where_a_port_is_taken_the_next_one_is_chosen_and_the_rest_of_the_config_stays(home: Clew) -> None:
    home.configure(f"# mine\n{SCRIPTED}# the end\n")
    with socket.socket() as other:
        with suppress(OSError):  # it is taken already
            other.bind(("127.0.0.1", PORTS[0]))
        login = home.json("web")
    assert set(login) == {"url", "expires_at", "opened"} and login["opened"] is False
    assert urlsplit(login["url"]).port in PORTS[1:]
    assert home.home.config.read_text().startswith(f"# mine\n{SCRIPTED}# the end\n")
