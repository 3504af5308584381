"""Completion in a shell: the script for it, and the words that only clew knows. It starts no daemon and is
silent when it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output import Out, json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clew.config.settings import Config

TIMEOUT = 1.0  # seconds; a person is about to type the next letter
VARIABLE = "_CLEW_COMPLETE"


def thread_argument(**options: Any) -> Callable[[Any], Any]:
    return click.argument("thread", shell_complete=thread_ids, callback=checked_thread, **options)


def checked_thread(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    """A script whose variable is not set should hear of that, not have everything happen to all threads."""
    if given is not None and not (given.isascii() and given.isalnum()):
        raise click.BadParameter(f"{given!r} is no thread id; `clew threads` lists them.")
    return given


def thread_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Those that are active, then the finished ones, each with its title."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=title) for name, title in threads() if name.startswith(incomplete.upper())]


def gate_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from clew.cli.view.columns import one_line

    rows = _quietly("gates")
    return [CompletionItem(row["code"], help=one_line(row["title"])) for row in rows or () if _begins(row, incomplete)]


def sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Those that can be taken over, wherever they work."""
    from click.shell_completion import CompletionItem

    from clew.cli.view.columns import one_line

    rows = _quietly("adoptable")
    return [CompletionItem(row["id"], help=one_line(row["title"])) for row in rows or () if _is(row, incomplete)]


def _is(row: Any, incomplete: str) -> bool:
    return str(row["id"]).startswith(incomplete.lower())


def _begins(row: Any, incomplete: str) -> bool:
    return str(row["code"]).startswith(incomplete.upper())


def _quietly(*path: str) -> Any:
    """None where no daemon answers at once."""
    from clew.client.sync import Client
    from clew.support.errors import ClewError
    from clew.support.home import Home

    try:
        return Client(Home.find(), start=False, timeout=TIMEOUT).get(*path)
    except (ClewError, OSError, ValueError):
        return None


def threads() -> list[tuple[str, str]]:
    """Ids and titles, newest first; none where no daemon answers at once."""
    from clew.cli.view.columns import one_line
    from clew.client.sync import Client
    from clew.support.errors import ClewError
    from clew.support.home import Home

    client = Client(Home.find(), start=False, timeout=TIMEOUT)
    try:
        pages = [client.get("threads", history=history, limit=100)["threads"] for history in (False, True)]
    except (ClewError, OSError, ValueError):
        return []
    return [(each["id"], one_line(each["title"])) for page in pages for each in page]


def runtimes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from clew.runtimes import acp

    return [name for name in acp.names(_settings().runtimes.acp) if name.startswith(incomplete)]


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Where answers can be brought by these settings."""
    settings = _settings()
    hooks = [f"webhook:{name}" for name, hook in settings.surfaces.webhook.items() if hook.url]
    known = (("feishu", settings.surfaces.feishu), ("telegram", settings.surfaces.telegram))
    chats = [name for name, chat in known if chat.is_on and chat.home]
    chats += [name for name, chat in sorted(settings.surfaces.others.items()) if getattr(chat, "home", None)]
    return [name for name in ["local", *chats, *sorted(hooks)] if name.startswith(incomplete)]


def chats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Where people talk by these settings."""
    known = (("feishu", _settings().surfaces.feishu), ("telegram", _settings().surfaces.telegram))
    return [name for name, chat in known if chat.is_on and name.startswith(incomplete)]


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


@click.command("completion", short_help="The completion script of your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_obj
def completion_command(out: Out, shell: str) -> None:
    """The completion script of your shell: commands, options, ids of threads, runtimes, targets, settings.

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
    if sys.stdout.isatty():  # a profile reads it at each start of a shell, and wants to hear nothing else
        out.hint(f"this is only shown; clew completion --help tells where {shell} wants it")
