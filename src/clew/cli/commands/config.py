"""`clew config`: get, set, unset, check. None of them needs the daemon."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.completion import setting_keys
from clew.cli.language import in_locale, phrase, sentence
from clew.cli.output import Out, json_option, table
from clew.support.errors import ConfigError
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.config.describe import Setting
    from clew.config.settings import Config


@click.group("config", short_help="Show, change and check settings.")
@json_option
def config_command() -> None:
    """Show, change and check settings. KEY is dotted, such as http.port."""


@config_command.command("get", short_help="Show one setting, a table of settings, or all.")
@click.argument("key", required=False, shell_complete=setting_keys)
@json_option
@click.pass_obj
def get_command(out: Out, key: str | None) -> None:
    """Show one setting, a table of settings, or all, with defaults. Secrets are not shown."""
    from clew.config import describe
    from clew.config import settings as config_settings

    path = Home.find().config
    settings = describe.all_settings(config_settings.load(path), _data(path))
    wanted = tuple(key.split(".")) if key else ()
    found = describe.settings_under(settings, wanted)
    if not found:
        describe.hint_of(wanted)  # raises if the key is unknown
        raise ConfigError(sentence("cli_setup.not_set", key=key))
    if len(found) == 1 and found[0].key == key:
        out.result(asdict(found[0]), "" if found[0].value is None else _shown(found[0].value))
    elif out.as_json:
        out.json([asdict(each) for each in found])
    else:
        for line in table([_row(each) for each in found]):
            out.line(line)


def _row(setting: Setting) -> tuple[str, str]:
    value = phrase("cli_setup.unset") if setting.value is None else _shown(setting.value)
    return setting.key, value if setting.is_set or setting.value is None else f"{value}  {phrase('cli_setup.default')}"


def _shown(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@config_command.command("set", short_help="Change one setting in config.toml.")
@click.argument("key", shell_complete=setting_keys)
@click.argument("value")
@json_option
@click.pass_obj
def set_command(out: Out, key: str, value: str) -> None:
    """Change one setting in config.toml; comments and order stay.

    A VALUE of - is read from stdin, so that a secret does not show up in the shell. A change that would make the file
    invalid is refused, and nothing is written.
    """
    from clew.config import describe, edit
    from clew.config import settings as config_settings

    home = Home.find()
    name = tuple(key.split("."))
    kind = describe.kind_of(name)
    before = _text(home.config)
    config_settings.parse(before, str(home.config))
    text = edit.assign(before, name, _typed(kind, _given(value)))
    settings = config_settings.parse(text, sentence("cli_setup.config_would_be", config=home.config))
    if key == "threads.runtime" and (wrong := _unknown_runtime(settings)):
        raise ConfigError(sentence("cli_setup.nothing_changed", wrong=wrong))
    home.prepare()
    edit.write(home.config, text)
    (setting,) = describe.settings_under(
        describe.all_settings(config_settings.load(home.config), _data(home.config)), name
    )
    out.result(asdict(setting), f"{key} = {_shown(setting.value)}" if setting.value is not None else key)
    if not _is_free(home):
        out.hint(phrase("cli_setup.restart_applies"))


@config_command.command("unset", short_help="Remove one setting from config.toml.")
@click.argument("key", shell_complete=setting_keys)
@json_option
@click.pass_obj
def unset_command(out: Out, key: str) -> None:
    """Remove one setting, or a table such as surfaces.webhook.ci, from config.toml: the default applies again.

    If the file would be invalid without it, this is refused, and nothing is written.
    """
    from clew.config import describe, edit, reading
    from clew.config import settings as config_settings

    home = Home.find()
    name = tuple(key.split("."))
    before = _text(home.config)
    if not reading.has_key(_data(home.config), name):
        describe.hint_of(name)  # raises if the key is unknown
        raise ConfigError(sentence("cli_setup.not_set", key=key))
    text = edit.remove(before, name)
    settings = config_settings.parse(text, sentence("cli_setup.config_would_be", config=home.config))
    edit.write(home.config, text)
    found = [each for each in describe.all_settings(settings, {}) if each.key == key]
    default = found[0].value if found else None
    out.result(
        {"key": key, "value": default, "is_set": False},
        phrase("cli_setup.set_no_more", key=key)
        + (phrase("cli_setup.default_is", default=_shown(default)) if default is not None else ""),
    )
    if not _is_free(home):
        out.hint(phrase("cli_setup.restart_applies"))


def _given(value: str) -> str:
    from clew.support.text import clean

    return clean(sys.stdin.read().rstrip("\r\n") if value == "-" else value)


def _typed(kind: type, value: str) -> str | int | float | bool:
    """Convert the value to the type of the setting. If that fails it stays text, which the config check then
    refuses."""
    if kind is str:
        return value
    try:
        read: object = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
    return read if isinstance(read, str | int | float) else value


@config_command.command("check", short_help="Check config.toml and list all mistakes.")
@json_option
@click.pass_obj
def check_command(out: Out) -> None:
    """Check config.toml and list all mistakes. Exit 1 if there are any."""
    path = Home.find().config
    found = mistakes(path)
    if out.as_json:
        out.json({"file": str(path), "ok": not found, "mistakes": found})
    else:
        for line in found or [
            phrase("cli_setup.config_ok", path=path) if path.exists() else phrase("cli_setup.config_missing", path=path)
        ]:
            out.line(in_locale(line))
    if found:
        raise click.exceptions.Exit(1)
    out.hint(phrase("cli_setup.get_shows"))


def mistakes(path: Path) -> list[str]:
    """All mistakes in the file; also settings that load but cannot work or are unsafe."""
    from clew.config import settings as config_settings

    try:
        found, settings = config_settings.parse_leniently(_text(path), str(path))
        found += filter(None, [_unknown_runtime(settings)])
    except ConfigError as error:
        return [error.message]
    if settings.secrets() and path.stat().st_mode & 0o077:
        found.append(sentence("cli_setup.others_read", path=path, again=path))
    return found


def _unknown_runtime(settings: Config) -> str | None:
    """What is wrong with the default runtime, or those that take over, if no plugin makes one. Raises ConfigError."""
    from clew.config import plugins

    known = plugins.made_by(plugins.RUNTIMES, settings.runtimes)
    named = (("runtime", settings.threads.runtime), *(("fallback", name) for name in settings.threads.fallback))
    wrong = next(((key, name) for key, name in named if name not in known), None)
    if wrong is None:
        return None
    key, name = wrong
    return sentence("cli_setup.runtime_must_be", key=key, runtime=f"{name!r}", known=", ".join(known))


def _text(path: Path) -> str:
    """The text of the file; empty if there is none. Raises ConfigError as `config.load` does."""
    from clew.config import settings as config_settings

    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        config_settings.load(path)
        raise


def _data(path: Path) -> dict[str, object]:
    return tomllib.loads(_text(path))


def _is_free(home: Home) -> bool:
    from clew.process import lock

    return lock.is_free(home.lock)
