"""Codex, through its `codex app-server`. See docs/how-to/runtimes/codex.md.

`settings` has its settings, `runtime` is the runtime, `session` one thread of Codex, `server` the program, `approvals`
what it asks, `wire` its protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.config.plugin import Login, Plugin
from clew.runtimes.codex.settings import CodexConfig

if TYPE_CHECKING:
    from clew.process.scan import Marks
    from clew.runtimes.codex.runtime import CodexRuntime
    from clew.support.clock import Clock
    from clew.support.home import Home


def make(
    config: CodexConfig, clock: Clock, marks: Marks, keeps: Home | None = None, name: str = "codex"
) -> CodexRuntime:
    from clew.runtimes.codex.runtime import CodexRuntime

    return CodexRuntime(config, clock, marks, keeps, name)


def login(config: CodexConfig) -> Login:
    from clew.runtimes.codex.server import binary
    from clew.runtimes.codex.server.connection import environment

    return Login((binary.locate(config), "login"), environment(config))


PLUGIN = Plugin(make=make, settings=CodexConfig, several=True, environment=("CODEX_HOME",), login=login)
