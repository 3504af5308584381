"""The settings of Claude Code: `[runtimes.claude]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clew.config.rules import Between, Place, Seconds, Timeout


@dataclass(frozen=True, slots=True)
class ClaudeConfig:
    """Claude Code. Your own set-up of it is used as it is, and never written."""

    command: Place | None = None  # The `claude` program. Not set: the one on PATH.
    home: Place | None = None  # Claude's folder (`CLAUDE_CONFIG_DIR`). Not set: your own.
    model: str | None = None  # The model. Not set: Claude decides.
    effort: str | None = None  # How hard the model thinks. Not set: Claude decides.
    start_timeout: Timeout = 60.0  # Seconds that Claude may take to start.
    request_timeout: Timeout = 60.0  # Seconds that Claude may take to answer a request.
    interrupt_timeout: Timeout = 10.0  # Seconds that a stopped turn may take to end.
    # Seconds without a turn until the process of a thread is ended (about 180 MB each). The next turn starts it again.
    idle_stop: Seconds = 600.0
    # Whether settings, hooks and MCP servers of every workspace count. If not, only those of folders that you have
    # trusted in Claude's own terminal do.
    trust_projects: bool = False
    # Bytes that it is told of what happened in a thread before it came. Not set: `turns.prelude`.
    prelude: Annotated[int, Between(1_000)] | None = None
