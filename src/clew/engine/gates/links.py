"""Where the files and the folder of a request really are, if a link leads elsewhere than their names say. It looks, and
changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from clew.model.gates import Asked
from clew.support.text import clean


def followed(asked: Asked, workspace: str) -> tuple[tuple[str, str], ...]:
    """Each name that a link leads elsewhere, and where that is."""
    names = dict.fromkeys((*asked.paths, *filter(None, (asked.folder,))))
    found = ((name, _elsewhere(name, workspace)) for name in names)
    return tuple((clean(name), clean(where)) for name, where in found if where is not None)


def _elsewhere(name: str, workspace: str) -> str | None:
    """A link above the workspace does not count: its owner named the workspace so."""
    top, path = Path(os.path.normpath(workspace)), Path(workspace, name)
    said = Path(os.path.normpath(path))
    try:
        if said.is_relative_to(top):
            said = Path(os.path.realpath(top)) / said.relative_to(top)
        really = os.path.realpath(path)
    except (OSError, ValueError):
        return None
    return really if really != str(said) else None
