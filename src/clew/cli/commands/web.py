"""`clew web`: opens the page in a browser. If clew has no port yet, it sets one."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from clew.cli.language import phrase, sentence
from clew.cli.output import Out, json_option
from clew.support.errors import Refused
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.model.views import LoginView


PORTS = range(7621, 7641)  # the first free one is used


@click.command("web", short_help="Open the page in your browser.")
@click.option("--no-open", is_flag=True, help="Only print the link.")
@json_option
@click.pass_obj
def web_command(out: Out, no_open: bool) -> None:
    """Open the page in your browser, with a link that works once, within five minutes.

    The browser then stays logged in for 30 days; clew token rotate logs all browsers out. If clew has no port yet, it
    sets http.port, for this machine only, without a restart. With --json nothing is opened.
    """
    from msgspec.structs import asdict

    home = Home.find()
    login = link(home, out.say)
    opened = not (no_open or out.as_json) and _open(home, login.url)
    out.result({**asdict(login), "opened": opened}, login.url)
    out.hint(phrase("cli_setup.opened") if opened else _manual_hint())


def link(home: Home, say: Callable[[str], None]) -> LoginView:
    """Create a login link for a browser; sets a port if clew has none."""
    from clew.client import requests
    from clew.client.sync import Client

    _give_port(home, say)
    return Client(home, say=say).ask(requests.login())


def _give_port(home: Home, say: Callable[[str], None]) -> None:
    from clew.config import edit, settings

    http = settings.load(home.config).http
    if http.port is not None:
        return
    port = _free_port(http.host)
    text = home.config.read_text(encoding="utf-8") if home.config.exists() else ""
    changed = edit.assign(text, ("http", "port"), port)
    settings.parse(changed, str(home.config))
    home.prepare()
    edit.write(home.config, changed)
    say(phrase("cli_setup.listens", host=http.host, port=str(port), config=home.config))


def _free_port(host: str) -> int:
    for port in PORTS:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, port))
                trial.listen()
                return port
            except OSError:
                continue
    raise Refused(sentence("cli_setup.ports_in_use", first=PORTS[0], last=PORTS[-1]))


def _open(home: Home, url: str) -> bool:
    """Open the link, if there is a graphical screen: a text browser would take over the terminal. The browser gets a
    private file with the link, so that other users cannot see it; the file is deleted after the login."""
    if sys.platform != "darwin" and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False
    import webbrowser

    from clew.server.page import forward

    opened = webbrowser.open(forward.write(home, url).as_uri())
    if not opened:
        forward.remove(home)
    return opened


def _manual_hint() -> str:
    if os.environ.get("SSH_CONNECTION"):
        return phrase("cli_setup.open_by_ssh")
    return phrase("cli_setup.open_here")
