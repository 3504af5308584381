"""Builds a dataclass of settings from parsed TOML, by its type hints; a mismatch is an error that names the line and
says what would be right. It does not know any particular setting."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from clew.config.rules import Expanded, Hidden, PluginTables, WebAddress
from clew.support.addresses import shown, shown_in
from clew.support.coded import worded

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
PluginSettings = Mapping[str, Any]  # the settings of plugins, by their names

_hints: dict[type[Any], Mapping[str, Any]] = {}


class InvalidSetting(Exception):
    def __init__(self, key: tuple[str, ...], words: str) -> None:
        super().__init__(words)
        self.key = key
        self.words = words


def table(kind: type[T], data: object, at: tuple[str, ...]) -> T:
    if not isinstance(data, dict):
        raise InvalidSetting(at, worded("config.must_be_table", "must be a table, not {called}", called=_called(data)))
    hints = hints_of(kind)
    known = {each.name: each for each in fields(kind)}
    for key in data:
        if key not in known:
            raise InvalidSetting(
                (*at, key),
                worded("config.not_a_setting", "is not a setting{suggestion}", suggestion=suggestion(key, known)),
            )
    for key, each in known.items():
        if key not in data and each.default is MISSING and each.default_factory is MISSING:
            raise InvalidSetting(at, worded("config.needs", "needs `{key}`", key=key))
    return kind(**{key: _value(hints[key], data[key], (*at, key)) for key in data})


def _plugin_tables(group: str, data: object, at: tuple[str, ...]) -> PluginSettings:
    """The settings of plugins, each built with its own dataclass. A table that says no more than the defaults is left
    out, and so is one of a plugin that cannot be loaded, which is reported elsewhere."""
    if not isinstance(data, dict):
        raise InvalidSetting(at, worded("config.must_be_table", "must be a table, not {called}", called=_called(data)))
    from clew.config import plugins  # only a file with such tables needs it

    kinds = {key: plugins.settings_of(group, key) for key in data}
    named = {key: plugins.named_settings(group, data[key]) for key, kind in kinds.items() if kind is None}
    named = {key: kind for key, kind in named.items() if kind is not None}
    kinds.update(named)
    data = {key: _without_type(each) if key in named else each for key, each in data.items()}
    for key, kind in kinds.items():
        if kind is None:
            raise InvalidSetting(
                (*at, key),
                worded(
                    "config.not_a_setting",
                    "is not a setting{suggestion}",
                    suggestion=suggestion(key, plugins.with_settings(group)),
                ),
            )
        if isinstance(kind, str):
            raise InvalidSetting(
                (*at, key), worded("config.has_no_settings", "cannot have settings: {kind}", kind=kind)
            )
    loaded = {key: kind for key, kind in kinds.items() if plugins.is_kind(kind)}
    found = {key: _value(kind, data[key], (*at, key)) for key, kind in loaded.items()}
    kept = {key: each for key, each in found.items() if key in named or not _is_default(loaded[key], each)}
    return MappingProxyType(kept)


def _without_type(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "type"}


def _is_default(kind: Any, value: Any) -> bool:
    try:
        return bool(value == _value(kind, {}, ()))
    except Exception:  # it has none, or somebody else's code refuses it
        return False


def _value(hint: Any, value: object, at: tuple[str, ...]) -> Any:
    if (group := plugin_group(hint)) is not None:
        return _plugin_tables(group, value, at)
    hint = without_none(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return table(hint, value, at)
    if get_origin(hint) is Mapping:
        return _named_tables(hint, value, at)
    if get_origin(hint) is tuple:
        return _listed(hint, value, at)
    kind, rules = split(hint)
    return _ruled(_plain(kind, value, at), rules, at)


def _named_tables(hint: Any, value: object, at: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSetting(
            at,
            worded(
                "config.must_be_names",
                "must be a table of names, such as [{at}.NAME], not {called}",
                at=".".join(at),
                called=_called(value),
            ),
        )
    name, kind = get_args(hint)
    for key in value:
        _ruled(key, split(name)[1], (*at, key))
    return MappingProxyType({key: _value(kind, each, (*at, key)) for key, each in value.items()})


def _listed(hint: Any, value: object, at: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InvalidSetting(
            at, worded("config.must_be_list", 'must be a list, such as ["a", "b"], not {called}', called=_called(value))
        )
    return tuple(_value(get_args(hint)[0], each, at) for each in value)


def _plain(kind: type, value: object, at: tuple[str, ...]) -> Any:
    """A value of a plain type. An int is accepted as a float, but a bool is not accepted as an int."""
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise InvalidSetting(
            at,
            worded(
                "config.must_be",
                "must be {kind}, not {called}",
                kind=_named(kind),
                called=_called(value),
            ),
        )
    if isinstance(value, float) and not isfinite(value):
        raise InvalidSetting(at, worded("config.must_be_finite", "must be a finite number"))
    if isinstance(value, str) and not value.strip():
        raise InvalidSetting(at, worded("config.must_not_be_empty", "must not be empty"))
    return value


def _ruled(value: Any, rules: Iterable[Any], at: tuple[str, ...]) -> Any:
    for rule in rules:
        if isinstance(rule, Expanded):
            value = _expanded(value, at)
        elif not isinstance(rule, Hidden) and not rule.holds(value):
            raise InvalidSetting(
                at,
                worded(
                    "config.breaks_rule",
                    "is {value}: it must be {rule}",
                    value=_quoted(value, rule),
                    rule=rule.words,
                ),
            )
    return value


def _quoted(value: Any, rule: Any) -> str:
    """The given value without possible secrets. A value that is no valid address may still contain a password."""
    if isinstance(rule, WebAddress):
        return repr(shown(value)) if "://" in value else worded("config.no_address", "no web address")
    return shown_in(repr(value))


def _expanded(value: str, at: tuple[str, ...]) -> str:
    """Expand a leading `~`, and nothing else: `./codex` is not the same as `codex`, which is searched on the PATH."""
    try:
        return str(Path(value).expanduser()) if value.startswith("~") else value
    except RuntimeError:
        raise InvalidSetting(
            at,
            worded(
                "config.no_such_user", "is {value}: it must be a path; there is no such user here", value=f"{value!r}"
            ),
        ) from None


def without_none(hint: Any) -> Any:
    """The hint without its `None`: TOML has no null, so a given value is never None."""
    return next(each for each in get_args(hint) if each is not NoneType) if NoneType in get_args(hint) else hint


def split(hint: Any) -> tuple[type, tuple[Any, ...]]:
    """The type of a hint, and its rules if it is `Annotated`."""
    return (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())


_KINDS: Mapping[type, str] = {
    str: worded("config.a_text", "text in quotes"),
    int: worded("config.a_number", "a whole number"),
    float: worded("config.any_number", "a number"),
    bool: worded("config.a_boolean", "true or false"),
    dict: worded("config.a_table", "a table"),
    list: worded("config.a_list", "a list"),
}


def _called(value: object) -> str:
    """The kind of a value; never the value itself, which may be a secret in the wrong place."""
    return _named(type(value))


def _named(kind: type) -> str:
    return _KINDS.get(kind) or worded("config.another_kind", "a {kind}", kind=kind.__name__)


def suggestion(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only an error needs it

    close = get_close_matches(key, known := list(known), n=1)
    if close:
        return worded("config.did_you_mean", ": did you mean `{close}`?", close=close[0])
    return worded("config.there_are", "; there are {known}", known=", ".join(known))


def line_of(text: str, key: tuple[str, ...]) -> int:
    """The first line of the statement that first sets `key`.

    tomllib gives no positions, so the text is parsed again and again, each time one line longer; if it does not parse,
    that is the middle of a statement of several lines.
    """
    lines = text.splitlines(keepends=True)
    begins = 1
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if has_key(data, key):
            return begins
        begins = end + 1
    return 1


def has_key(data: object, key: tuple[str, ...]) -> bool:
    if not key:
        return True
    return isinstance(data, dict) and key[0] in data and has_key(data[key[0]], key[1:])


def remove_key(data: dict[str, Any], key: tuple[str, ...]) -> None:
    for name in key[:-1]:
        data = data[name]
    del data[key[-1]]


def hints_of(kind: type[Any]) -> Mapping[str, Any]:
    """The types of a table's fields. Resolving them is slow, and each start needs them several times."""
    if kind not in _hints:
        _hints[kind] = get_type_hints(kind, include_extras=True)
    return _hints[kind]


def plugin_group(hint: Any) -> str | None:
    """The plugin group whose tables a field holds; None: an ordinary field."""
    return next((rule.group for rule in split(hint)[1] if isinstance(rule, PluginTables)), None)
