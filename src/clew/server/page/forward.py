"""A file for its owner alone that leads a browser to the page. What a program is started with, everybody on the machine
can see (`ps`), and the link lets in whoever opens it first."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from clew.support.home import Home

_LEADS = (
    '<!doctype html><meta charset="utf-8"><title>clew</title><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={url}"><p><a href="{url}">clew</a>'
)


def write(home: Home, url: str) -> Path:
    """In place of the one before."""
    path = _path(home)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(_LEADS.format(url=escape(url)))
    return path


def remove(home: Home, code: str = "") -> None:
    """Its link was used, or counts no more. With `code`: only where it leads by that one."""
    path = _path(home)
    try:
        if code in path.read_text(encoding="utf-8"):
            path.unlink()
    except FileNotFoundError:
        return


def _path(home: Home) -> Path:
    return home.run / "web.html"
