"""Finds and loads runtimes and surfaces, clew's own and those of other packages, by their entry points.

Clew's own come from a table here instead of package metadata: that of an editable install is as old as its last
`pip install`, and a bare checkout has none. Plugins are imported only when needed, and one that fails to load is a
value that `clew doctor` shows, not a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from clew.config import entry_points
from clew.config.plugin import Connecting, Plugin
from clew.support.coded import bring, holes, worded
from clew.support.errors import BadInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

RUNTIMES = "clew.runtimes"
SURFACES = "clew.surfaces"

# The only list of clew's own plugins.
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    RUNTIMES: {
        "acp": "clew.runtimes.acp:PLUGIN",
        "claude": "clew.runtimes.claude:PLUGIN",
        "codex": "clew.runtimes.codex:PLUGIN",
        "scripted": "clew.testing.scripted_plugin:PLUGIN",
    },
    SURFACES: {
        "feishu": "clew.surfaces.feishu:PLUGIN",
        "local": "clew.surfaces.local:LocalSurface",
        "telegram": "clew.surfaces.telegram:PLUGIN",
        "webhook": "clew.surfaces.webhook:PLUGIN",
    },
}


@dataclass(frozen=True, slots=True)
class PluginTrouble:
    """A plugin that cannot be used, and why."""

    group: str
    name: str
    error: str

    def __str__(self) -> str:
        return f"{self.group} {self.name}: {self.error}"


class _Entry(NamedTuple):
    value: str
    package: str
    load: Callable[[], Any]


def names(group: str) -> list[str]:
    """The names of all plugins of a group. Imports none of them."""
    return sorted(_find(group)[0])


def load(group: str, *wanted: str) -> tuple[dict[str, Plugin], list[PluginTrouble]]:
    """Import the wanted plugins of a group, or all of them. Also returns why others cannot be loaded."""
    found, troubles = _find(group)
    loaded: dict[str, Plugin] = {}
    for name in wanted or sorted(found):
        plugin = _load(group, name, found)
        if isinstance(plugin, PluginTrouble):
            troubles.append(plugin)
        else:
            loaded[name] = plugin
    return loaded, [trouble for trouble in troubles if not wanted or trouble.name in wanted]


def get(group: str, name: str) -> Plugin | PluginTrouble | None:
    """One plugin, or why it cannot be loaded; None if there is none. For clew's own it reads no package metadata."""
    own = _own(group)
    found = own if name in own else _find(group)[0]
    return _load(group, name, found) if name in found else None


def settings_of(group: str, name: str) -> Any:
    """The type of a plugin's settings; None if there is no such plugin; a PluginTrouble, or a text that says why, if
    it has none."""
    plugin = get(group, name)
    if plugin is None or isinstance(plugin, PluginTrouble):
        return plugin
    if plugin.settings is None:
        return worded("config.no_settings", "its package accepts no settings")
    kind = _table_kind(plugin.settings)
    try:
        if isinstance(kind, type) and is_dataclass(kind):
            get_type_hints(kind, include_extras=True)
            return plugin.settings
    except Exception as error:  # somebody else's annotations
        return PluginTrouble(
            group,
            name,
            worded(
                "config.settings_unreadable",
                "its settings cannot be read: {kind}: {error}",
                kind=type(error).__name__,
                error=f"{error}",
            ),
        )
    return PluginTrouble(group, name, worded("config.not_dataclass", "its settings are not a dataclass"))


def named_settings(group: str, table: Any) -> Any:
    """The type of the settings in a table that names its plugin by `type`; None if there can be none."""
    name = table.get("type") if isinstance(table, dict) else None
    plugin = get(group, name) if isinstance(name, str) else None
    return plugin.settings if isinstance(plugin, Plugin) and plugin.several else None


def several(loaded: Mapping[str, Plugin], tables: Mapping[str, Any]) -> dict[str, Plugin]:
    """The plugin of each table that has a name of its own."""
    able = [plugin for plugin in loaded.values() if plugin.several]
    owners = ((name, _owner(able, config)) for name, config in tables.items() if name not in loaded)
    return {name: owner for name, owner in owners if owner is not None}


