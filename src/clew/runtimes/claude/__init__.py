"""Claude Code, the person's own `claude` program. See docs/how-to/runtimes/claude.md.

`settings` has its settings, `runtime` is the runtime, `session` one session of Claude, `program` the process and how it
is spoken to, `approvals` what it asks, `wire` its frames, `record` its own record of what was said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.config.plugin import Login, Plugin
from clew.runtimes.claude.settings import ClaudeConfig

if TYPE_CHECKING:
    from clew.process.scan import Marks
    from clew.runtimes.claude.runtime import ClaudeRuntime
    from clew.support.clock import Clock


def make(config: ClaudeConfig, clock: Clock, marks: Marks) -> ClaudeRuntime:
    from clew.runtimes.claude.runtime import ClaudeRuntime

    return ClaudeRuntime(config, clock, marks)


def login(config: ClaudeConfig) -> Login:
    from clew.runtimes.claude.program import arguments, binary

    return Login((binary.locate(config), "auth", "login"), arguments.environment(config))


PLUGIN = Plugin(make=make, settings=ClaudeConfig, environment=("CLAUDE_CONFIG_DIR",), login=login)
