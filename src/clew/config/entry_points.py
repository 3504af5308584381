"""Finds the entry points of other packages. importlib.metadata does that, but takes longer to import than a daemon has
for its start, and few homes have a plugin. So a quick look at the metadata tells first whether there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA = ("dist-info", "egg-info")  # how the folders with the metadata of a package end


def of_group(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group."""
    declared = map(_declared, sys.path)
    if not any(text is None or group.encode() in text for text in declared):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache  # two groups are asked for, more than once
def _declared(entry: str) -> bytes | None:
    """All that the packages below an entry of `sys.path` declare. None: only importlib.metadata can tell."""
    try:
        with os.scandir(entry or ".") as found:
            packages = [each.path for each in found if each.name.lower().endswith(_METADATA)]
        return b"".join(map(_text, packages))
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def _text(package: str) -> bytes:
    try:
        return Path(package, "entry_points.txt").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
