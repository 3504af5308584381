"""The agents that can be started: those that clew knows, and those of the config."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from clew.config import plugins
from clew.runtimes.acp.agents.known import KNOWN, Entry, of_program
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.support.errors import ConfigError
from clew.texts.catalogue import say


def entries(config: Mapping[str, AcpConfig]) -> dict[str, tuple[Entry, AcpConfig]]:
    """Return the known agents and those of the config. Raises ConfigError if one has no command."""
    found = {name: (entry, AcpConfig()) for name, entry in KNOWN.items()}
    for name, settings in config.items():
        if name in plugins.BUILT_IN[plugins.RUNTIMES]:
            raise ConfigError(say("acp.name_taken", name=name))
        if name not in KNOWN and not settings.command:
            known = ", ".join(KNOWN)
            raise ConfigError(say("acp.needs_command", name=name, known=known))
        found[name] = _entry(name, settings.command), settings
    return found


def _entry(name: str, command: tuple[str, ...]) -> Entry:
    """The entry of an agent of the config. What an agent is called there says nothing about which one it is."""
    if not command:
        return KNOWN[name]
    same = of_program(command)
    if same is None:
        return Entry(name, KNOWN[name].title if name in KNOWN else name, command)
    return replace(same, name=name, title=same.title if name in KNOWN else name, command=command)
