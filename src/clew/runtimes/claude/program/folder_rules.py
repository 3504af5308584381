"""What the settings of an untrusted folder forbid, or want to be asked about. They start programs, so Claude does not
get them; but their rules only restrict, so clew hands these over. A rule that allows something does not count."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

log = logging.getLogger(__name__)

_FILES = (".claude/settings.json", ".claude/settings.local.json")
_RULE = re.compile(r"([A-Za-z_][\w*.:-]*)(\((.+)\))?", re.DOTALL)
_WITH_PATHS = frozenset({"Edit", "Glob", "Grep", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Write"})
LARGEST = 1 << 20  # bytes of a file
MOST = 50_000  # characters of all rules: they have to fit into a command line
ANYTHING = "*"  # it asks about every tool, if its rules cannot be handed over


class FolderRules(Struct, frozen=True):
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def asked_tools(self) -> frozenset[str]:
        """The tools about which it always wants to be asked, whatever they are used for."""
        return frozenset(rule for rule in self.ask if "(" not in rule)


def read(folder: str) -> FolderRules:
    found = [_permissions(Path(folder), name) for name in _FILES]
    rules = FolderRules(*(_listed(folder, [each.get(kind) for each in found]) for kind in ("ask", "deny")))
    if sum(map(len, (*rules.ask, *rules.deny))) > MOST:
        log.warning("the permission rules of %s are too long for a command line; every tool is asked about", folder)
        return FolderRules(ask=(ANYTHING,))
    return rules


def _permissions(folder: Path, name: str) -> dict[str, Any]:
    """A link that leads out of the folder is not followed."""
    path = (folder / name).resolve()
    try:
        if not path.is_relative_to(folder.resolve()):
            return {}
        if path.stat().st_size > LARGEST:
            log.warning("%s is too large to read; every tool is asked about", path)
            return {"ask": [ANYTHING]}
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    found = settings.get("permissions") if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def _listed(folder: str, lists: list[object]) -> tuple[str, ...]:
    rules = [rule for each in lists if isinstance(each, list) for rule in each if isinstance(rule, str)]
    return tuple(dict.fromkeys(_absolute(folder, rule) for rule in rules if _is_rule(rule)))


def _is_rule(rule: str) -> bool:
    return rule == ANYTHING or _RULE.fullmatch(rule) is not None


def _absolute(folder: str, rule: str) -> str:
    """In the settings of a folder `/x` is in the folder, and `//x` is absolute."""
    match = _RULE.fullmatch(rule)
    tool, path = (match[1], match[3] or "") if match else ("", "")
    is_in_folder = tool in _WITH_PATHS and path.startswith("/") and not path.startswith("//")
    return f"{tool}(/{folder.rstrip('/')}{path})" if is_in_folder else rule
