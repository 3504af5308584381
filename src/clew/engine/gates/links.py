"""Where the files and the folder of a request really are, if a link leads elsewhere than their names say. It looks, and
changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from clew.engine.rules.patterns import real_path
from clew.model.gates import Asked
from clew.support.text import clean

UNKNOWN = "?"


def followed(asked: Asked, workspace: str) -> tuple[tuple[str, str], ...]:
    """Each name that a link leads elsewhere, and where that is."""
    names = dict.fromkeys((*asked.paths, *filter(None, (asked.folder,))))
    found = ((name, _elsewhere(name, workspace)) for name in names)
    return tuple((clean(name), clean(where)) for name, where in found if where is not None)


def _elsewhere(name: str, workspace: str) -> str | None:
    """A link above the workspace does not count: its owner named the workspace so."""
    top, path = Path(os.path.normpath(workspace)), Path(workspace, name)
    said = Path(os.path.normpath(path))
    if said.is_relative_to(top):
        said = Path(real_path("", str(top)) or top) / said.relative_to(top)
    really = real_path(str(path), "/")
    if "\0" in name:
        return None  # not a path at all
    return (really or UNKNOWN) if really != str(said) else None
