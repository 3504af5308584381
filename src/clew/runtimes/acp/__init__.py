"""Agents that speak the Agent Client Protocol: a runtime for each. See docs/how-to/runtimes/acp.md.

`agents` has the known agents and the settings, `runtime` is the runtime, `session` one session of an agent, `approvals`
what it asks, `client` what it may do through clew, `wire` the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clew.config.plugin import Plugin
from clew.config.rules import Name
from clew.runtimes.acp.agents.settings import AcpConfig

if TYPE_CHECKING:
    from clew.process.scan import Marks
    from clew.runtimes.acp.runtime import AcpRuntime
    from clew.support.clock import Clock


def make(config: Mapping[str, AcpConfig], clock: Clock, marks: Marks) -> dict[str, AcpRuntime]:
    from clew.runtimes.acp.agents.entries import entries
    from clew.runtimes.acp.runtime import AcpRuntime

    return {name: AcpRuntime(entry, own, clock, marks) for name, (entry, own) in entries(config).items()}


def names(config: Mapping[str, AcpConfig]) -> list[str]:
    from clew.runtimes.acp.agents.entries import entries

    return sorted(entries(config))


PLUGIN = Plugin(make=make, settings=Mapping[Name, AcpConfig], names=names, environment=("HERMES_HOME",))
