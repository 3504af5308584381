"""The settings of Codex: `[runtimes.codex]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clew.config.rules import Between, OneOf, Place, Seconds, Timeout

Transport = Annotated[str, OneOf(("stdio", "socket"))]


@dataclass(frozen=True, slots=True)
class CodexConfig:
    """Codex. Your own Codex set-up is used as it is, and never written."""

    command: Place | None = None  # The Codex program. Not set: the one on PATH, else the one installed with clew.
    home: Place | None = None  # Codex's folder (`CODEX_HOME`). Not set: your own.
    model: str | None = None  # The model. Not set: Codex decides.
    effort: str | None = None  # How hard the model thinks. Not set: Codex decides.
    start_timeout: Timeout = 30.0  # Seconds that Codex may take to start.
    request_timeout: Timeout = 60.0  # Seconds that Codex may take to answer a request.
    interrupt_timeout: Timeout = 10.0  # Seconds that a stopped turn may take to end.
    idle_stop: Seconds = 1800.0  # Seconds without a turn until Codex is stopped. The next turn starts it again.
    # Bytes that it is told of what happened in a thread before it came. Not set: `turns.prelude`.
    prelude: Annotated[int, Between(1_000)] | None = None
    # `"stdio"`: Codex is a child of the daemon and ends with it. `"socket"`: Codex is a process of its own and works on
    # while no daemon runs.
    transport: Transport = "stdio"
    # With `socket`: seconds without a daemon and without work until Codex ends.
    keep_alive: Annotated[float, Between(1)] = 1800.0
