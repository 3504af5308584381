"""Infers the kind of a rule from its pattern: commands, changes of files, or tools. A pattern that may be of several
kinds is refused, because a deny of the wrong kind would protect nothing."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from clew.engine.rules.patterns import ELLIPSIS, WILDCARD, split_words
from clew.model.gates import Effect, RuleKind
from clew.support.display import escape_hidden
from clew.support.errors import BadInput
from clew.texts import gate_messages
from clew.texts.catalogue import say

_ORDER = (RuleKind.COMMAND, RuleKind.CHANGE, RuleKind.TOOL)
_NAMES = {
    RuleKind.COMMAND: say("rules.kind_command"),
    RuleKind.CHANGE: say("rules.kind_path"),
    RuleKind.TOOL: say("rules.kind_tool"),
}


def infer_kind(effect: Effect, pattern: str, folder: str) -> RuleKind:
    """The kind of a pattern. `folder`: the workspace that the rule is for, or empty. Raises BadInput if the pattern may
    be of several kinds."""
    if pattern != escape_hidden(pattern, lines=False):
        return RuleKind.COMMAND  # `validated_pattern` refuses it, whatever the kind
    found = _possible_kinds(pattern.strip(), folder)
    if len(found) == 1:
        return found[0]
    commands = [f"`clew rules add {effect} {shlex.quote(pattern)} --kind {kind}`" for kind in found]
    kinds = gate_messages.either([_NAMES[kind] for kind in found])
    raise BadInput(say("rules.which_kind", pattern=pattern, kinds=kinds, commands=gate_messages.either(commands)))


def _possible_kinds(pattern: str, folder: str) -> tuple[RuleKind, ...]:
    if pattern.endswith(f"/{ELLIPSIS}"):
        return (RuleKind.CHANGE,)
    if len(split_words(pattern)) > 1:
        return _command_or_path(pattern, folder, may_be_path=pattern.endswith("/**"))
    if pattern.startswith("mcp__"):
        return (RuleKind.TOOL,)
    return _possible_for_one_word(pattern, folder)


def _possible_for_one_word(word: str, folder: str) -> tuple[RuleKind, ...]:
    if word.endswith("/") or "**" in word:
        return (RuleKind.CHANGE,)
    if "/" in word:
        return (RuleKind.COMMAND, RuleKind.CHANGE)
    may_be_name = "." in word or WILDCARD.search(word) is not None
    return _ORDER if may_be_name and word.strip("*") else _command_or_path(word, folder)


def _command_or_path(pattern: str, folder: str, *, may_be_path: bool = False) -> tuple[RuleKind, ...]:
    """A command; perhaps also a path, if the workspace has a file or a folder of that name."""
    is_path = may_be_path or (bool(folder and pattern) and os.path.lexists(Path(folder, pattern)))
    return (RuleKind.COMMAND, RuleKind.CHANGE) if is_path else (RuleKind.COMMAND,)