def _owner(able: Iterable[Plugin], config: Any) -> Plugin | None:
    return next((plugin for plugin in able if type(config) is plugin.settings), None)


def with_settings(group: str) -> dict[str, Any]:
    """The types of the settings of all plugins that have some, by name."""
    found = {name: settings_of(group, name) for name in names(group)}
    return {name: kind for name, kind in found.items() if is_kind(kind)}


def is_kind(found: Any) -> bool:
    """Whether `settings_of` found a type of settings."""
    return found is not None and not isinstance(found, str | PluginTrouble)


def config_of(plugin: Plugin, given: Any) -> Any:
    """The settings that a plugin gets: those of the file, else its defaults; None if a setting is required."""
    return given if given is not None or plugin.settings is None else default_of(plugin.settings)


def default_of(kind: Any) -> Any:
    """The settings of a plugin without a table in the file; None if a setting is required."""
    if get_origin(kind) is Mapping:
        return MappingProxyType({})
    needed = [each for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    return None if needed else kind()


# What plugins say about their settings


def names_of(name: str, plugin: Plugin, config: Any) -> list[str]:
    """What the plugin makes with these settings. Raises ConfigError if it cannot make it."""
    if plugin.names is not None:
        return list(plugin.names(config))
    return [name] if _is_on(plugin, config) else []


def made_by(group: str, tables: Mapping[str, Any]) -> list[str]:
    """The names of all that the plugins of a group make with these settings. Raises ConfigError."""
    loaded, troubles = load(group)
    made = [names_of(name, plugin, config_of(plugin, tables.get(name))) for name, plugin in loaded.items()]
    return sorted({*chain.from_iterable(made), *several(loaded, tables), *(trouble.name for trouble in troubles)})


def targets_of(name: str, plugin: Plugin, config: Any) -> list[str]:
    """What `--notify` accepts."""
    if plugin.targets is not None:
        return list(plugin.targets(config))
    return [name] if _is_on(plugin, config) and getattr(config, "home", None) else []


def chats_of(name: str, plugin: Plugin, config: Any) -> list[str]:
    """The chat apps that it makes with these settings. Only a chat has the setting `allow`."""
    if plugin.chats is not None:
        return list(plugin.chats(config))
    return [name] if _is_on(plugin, config) and hasattr(config, "allow") else []


def _is_on(plugin: Plugin, config: Any) -> bool:
    """Settings may have a property `is_on`. Without settings that are required, a plugin is off."""
    return plugin.settings is None or (config is not None and bool(getattr(config, "is_on", True)))


def maker_of(name: str, tables: Mapping[str, Any]) -> tuple[Plugin, Any] | None:
    """The plugin that makes a runtime, and its settings."""
    loaded = load(RUNTIMES)[0]
    if (owner := several(loaded, tables).get(name)) is not None:
        return owner, tables[name]
    for own, plugin in loaded.items():
        config = config_of(plugin, tables.get(own))
        if name == own or name in names_of(own, plugin, config):
            return plugin, config
    return None


def environment() -> list[str]:
    """The variables that lead agents to a person's own set-up."""
    found = (plugin for group in (RUNTIMES, SURFACES) for plugin in load(group)[0].values())
    return sorted({name for plugin in found for name in plugin.environment})


def bring_sentences(wanted: Iterable[str]) -> None:
    """Load these plugins, so that their sentences can be shown in another language."""
    for name in wanted:
        for group in (RUNTIMES, SURFACES):
            get(group, name)


def connecting(surface: str) -> Connecting:
    """The dialogue that sets up a surface. Raises BadInput if it has none."""
    plugin = get(SURFACES, surface)
    if isinstance(plugin, PluginTrouble):
        raise BadInput(
            worded("config.cannot_load", "{surface} cannot be loaded: {error}", surface=surface, error=plugin.error)
        )
    if plugin is None or plugin.connecting is None:
        raise BadInput(
            worded(
                "config.cannot_connect",
                "{surface} cannot be connected from here; these can: {known}.",
                surface=surface,
                known=", ".join(connectable()),
            )
        )
    return plugin.connecting()


def connectable() -> list[str]:
    """The surfaces that `clew connect` can set up."""
    return [name for name, plugin in load(SURFACES)[0].items() if plugin.connecting is not None]


# Finding and loading


def _find(group: str) -> tuple[dict[str, _Entry], list[PluginTrouble]]:
    found, troubles = _own(group), []
    for entry in _foreign(group):
        package = _package(entry)
        if entry.name in found:
            error = worded(
                "config.not_used",
                "the one of {package} is not used: {other} has one with that name",
                package=package,
                other=found[entry.name].package,
            )
            troubles.append(PluginTrouble(group, entry.name, error))
        else:
            found[entry.name] = _Entry(entry.value, package, entry.load)
    return found, troubles


def _own(group: str) -> dict[str, _Entry]:
    return {name: _Entry(value, "clew", partial(_import, value)) for name, value in BUILT_IN.get(group, {}).items()}


def _import(value: str) -> Any:
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def _foreign(group: str) -> list[EntryPoint]:
    entries = [entry for entry in entry_points.of_group(group) if _package(entry) != "clew"]
    return sorted(entries, key=lambda entry: (entry.name, _package(entry)))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "clew"


def _load(group: str, name: str, found: Mapping[str, _Entry]) -> Plugin | PluginTrouble:
    entry = found.get(name)
    if entry is None:
        return PluginTrouble(
            group,
            name,
            worded(
                "config.no_plugin", "there is no such plugin; known: {known}", known=", ".join(sorted(found)) or "none"
            ),
        )
    if entry.package != "clew":
        from clew.config import former_names  # not needed for clew's own plugins, so that commands start faster

        former_names.install()
    try:
        loaded = entry.load()
    except (Exception, SystemExit) as error:  # its import runs somebody else's code
        _log(f"{group} {name} ({entry.value}) cannot be loaded")
        return PluginTrouble(
            group,
            name,
            worded(
                "config.load_failed",
                "{value} of {package}: {kind}: {error}",
                value=entry.value,
                package=entry.package,
                kind=type(error).__name__,
                error=f"{error}",
            ),
        )
    if isinstance(loaded, Plugin):
        return _with_sentences(group, name, loaded)
    if not callable(loaded):
        return PluginTrouble(
            group,
            name,
            worded(
                "config.not_callable",
                "{value} of {package} is not a class or a function",
                value=entry.value,
                package=entry.package,
            ),
        )
    return _described(loaded)


def _with_sentences(group: str, name: str, plugin: Plugin) -> Plugin | PluginTrouble:
    """Take in the sentences of a plugin, if both languages are there."""
    for which, both in plugin.sentences.items():
        if len(both) != 2 or not all(both) or holes(both[0]) != holes(both[1]):
            error = worded(
                "config.bad_sentence",
                "its sentence {which} must be a pair, English and Chinese, with the same holes",
                which=which,
            )
            return PluginTrouble(group, name, error)
    bring(name, plugin.sentences)
    return plugin


def _log(words: str) -> None:
    """Log the traceback. The daemon logs the trouble itself as an error; a command has no log, and would print this if
    it were a warning."""
    import logging

    logging.getLogger(__name__).info(words, exc_info=True)


def _described(factory: Callable[..., Any]) -> Plugin:
    """A class or a function as a plugin: it may have the attributes `settings` and `connecting`."""
    dialogue = getattr(factory, "connecting", None)
    return Plugin(
        make=factory,
        settings=getattr(factory, "settings", None),
        connecting=None if dialogue is None else lambda: dialogue,
    )


def _table_kind(settings: Any) -> Any:
    return get_args(settings)[1] if get_origin(settings) is Mapping else settings
