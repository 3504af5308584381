"""Commands that people know from other programs: version, help, login. They are not listed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from clew.cli.language import sentence
from clew.cli.output import Out, json_option
from clew.support.version import __version__

if TYPE_CHECKING:
    from clew.config.plugin import Login


@click.command("version", short_help="Print the version.")
@json_option
@click.pass_obj
def version_command(out: Out) -> None:
    """Print the version."""
    out.result({"version": __version__}, f"clew {__version__}")


@click.command("help", short_help="Show help of clew, or of a command.")
@click.argument("command", required=False)
@click.option("--all", "show_all", is_flag=True, help="Describe all commands.")
@json_option
@click.pass_context
def help_command(ctx: click.Context, command: str | None, show_all: bool) -> None:
    """Show the help of clew, or of a COMMAND."""
    from clew.cli.main import cli

    top = ctx.find_root()
    if command is None:
        top.meta["clew.all"] = show_all
        click.echo(cli.get_help(top))
        return
    _, found, _ = cli.resolve_command(top, [command])
    assert found is not None, command
    click.echo(found.get_help(click.Context(found, top, command)))


@click.command("login", short_help="Log in to an agent.")
@click.argument("agent", required=False)
@json_option
def login_command(agent: str | None) -> None:
    """Log in to an agent; default: that of new threads. clew has no account of its own, and uses the agent's."""
    from clew.config import settings
    from clew.support.home import Home

    config = settings.load(Home.find().config)
    name = agent or config.threads.runtime
    if (login := _login_of(name, config.runtimes)) is None:
        raise click.UsageError(sentence("cli_setup.login_elsewhere", agent=name, again=name))
    os.execvpe(login.command[0], login.command, {**os.environ, **login.environment})


def _login_of(name: str, tables: Mapping[str, object]) -> Login | None:
    from clew.config import plugins
    from clew.daemon.assemble import call

    plugin, config = plugins.maker_of(name, tables) or (None, None)
    if plugin is None or plugin.login is None:
        return None
    login: Login | None = call(plugin.login, {"config": config, "name": name})
    return login
