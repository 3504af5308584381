"""The settings of one ACP agent: `[runtimes.acp.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from clew.config.rules import Between, OneOf, Place, Seconds, Secret, Timeout, Variable


class Program(StrEnum):
    """Which threads share one process of an agent."""

    SHARED = "shared"  # all threads
    FOLDER = "folder"  # those that work in the same folder
    THREAD = "thread"  # none


@dataclass(frozen=True, slots=True)
class AcpConfig:
    """An agent that speaks the Agent Client Protocol. The name of the table is the name of the runtime."""

    # The program and its arguments, as in `["goose", "acp"]`. Required, except for the agents that clew knows.
    command: tuple[str, ...] = ()
    # Environment variables for the program, as in `{ HERMES_HOME = "/srv/hermes" }`.
    env: Mapping[Variable, Secret] = field(default_factory=lambda: MappingProxyType({}))
    # Which threads share one process: "shared" (all), "folder" (those in the same folder), "thread" (none). Without it,
    # what is right for the agent: "folder" for those that clew does not know.
    program: Annotated[str, OneOf(tuple(Program))] | None = None
    # Where the program is started. Without it: the thread's folder, or an empty one for a shared process.
    folder: Place | None = None
    # Whether clew runs commands for the agent if it asks for that. Without it: yes, unless it would then ask twice.
    terminals: bool | None = None
    auth: str | None = None  # The agent's name of a login method, if clew has to name one.
    mode: str | None = None  # One of the agent's own modes, for every thread.
    model: str | None = None  # One of the agent's own models, if the thread names none.
    start_timeout: Timeout = 60.0  # Seconds that the program may take to start.
    request_timeout: Timeout = 60.0  # Seconds for an answer to anything but a turn. After that the program is ended.
    interrupt_timeout: Timeout = 10.0  # Seconds that a stopped turn may take to end. After that the program is ended.
    # Seconds without a turn until the program is stopped. A turn starts it again. 0: never.
    idle_stop: Seconds = 1800.0
    # Bytes that it is told of what happened in a thread before it came. Not set: `turns.prelude`.
    prelude: Annotated[int, Between(1_000)] | None = None
