"""Whether the settings that a folder brings along count: its hooks, servers and helpers are programs.

In a terminal Claude asks once whether a person trusts the folder. Without one it asks nothing, and would run the
programs of any repository. So they count only if a person has trusted the folder in Claude's own terminal, or if the
config of clew says so. What they deny or want to be asked about always counts: it only restricts. The instructions in
CLAUDE.md are only words, and always count.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from clew.runtimes.claude.program import folder_rules
from clew.runtimes.claude.program.folder_rules import FolderRules
from clew.runtimes.claude.record import transcript
from clew.runtimes.claude.settings import ClaudeConfig

_BROUGHT = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")
_INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md")


class _Project(Struct):
    trusted: bool = msgspec.field(name="hasTrustDialogAccepted", default=False)


class _State(Struct):
    projects: dict[str, _Project] = {}


def is_trusted(config: ClaudeConfig, folder: str) -> bool:
    """Whether a person has trusted the folder, or one that it is in."""
    if config.trust_projects:
        return True
    try:
        known = msgspec.json.decode(_state(config).read_bytes(), type=_State).projects
        path = Path(folder).resolve()
    except (OSError, msgspec.DecodeError):
        return False
    return any(str(each) in known and known[str(each)].trusted for each in (path, *path.parents))


def restrictions(config: ClaudeConfig, folder: str) -> FolderRules:
    """What settings that do not count forbid all the same."""
    return FolderRules() if is_trusted(config, folder) else folder_rules.read(folder)


def arguments(config: ClaudeConfig, folder: str) -> tuple[str, ...]:
    """What the command line says about it."""
    if is_trusted(config, folder):
        return ()
    found = _instructions(folder)
    return ("--setting-sources", "user", *(("--append-system-prompt-file", str(found)) if found else ()))


def leaves_out(config: ClaudeConfig, folder: str) -> bool:
    """Whether the folder brings settings along that do not count."""
    return any(Path(folder, name).exists() for name in _BROUGHT) and not is_trusted(config, folder)


def _state(config: ClaudeConfig) -> Path:
    """Where Claude keeps what its person has trusted: in its own folder, if it was given one."""
    has_own = bool(config.home or os.environ.get("CLAUDE_CONFIG_DIR"))
    return (transcript.folder(config) if has_own else Path.home()) / ".claude.json"


def _instructions(folder: str) -> Path | None:
    """A link that leads out of the folder is not followed."""
    root = Path(folder).resolve()
    found = (Path(folder, name).resolve() for name in _INSTRUCTIONS)
    return next((path for path in found if path.is_file() and path.is_relative_to(root)), None)
