"""The settings of one ACP agent: `[runtimes.acp.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from clew.config.rules import Place, Seconds, Secret, Timeout, Variable


@dataclass(frozen=True, slots=True)
class AcpConfig:
    """An agent that speaks the Agent Client Protocol. The name of the table is the name of the runtime."""

    # The program and its arguments, as in `["goose", "acp"]`. Required, except for the agents that clew knows.
    command: tuple[str, ...] = ()
    # Environment variables for the program, as in `{ HERMES_HOME = "/srv/hermes" }`.
    env: Mapping[Variable, Secret] = field(default_factory=lambda: MappingProxyType({}))
    folder: Place | None = None  # Where the program is started. Each session gets the folder of its thread.
    auth: str | None = None  # The agent's name of a login method, if clew has to name one.
    mode: str | None = None  # One of the agent's own modes, for every thread.
    model: str | None = None  # One of the agent's own models, if the thread names none.
    start_timeout: Timeout = 60.0  # Seconds that the program may take to start.
    request_timeout: Timeout = 60.0  # Seconds for an answer to anything but a turn. After that the program is ended.
    interrupt_timeout: Timeout = 10.0  # Seconds that a stopped turn may take to end. After that the program is ended.
    # Seconds without a turn until the program is stopped. A turn starts it again. 0: never.
    idle_stop: Seconds = 1800.0
