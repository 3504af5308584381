"""The agents, as `clew doctor` finds them: the whole way to one that is logged in, but no turn. That is `clew ping`."""

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
    """Codex, and those by ACP."""
    from clew.runtimes import acp
    from clew.runtimes.codex import CodexRuntime

    clock = SystemClock()
    marks = Marks(f"doctor-{clock.token()[:12]}", "doctor")
    wanted = named(settings)
    yield _agent(CodexRuntime(settings.runtimes.codex, clock, marks), wanted)
    for runtime in acp.make(settings.runtimes.acp, clock, marks).values():
        yield _agent(runtime, wanted)


def named(settings: Config) -> set[str]:
    """The runtimes that a setting names, or the default."""
    hooks = (hook.runtime for hook in settings.surfaces.webhook.values() if hook.runtime)
    codex = ["codex"] if settings.runtimes.codex != CodexConfig() else []
    return {settings.threads.runtime, *settings.runtimes.acp, *hooks, *codex}


def _agent(runtime: CodexRuntime | AcpRuntime, wanted: set[str]) -> Finding:
    try:
        found = asyncio.run(runtime.look())
    except ClewError as error:
        if runtime.name in wanted:
            return Finding(runtime.name, False, error.message)
        if error.code.endswith("_missing"):
            return Finding(runtime.name, None, "available: not installed", error.message.partition(". ")[2])
        return Finding(runtime.name, None, error.message, "no setting names it, so this may be as you want it")
    return Finding(runtime.name, True, f"{found.version}, {found.path}, starts and is logged in")
