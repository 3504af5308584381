"""Looks at what a change of Codex would overwrite. Codex asks about a new file and about a move without saying whether
something is there already, and a yes replaces it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.runtimes import file_changes
from clew.runtimes.codex.wire import Change
from clew.runtimes.file_changes import Found
from clew.support.display.as_code import as_code
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

UNKNOWN = Found("unknown")


def targets(changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the paths that are new if Codex is right."""
    named = (each.path if each.kind.type == "add" else each.kind.moved_to for each in changes)
    return tuple(dict.fromkeys(path for path in named if path))


def look(paths: Sequence[str], workspace: str) -> dict[str, Found]:
    """Return what is at these paths. Slow for a large file. A file outside of the workspace is not read: a card must
    not show what nobody shared."""
    return {path: _look(path, workspace) for path in paths}


def doubt(changes: Sequence[Change], there: Mapping[str, Found]) -> tuple[str, ...]:
    """Say why only a person may allow it: something is replaced, or each diff is shown without the others."""
    replaced = [path for path in targets(changes) if there.get(path, Found()).mark]
    pairs = (dict.fromkeys((each.path, each.kind.moved_to)) for each in changes)
    touched = [os.path.normpath(path) for pair in pairs for path in pair if path]
    twice = [path for path in dict.fromkeys(touched) if touched.count(path) > 1]
    found = (("approvals.replaces", replaced), ("approvals.twice", twice))
    return tuple(say(code, paths=as_code(", ".join(paths), lines=False)) for code, paths in found if paths)


def _look(path: str, workspace: str) -> Found:
    try:
        root = Path(workspace).resolve()
        real = (root / path).resolve()
        return file_changes.look(real) if real.is_relative_to(root) else file_changes.look_outside(real)
    except (OSError, ValueError, RuntimeError) as error:
        log.info("cannot see what is at %r: %s", path, error)
        return UNKNOWN
