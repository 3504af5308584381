"""The rule that is offered with a yes: for a command that clew knows, and for a folder of files that no tool runs. It
never allows more than what the request showed. Whoever wants a wider rule writes it: `clew rules add`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from clew.engine.rules.offered import link_walk, matching
from clew.engine.rules.patterns import (
    ELLIPSIS,
    WILDCARD,
    allow_matches_paths,
    is_run_by_tools,
    is_source_or_text,
    relative_path,
)
from clew.engine.rules.shell import scripts
from clew.engine.rules.shell.lenient import always_asks
from clew.model.gates import Asked, GateKind
from clew.support.display import escape_hidden

_MAX_WORDS = 100  # of a command that a rule is offered for


def suggest_pattern(asked: Asked, workspace: str) -> str | None:
    """The pattern to offer for "allow … here"; None if there is none that is safe. A tool is never offered: its name
    does not say what it is given. Nor is what leaves a sandbox: inside of it the agent writes, unasked, what runs. Nor
    a deletion."""
    if asked.unjudged or asked.leaves_sandbox or asked.removes:
        return None
    if asked.kind is GateKind.COMMAND:
        return _suggest_for_command(asked, workspace)
    return _suggest_for_change(asked, workspace) if asked.kind is GateKind.CHANGE else None


def _suggest_for_command(asked: Asked, workspace: str) -> str | None:
    """Of `pytest -q | tail -5` only the first command needs a rule; a script of several such has none."""
    parts = scripts.parse_script(asked.title, asked.folder, workspace) or ()
    working = [part for part in parts if not part.only_filters()]
    if (
        len(working) != 1
        or working[0].reads_pipe
        or always_asks(working[0].words)
        or len(working[0].words) > _MAX_WORDS
    ):
        return None
    (part,) = working
    pattern = matching.offered_pattern(part.words, asked.folder, workspace)
    return pattern if pattern and matching.allows_in_script(pattern, part, workspace) else None


def _suggest_for_change(asked: Asked, workspace: str) -> str | None:
    found = [relative_path(path, workspace) for path in asked.paths]
    inside_ones = [path for path in found if path is not None and path != "."]
    if not inside_ones or len(inside_ones) != len(found):
        return None
    folder = os.path.commonpath([str(Path(path).parent) for path in inside_ones])
    offered = (
        f"{folder}/{ELLIPSIS}" if folder not in ("", ".") else inside_ones[0] if len(set(inside_ones)) == 1 else None
    )
    is_fine = offered and _is_offerable(offered, asked.paths, workspace)
    return offered if is_fine and link_walk.find_hard_link(asked.paths, workspace) is None else None


def _is_offerable(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    plain = pattern.removesuffix(f"/{ELLIPSIS}")
    is_fine = is_source_or_text(plain) if plain == pattern else not any(map(is_run_by_tools, plain.split("/")))
    return (
        is_fine
        and not WILDCARD.search(plain)
        and plain == escape_hidden(plain)
        and allow_matches_paths(pattern, paths, workspace)
    )
