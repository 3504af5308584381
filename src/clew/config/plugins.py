"""Finds and loads runtimes and surfaces, clew's own and those of other packages, by their entry points.

Clew's own come from a table here instead of package metadata: that of an editable install is as old as its last
`pip install`, and a bare checkout has none. Plugins are imported only when needed, and one that fails to load is a
value that `clew doctor` shows, not a crash.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_type_hints

from clew.config import former_names

log = logging.getLogger(__name__)

RUNTIMES = "clew.runtimes"
SURFACES = "clew.surfaces"

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    RUNTIMES: {
        "acp": "clew.runtimes.acp:make",
        "codex": "clew.runtimes.codex:CodexRuntime",
        "scripted": "clew.testing.scripted_runtime:make",
    },
    SURFACES: {
        "feishu": "clew.surfaces.feishu:make",
        "local": "clew.surfaces.local:LocalSurface",
        "telegram": "clew.surfaces.telegram:make",
        "webhook": "clew.surfaces.webhook:WebhookSurface",
    },
}

Factory = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PluginTrouble:
    """A plugin that cannot be used, and why."""

    group: str
    name: str
    error: str

    def __str__(self) -> str:
        return f"{self.group} {self.name}: {self.error}"


def names(group: str) -> list[str]:
    """The names of all plugins of a group. Imports none of them."""
    return sorted(_find(group)[0])


def load(group: str, *wanted: str) -> tuple[dict[str, Factory], list[PluginTrouble]]:
    """Import the wanted plugins of a group, or all of them. Also returns why others cannot be loaded."""
    found, troubles = _find(group)
    factories: dict[str, Factory] = {}
    for name in wanted or sorted(found):
        loaded = _load(group, name, found)
        if isinstance(loaded, PluginTrouble):
            troubles.append(loaded)
        else:
            factories[name] = loaded
    return factories, [trouble for trouble in troubles if not wanted or trouble.name in wanted]


def settings_of(group: str, name: str) -> type[Any] | PluginTrouble | str:
    """The dataclass of a plugin's settings (the attribute `settings` of its factory), or why there is none."""
    factories, troubles = load(group, name)
    if name not in factories:
        return troubles[0]
    kind = getattr(factories[name], "settings", None)
    if kind is None:
        return "its package accepts no settings"
    try:
        if isinstance(kind, type) and is_dataclass(kind):
            get_type_hints(kind, include_extras=True)
            return kind
    except Exception as error:  # somebody else's annotations
        return PluginTrouble(group, name, f"its settings cannot be read: {type(error).__name__}: {error}")
    return PluginTrouble(group, name, "its settings are not a dataclass")


def _find(group: str) -> tuple[dict[str, EntryPoint], list[PluginTrouble]]:
    found = {name: EntryPoint(name, value, group) for name, value in BUILT_IN.get(group, {}).items()}
    troubles = []
    for entry in _foreign(group):
        if entry.name in found:
            error = f"the one of {_package(entry)} is not used: {_package(found[entry.name])} has one with that name"
            troubles.append(PluginTrouble(group, entry.name, error))
        else:
            found[entry.name] = entry
    return found, troubles


def _foreign(group: str) -> list[EntryPoint]:
    own = BUILT_IN.get(group, {})
    others = [entry for entry in entry_points(group=group) if own.get(entry.name) != entry.value]
    entries = [entry for entry in others if _package(entry) != "clew"]  # this reads the metadata of its package
    return sorted(entries, key=lambda entry: (entry.name, _package(entry)))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "clew"


def _load(group: str, name: str, found: Mapping[str, EntryPoint]) -> Factory | PluginTrouble:
    entry = found.get(name)
    if entry is None:
        return PluginTrouble(group, name, f"there is no such plugin; known: {', '.join(sorted(found)) or 'none'}")
    if _package(entry) != "clew":
        former_names.install()
    try:
        factory = entry.load()
    except (Exception, SystemExit) as error:  # its import runs somebody else's code
        log.warning("%s %s (%s) cannot be loaded", group, name, entry.value, exc_info=True)
        return PluginTrouble(group, name, f"{entry.value} of {_package(entry)}: {type(error).__name__}: {error}")
    if not callable(factory):
        return PluginTrouble(group, name, f"{entry.value} of {_package(entry)} is not a class or a function")
    return factory  # type: ignore[no-any-return]
