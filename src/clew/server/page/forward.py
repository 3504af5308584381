"""A private file that redirects a browser to the login link. The link itself must not be a program argument: every user
of the machine can see arguments (`ps`), and the link logs in whoever opens it first."""

from __future__ import annotations

import os
from pathlib import Path

from clew.support.home import Home

_REDIRECT = (
    '<!doctype html><meta charset="utf-8"><title>clew</title><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={url}"><p><a href="{url}">clew</a>'
)


def write(home: Home, url: str) -> Path:
    """Write the file; replaces an earlier one."""
    from html import escape  # imports all names of characters in HTML

    path = _path(home)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(_REDIRECT.format(url=escape(url)))
    return path


def remove(home: Home, code: str = "") -> None:
    """Delete the file: its link was used or is invalid. With `code`, only if it contains that code."""
    path = _path(home)
    try:
        if code in path.read_text(encoding="utf-8"):
            path.unlink()
    except FileNotFoundError:
        return


def _path(home: Home) -> Path:
    return home.run / "web.html"
