"""Checks of the agents for `clew doctor`: started and logged in, but without a turn. `clew ping` runs one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.cli.doctor.finding import Finding
from clew.config.settings import CodexConfig, Config
from clew.process.scan import Marks
from clew.support.clock import SystemClock
from clew.support.errors import ClewError

if TYPE_CHECKING:
    from clew.runtimes.acp import AcpRuntime
    from clew.runtimes.codex import CodexRuntime


def agents(settings: Config) -> Iterator[Finding]:
    """Check Codex and the ACP agents."""
    from clew.runtimes import acp
    from clew.runtimes.codex import CodexRuntime

    clock = SystemClock()
    marks = Marks(f"doctor-{clock.token()[:12]}", "doctor")
    needed = configured(settings)
    yield _agent(CodexRuntime(settings.runtimes.codex, clock, marks), needed)
    for runtime in acp.make(settings.runtimes.acp, clock, marks).values():
        yield _agent(runtime, needed)


def configured(settings: Config) -> set[str]:
    """The runtimes that a setting or the default names."""
    hooks = (hook.runtime for hook in settings.surfaces.webhook.values() if hook.runtime)
    codex = ["codex"] if settings.runtimes.codex != CodexConfig() else []
    return {settings.threads.runtime, *settings.runtimes.acp, *hooks, *codex}


def _agent(runtime: CodexRuntime | AcpRuntime, needed: set[str]) -> Finding:
    try:
        found = asyncio.run(runtime.look())
    except ClewError as error:
        if runtime.name in needed:
            return Finding(runtime.name, False, error.message)
        if error.code.endswith("_missing"):
            return Finding(runtime.name, None, "available: not installed", error.message.partition(". ")[2])
        return Finding(runtime.name, None, error.message, "no setting uses it, so this may be intended")
    return Finding(runtime.name, True, f"{found.version}, {found.path}, starts and is logged in")
