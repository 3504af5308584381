"""Resolves symlinks in the files and the folder of a request, so that a person sees where they really are."""

from __future__ import annotations

import os
from pathlib import Path

from clew.engine.rules.patterns import real_path
from clew.model.gates import Asked
from clew.support.text import clean

UNKNOWN = "?"


def resolve_links(asked: Asked, workspace: str) -> tuple[tuple[str, str], ...]:
    """Each name that goes through a symlink, with its target."""
    names = dict.fromkeys((*asked.paths, *filter(None, (asked.folder,))))
    found = ((name, _link_target(name, workspace)) for name in names)
    return tuple((clean(name), clean(where)) for name, where in found if where is not None)


def _link_target(name: str, workspace: str) -> str | None:
    """The target of a name that goes through a symlink; None if it does not. A link above the workspace does not count:
    the person named the workspace that way."""
    top, path = Path(os.path.normpath(workspace)), Path(workspace, name)
    if "\0" in name:
        return None  # not a path at all
    named = Path(os.path.normpath(path))
    if named.is_relative_to(top):
        named = Path(real_path("", str(top)) or top) / named.relative_to(top)
    target = real_path(str(path), "/")
    return (target or UNKNOWN) if target != str(named) else None
