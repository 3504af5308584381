"""Shell completion: the script, and the values of arguments. It never starts the daemon, and fails silently."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from clew.cli.language import phrase, sentence
from clew.cli.output import Out, json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clew.client.requests import Request
    from clew.client.sync import Asks, Client
    from clew.config.plugin import Plugin
    from clew.config.settings import Config
    from clew.model.views import ThreadView

POLICIES = ("read-only", "careful", "sandbox", "trusted", "yolo")
CHOICES = ("fallback=", "on_limit=", "limit_waits=", "quiet_hours=", "notify=")
TIMEOUT = 1.0  # seconds; a person waits for the completion
VARIABLE = "_CLEW_COMPLETE"

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")


def thread_argument(*, required: bool = True) -> Callable[[F], F]:
    return click.argument("thread", shell_complete=thread_ids, callback=check_thread_id, required=required)


def check_thread_id(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    """Refuse an empty or malformed name: an empty variable in a script must be an error, and not mean all threads. `.`
    is the newest thread of this folder."""
    if given is not None and (not given.strip() or "/" in given or not given.isprintable()):
        raise click.BadParameter(sentence("cli_setup.names_no_thread", given=f"{given!r}"))
    if given != "." or ctx.resilient_parsing:
        return given
    return newest_in(Path.cwd(), (ctx.find_object(Out) or Out(False)).client())


def check_thread_ids(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(checked for name in given if (checked := check_thread_id(ctx, param, name)) is not None)


def newest_in(folder: Path, client: Asks) -> str:
    """The thread that was made last in this folder, active or finished."""
    from clew.client import requests
    from clew.support.errors import NotFound
    from clew.texts.catalogue import say

    found = client.ask(requests.threads(workspace=str(folder), newest=True)).threads
    if not found:
        raise NotFound(say("threads.none_in_folder", folder=str(folder)))
    return found[0].id


def thread_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Active threads, then finished ones, each with its state and title."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=about) for name, about in beginning_with(incomplete, threads())]


def thread_settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names, and each policy; after `model=` and `effort=` what the agent of the thread offers."""
    from clew.client import requests
    from clew.support.errors import ClewError

    name, equals, _ = incomplete.partition("=")
    found = [*(f"policy={policy}" for policy in POLICIES), "model=", "effort=", *CHOICES]
    if equals and name in ("model", "effort"):
        with suppress(ClewError, OSError, ValueError):
            client = _client()
            view = client.ask(requests.thread(str(ctx.params.get("thread"))))
            models = client.ask(requests.models(view.runtime))
            efforts = dict.fromkeys(effort for each in models for effort in each.efforts)
            found = [f"model={each.name}" for each in models] if name == "model" else [f"effort={e}" for e in efforts]
    return [each for each in found if each.startswith(incomplete)]


def gate_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from clew.cli.view.text_width import one_line
    from clew.client import requests

    rows = [row for row in _ask(requests.gates()) if row.code.startswith(incomplete.upper())]
    return [CompletionItem(row.code, help=one_line(row.title)) for row in rows]


def sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sessions that can be adopted, of every folder."""
    from click.shell_completion import CompletionItem

    from clew.cli.view.text_width import one_line
    from clew.client import requests

    rows = [row for row in _ask(requests.adoptable()) if row.id.startswith(incomplete.lower())]
    return [CompletionItem(row.id, help=one_line(row.title)) for row in rows]


def _ask(request: Request[tuple[T, ...]]) -> tuple[T, ...]:
    """The response of the daemon; empty if none answers at once."""
    from clew.support.errors import ClewError

    try:
        return _client().ask(request)
    except (ClewError, OSError, ValueError):
        return ()


def _client() -> Client:
    from clew.client.sync import Client
    from clew.support.home import Home

    return Client(Home.find(), start=False, timeout=TIMEOUT)


def beginning_with(typed: str, known: Sequence[ThreadView]) -> list[tuple[str, str]]:
    """The handles that begin with what was typed, or else the ids, each with its state and title."""
    from clew.cli.language import word
    from clew.cli.view.text_width import one_line
    from clew.cli.view.threads import status_shown

    for names in ([each.handle or each.id for each in known], [each.id for each in known]):
        found = [
            (name, f"{word(status_shown(each))}: {one_line(each.title)}")
            for name, each in zip(names, known, strict=True)
            if name.lower().startswith(typed.lower())
        ]
        if found:
            return found
    return []


def threads() -> list[ThreadView]:
    """Active and finished threads, newest first; empty if no daemon answers at once."""
    from clew.client import requests
    from clew.support.errors import ClewError

    client = _client()
    try:
        pages = [client.ask(requests.threads(history=history, limit=100)).threads for history in (False, True)]
    except (ClewError, OSError, ValueError):
        return []
    return [view for page in pages for view in page]


def runtimes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from clew.config import plugins

    found = _from_plugins(plugins.RUNTIMES, _settings().runtimes, plugins.names_of)
    return [name for name in sorted(found) if name.startswith(incomplete)]


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Targets of `--notify` in the settings."""
    from clew.config import plugins

    found = _from_plugins(plugins.SURFACES, _settings().surfaces, plugins.targets_of)
    return [name for name in ["local", *found] if name.startswith(incomplete)]


def chats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Chat surfaces that are switched on in the settings."""
    from clew.config import plugins

    found = _from_plugins(plugins.SURFACES, _settings().surfaces, plugins.chats_of)
    return [name for name in found if name.startswith(incomplete)]


def connectable(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Surfaces that `clew connect` can set up."""
    from clew.config import plugins

    return [name for name in plugins.connectable() if name.startswith(incomplete)]


def _from_plugins(
    group: str, tables: Mapping[str, object], ask: Callable[[str, Plugin, object], list[str]]
) -> list[str]:
    """What the plugins of a group say about their settings; nothing of one that fails."""
    from clew.config import plugins

    found: list[str] = []
    for name, plugin in plugins.load(group)[0].items():
        with suppress(Exception):  # a plugin's code
            found += ask(name, plugin, plugins.config_of(plugin, tables.get(name)))
    return found


def setting_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from clew.config import describe

    known = describe.all_settings(_settings(), {})
    return [each.key for each in known if each.key.startswith(incomplete)]


def _settings() -> Config:
    from clew.config import settings as config_settings
    from clew.support.errors import ClewError
    from clew.support.home import Home

    try:
        return config_settings.load(Home.find().config)
    except ClewError:
        return config_settings.Config()


@click.command("completion", short_help="Print the completion script for your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_obj
def completion_command(out: Out, shell: str) -> None:
    """Print the completion script for your shell: commands, options, ids of threads, runtimes, targets, settings.

    \b
    bash: eval "$(clew completion bash)"         in ~/.bashrc
    zsh:  eval "$(clew completion zsh)"          in ~/.zshrc, after compinit
    fish: clew completion fish > ~/.config/fish/completions/clew.fish
    """
    from click.shell_completion import get_completion_class

    from clew.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    script = kind.source_template % kind(cli, {}, "clew", VARIABLE).source_vars()
    if out.as_json:
        out.json({"shell": shell, "script": script})
    else:
        print(script)
    if sys.stdout.isatty():  # silent in a profile, which loads it at each start of a shell
        out.hint(phrase("cli_setup.only_prints_script", shell=shell))
