"""Suggests the rule that is offered with a yes: for a known command, or for a folder of files that no tool runs. It
never allows more than the request showed. For a wider rule there is `clew rules add`."""

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
    """The pattern to offer for "allow … here"; None if no pattern is safe. Nothing is offered for a tool, whose name
    does not show its input; for a command outside the sandbox, which may run what the agent wrote inside without
    asking; and for a deletion."""
    if asked.unjudged or asked.leaves_sandbox or asked.removes:
        return None
    if asked.kind is GateKind.COMMAND:
        return _suggest_for_command(asked, workspace)
    return _suggest_for_change(asked, workspace) if asked.kind is GateKind.CHANGE else None


def _suggest_for_command(asked: Asked, workspace: str) -> str | None:
    """Suggest a pattern for a script with one command that needs a rule: `pytest -q | tail -5` has one."""
    script = scripts.parse_script(asked.title, asked.folder, workspace) or ()
    needing_rule = [command for command in script if not command.only_filters()]
    if len(needing_rule) != 1:
        return None
    (command,) = needing_rule
    if command.reads_pipe or always_asks(command.words) or len(command.words) > _MAX_WORDS:
        return None
    pattern = matching.offered_pattern(command.words, asked.folder, workspace)
    return pattern if pattern and matching.allows_in_script(pattern, command, workspace) else None


def _suggest_for_change(asked: Asked, workspace: str) -> str | None:
    found = [relative_path(path, workspace) for path in asked.paths]
    inside = [path for path in found if path is not None and path != "."]
    if not inside or len(inside) != len(found):
        return None
    folder = os.path.commonpath([str(Path(path).parent) for path in inside])
    one_file = inside[0] if len(set(inside)) == 1 else None
    pattern = f"{folder}/{ELLIPSIS}" if folder not in ("", ".") else one_file
    is_safe = pattern is not None and _is_safe_to_offer(pattern, asked.paths, workspace)
    return pattern if is_safe and link_walk.find_hard_link(asked.paths, workspace) is None else None


def _is_safe_to_offer(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    path = pattern.removesuffix(f"/{ELLIPSIS}")
    is_safe = is_source_or_text(path) if path == pattern else not any(map(is_run_by_tools, path.split("/")))
    is_literal = not WILDCARD.search(path) and path == escape_hidden(path)
    return is_safe and is_literal and allow_matches_paths(pattern, paths, workspace)
