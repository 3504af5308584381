"""Finds the entry points of other packages. importlib.metadata does that, but takes longer to import than a daemon has
for its start, and few homes have a plugin. So a quick look at the metadata tells first whether there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA = ("dist-info", "egg-info")  # how the folders with the metadata of a package end


def of_group(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group."""
    if not any(_may_have(group, entry) for entry in sys.path):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _may_have(group: str, entry: str) -> bool:
    """Whether a package below an entry of `sys.path` may have one. An archive may."""
    try:
        with os.scandir(entry or ".") as found:
            packages = [each.path for each in found if each.name.lower().endswith(_METADATA)]
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(_names(Path(package, "entry_points.txt"), group) for package in packages)


def _names(file: Path, group: str) -> bool:
    try:
        return group.encode() in file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # importlib.metadata tells what is wrong
