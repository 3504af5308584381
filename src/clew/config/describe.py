"""Lists settings with their types and current values. Secrets are never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, get_args, get_origin

from clew.config import plugins
from clew.config.reading import has_key, hints_of, plugin_group, split, suggestion, without_none
from clew.config.rules import Hidden, WebAddress
from clew.config.settings import Config
from clew.support.addresses import shown, shown_in
from clew.support.coded import worded
from clew.support.errors import ConfigError

SECRET = "[secret]"

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: str | int | float | bool | None  # None: not set, and there is no default
    is_set: bool  # in the file; else it is the default


def hint_of(key: Key) -> Any:
    """The type hint of a setting or a table. Raises ConfigError, with the same text as for a file, if there is none."""
    hint: Any = Config
    for depth, name in enumerate(key, 1):
        hint = _inside(hint, name, key[:depth])
    return hint


def kind_of(key: Key) -> type:
    """The plain type of a setting. Raises ConfigError if there is no such setting."""
    hint = hint_of(key)
    if inner := _names(hint):
        raise ConfigError(
            worded(
                "config.is_table",
                "{name} is a table, not a setting. It contains: {inner}.",
                name=".".join(key),
                inner=", ".join(inner),
            )
        )
    return split(hint)[0]


def all_settings(config: Config, data: Mapping[str, Any]) -> list[Setting]:
    """All settings with their values; `data` is the parsed file."""
    return [Setting(".".join(key), value, has_key(data, key)) for key, value in _walk(config, ())]


def settings_under(settings: list[Setting], key: Key) -> list[Setting]:
    """The settings of one table, or the one setting with that name."""
    name = ".".join(key)
    return [each for each in settings if not key or each.key == name or each.key.startswith(f"{name}.")]


def _inside(hint: Any, name: str, at: Key) -> Any:
    if get_origin(hint) is Mapping:
        return get_args(hint)[1]
    if (group := plugin_group(hint)) is not None and plugins.is_kind(kind := plugins.settings_of(group, name)):
        return kind
    known = _names(hint)
    if group is not None or name not in known:
        raise ConfigError(
            worded(
                "config.name_not_a_setting",
                "{name} is not a setting{suggestion}",
                name=".".join(at),
                suggestion=suggestion(name, known) if known else "",
            )
        )
    return without_none(hints_of(hint)[name])


def _names(hint: Any) -> list[str]:
    if get_origin(hint) is Mapping:
        return ["NAME"]
    if (group := plugin_group(hint)) is not None:
        return list(plugins.with_settings(group))
    return list(hints_of(hint)) if isinstance(hint, type) and is_dataclass(hint) else []


def _walk(table: Any, at: Key) -> Iterator[tuple[Key, Any]]:
    for name, hint in hints_of(type(table)).items():
        value = getattr(table, name)
        if (group := plugin_group(hint)) is not None:
            yield from _walk_named(_of_plugins(group, value), (*at, name), None)
        elif is_dataclass(value):
            yield from _walk(value, (*at, name))
        elif isinstance(value, Mapping):
            yield from _walk_named(value, (*at, name), get_args(hint)[1])
        else:
            yield (*at, name), _shown(value, hint)


def _walk_named(named: Mapping[str, Any], at: Key, kind: Any) -> Iterator[tuple[Key, Any]]:
    for name, value in named.items():
        if is_dataclass(value):
            yield from _walk(value, (*at, name))
        elif isinstance(value, Mapping):  # the named tables of a plugin
            yield from _walk_named(value, (*at, name), kind)
        else:
            yield (*at, name), _shown(value, kind)


def _of_plugins(group: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of all plugins of a group, also their defaults."""
    kinds = plugins.with_settings(group)
    found = {name: given.get(name, plugins.default_of(kind)) for name, kind in kinds.items()}
    return {name: value for name, value in found.items() if value is not None}


def _shown(value: Any, hint: Any) -> Any:
    """The value without secrets; of an address only the origin."""
    if value is None or _is_hidden(hint):
        return value and SECRET
    if isinstance(value, tuple):
        return tuple(shown_in(each) if isinstance(each, str) else each for each in value)
    if any(isinstance(rule, WebAddress) for rule in split(without_none(hint))[1]):
        return shown(value)
    return shown_in(value) if isinstance(value, str) else value


def _is_hidden(hint: Any) -> bool:
    return any(isinstance(rule, Hidden) for rule in split(without_none(hint))[1])
