"""Finds the `claude` program, checks that it is new enough, and asks it whether it is logged in."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clew.process.scan import Marks
from clew.runtimes.claude import problems
from clew.runtimes.claude.program import arguments
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.process import spawn
from clew.support.clock import Clock
from clew.texts.catalogue import say

OLDEST = (2, 1, 326)  # clew is tested with it; what an older one does with `client_composed` is unknown


class Binary(Struct, frozen=True):
    path: str
    version: str


async def find(config: ClaudeConfig, clock: Clock, marks: Marks) -> Binary:
    """Return the program and its version. Raises ClaudeMissing, ClaudeTooOld or ClaudeExits."""
    path = locate(config)
    _, said = await _run([path, "--version"], config, clock, marks)
    match = re.search(r"(\d+)\.(\d+)\.(\d+)\S*", said)
    if match is None:
        raise problems.no_version(path, said)
    if (int(match[1]), int(match[2]), int(match[3])) < OLDEST:
        raise problems.too_old(path, match[0], ".".join(map(str, OLDEST)))
    return Binary(path, match[0])


async def is_logged_in(binary: Binary, config: ClaudeConfig, clock: Clock, marks: Marks) -> bool | None:
    """Whether Claude has a login or a key; None if it does not say. It asks nobody on the network for that."""
    _, said = await _run([binary.path, "auth", "status"], config, clock, marks)
    try:
        status = json.loads(said)
    except ValueError:
        return None
    found = status.get("loggedIn") if isinstance(status, dict) else None
    return found if isinstance(found, bool) else None


def locate(config: ClaudeConfig) -> str:
    """Return the path: from the config, otherwise from PATH."""
    if config.command is not None:
        wanted = Path(config.command).expanduser()
        if found := shutil.which(wanted):
            return str(found)
        _refuse_unusable(wanted)
        raise problems.missing(say("claude.command_is", command=str(config.command)))
    if found := shutil.which("claude"):
        return found
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        if (path := Path(folder) / "claude").is_file():
            _refuse_unusable(path)
    raise problems.missing(say("claude.nowhere"))


def _refuse_unusable(path: Path) -> None:
    if path.is_dir():
        raise problems.unusable(str(path), say("claude.is_folder"))
    if path.exists():
        raise problems.unusable(str(path), say("claude.not_executable", path=str(path)))


async def _run(argv: Sequence[str], config: ClaudeConfig, clock: Clock, marks: Marks) -> tuple[int, str]:
    lines: list[bytes] = []
    try:
        child = await spawn(argv, marks.next(), clock, lines.append, name="claude", env=arguments.environment(config))
    except OSError as error:
        raise problems.unusable(argv[0], say("claude.system_says", error=error.strerror or str(error))) from error
    try:
        await child.wait_exited(config.start_timeout)
        code = child.exit_code
    finally:
        await child.end()
    if code is None:
        raise problems.silent(argv[0], " ".join(argv[1:]), config.start_timeout)
    if code < 0:
        raise problems.exits(argv[0], child.exit_reason(), child.stderr_tail)
    said = b"\n".join(lines).decode(errors="replace").strip()
    return code, said or " ".join(child.stderr_tail)
