"""Finds the Codex program and checks that it is new enough."""

from __future__ import annotations

import importlib
import os
import re
import shutil
from pathlib import Path

from msgspec import Struct

from clew.process.scan import Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.texts.catalogue import say

OLDEST = (0, 163, 0)  # the first that can list turns; clew is tested with it
_UNRELEASED = (0, 0, 0)  # the version of a build from source


class Binary(Struct, frozen=True):
    path: str
    version: str


async def find(config: CodexConfig, clock: Clock, marks: Marks) -> Binary:
    """Return the program and its version. Raises CodexMissing, CodexTooOld or CodexExits."""
    path = locate(config)
    said = await _read_version(path, config.start_timeout, clock, marks)
    match = re.search(r"(\d+)\.(\d+)\.(\d+)\S*", said)
    if match is None:
        raise problems.no_version(path, said)
    version = int(match[1]), int(match[2]), int(match[3])
    if version < OLDEST and version != _UNRELEASED:
        raise problems.too_old(path, match[0], ".".join(map(str, OLDEST)))
    return Binary(path, match[0])


def locate(config: CodexConfig) -> str:
    """Return the path: from the config, otherwise from PATH, otherwise the bundled program."""
    if config.command is not None:
        wanted = Path(config.command).expanduser()
        if found := shutil.which(wanted):
            return str(found)
        _refuse_unusable(wanted)
        raise problems.missing(say("codex.command_is", command=str(config.command)))
    if found := shutil.which("codex") or _bundled():
        return found
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        if (path := Path(folder) / "codex").is_file():
            _refuse_unusable(path)
    raise problems.missing(say("codex.nowhere"))


def _refuse_unusable(path: Path) -> None:
    if path.is_dir():
        raise problems.unusable(str(path), say("codex.is_folder"))
    if path.exists():
        raise problems.unusable(str(path), say("codex.not_executable", path=str(path)))


def _bundled() -> str | None:
    try:
        return str(importlib.import_module("codex_cli_bin").bundled_codex_path())
    except (ImportError, FileNotFoundError):
        return None


async def _read_version(path: str, time_limit: float, clock: Clock, marks: Marks) -> str:
    lines: list[bytes] = []
    try:
        child = await spawn([path, "--version"], marks.next(), clock, lines.append, name="codex")
    except OSError as error:
        raise problems.unusable(path, say("codex.system_says", error=error.strerror or str(error))) from error
    try:
        await child.wait_exited(time_limit)
        hangs = child.exit_code is None
    finally:
        await child.end()
    if hangs:
        raise problems.no_answer(path, time_limit)
    if child.exit_code is not None and child.exit_code < 0:
        raise problems.exits(path, child.exit_reason(), child.stderr_tail)
    said = b" ".join(lines).decode(errors="replace").strip()
    return said if child.exit_code == 0 else " ".join(child.stderr_tail)
