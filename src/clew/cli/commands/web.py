"""`clew web`: the page, in a browser. One command is enough: where clew has no port yet, it gets one."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

import click

from clew.cli.output import Out, json_option
from clew.support.errors import Refused
from clew.support.home import Home

PORTS = range(7621, 7641)  # the first free one of these


@click.command("web", short_help="Open the page in your browser.")
@click.option("--no-open", is_flag=True, help="Only print the link.")
@json_option
@click.pass_obj
def web_command(out: Out, no_open: bool) -> None:
    """Open the page in your browser, by a link that lets in whoever opens it first, within five minutes.

    The browser then stays in for 30 days; clew token rotate ends that for all. Where clew listens on no port yet it
    gets one of this machine alone (http.port), and what runs goes on. With --json nothing is opened.
    """
    home = Home.find()
    login = link(home, out.say)
    opened = not (no_open or out.as_json) and _open(home, login["url"])
    out.result({**login, "opened": opened}, login["url"])
    out.hint("it is open in your browser; if nothing is shown there, open this link" if opened else _elsewhere())


def link(home: Home, say: Callable[[str], None]) -> Any:
    """One for a browser, also where clew had no port yet."""
    from clew.client.sync import Client

    _give_port(home, say)
    return Client(home, say=say).post("logins")


def _give_port(home: Home, say: Callable[[str], None]) -> None:
    from clew.config import edit, settings

    http = settings.load(home.config).http
    if http.port is not None:
        return
    port = _free(http.host)
    text = home.config.read_text(encoding="utf-8") if home.config.exists() else ""
    changed = edit.assign(text, ("http", "port"), port)
    settings.parse(changed, str(home.config))
    home.prepare()
    edit.write(home.config, changed)
    say(f"clew listens at {http.host}:{port} from now on (http.port in {home.config})")


def _free(host: str) -> int:
    for port in PORTS:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, port))
                trial.listen()
                return port
            except OSError:
                continue
    raise Refused(
        f"the ports {PORTS[0]} to {PORTS[-1]} are all taken: `clew config set http.port PORT` chooses another"
    )


def _open(home: Home, url: str) -> bool:
    """Only where there is a screen: a browser of the terminal would take it over. By a file of ours, so that nobody
    else sees the link; it is gone once the browser is in."""
    if sys.platform != "darwin" and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False
    import webbrowser

    from clew.server.page import forward

    opened = webbrowser.open(forward.write(home, url).as_uri())
    if not opened:
        forward.remove(home)
    return opened


def _elsewhere() -> str:
    if os.environ.get("SSH_CONNECTION"):
        return (
            "open it in a browser on this machine; from yours by ssh -L PORT:127.0.0.1:PORT, with the port of the link"
        )
    return "open it in a browser on this machine"
