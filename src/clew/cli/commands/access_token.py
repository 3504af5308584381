"""`clew token`: the token of the TCP listener."""

from __future__ import annotations

import click

from clew.cli.language import sentence
from clew.cli.output import Out, json_option


@click.group("token", short_help="Print the token of the HTTP API.", invoke_without_command=True)
@json_option
@click.pass_context
def token_command(ctx: click.Context) -> None:
    """Print the token of the HTTP API. Anybody who has it can do with clew whatever you can."""
    if ctx.invoked_subcommand is None:
        _show(ctx.obj)


def _show(out: Out) -> None:
    from clew.config import settings
    from clew.server.auth import tokens
    from clew.support.home import Home

    home = Home.find()
    fixed = settings.load(home.config).http.token
    given = fixed or tokens.read(home.token)
    out.result({"token": given, "file": None if fixed else str(home.token)}, given)


@token_command.command("rotate")
@json_option
@click.pass_obj
def rotate_command(out: Out) -> None:
    """Create a new token; the old one is invalid at once."""
    from clew.config import settings
    from clew.server.auth import tokens
    from clew.support.errors import Refused
    from clew.support.home import Home

    home = Home.find()
    if settings.load(home.config).http.token:
        raise Refused(sentence("cli_setup.token_in_config"))
    home.prepare()
    given = tokens.make(home.token)
    out.result({"token": given, "file": str(home.token)}, given)
