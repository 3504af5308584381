"""`clew token`: what a program needs to speak to the TCP listener."""

from __future__ import annotations

import click

from clew.cli.out import Out, json_option


@click.group("token", short_help="What a program needs to use the HTTP API.", invoke_without_command=True)
@json_option
@click.pass_context
def token_command(ctx: click.Context) -> None:
    """Print the token of the HTTP API. Whoever has it can do all that you can do with clew."""
    if ctx.invoked_subcommand is None:
        _show(ctx.obj)


def _show(out: Out) -> None:
    from clew import config, token
    from clew.home import Home

    home = Home.find()
    fixed = config.load(home.config).http.token
    given = fixed or token.read(home.token)
    out.result({"token": given, "file": None if fixed else str(home.token)}, given)


@token_command.command("rotate")
@json_option
@click.pass_obj
def rotate_command(out: Out) -> None:
    """Make a new token; the old one counts no more, from this moment on."""
    from clew import config, token
    from clew.errors import Refused
    from clew.home import Home

    home = Home.find()
    if config.load(home.config).http.token:
        raise Refused("the token is set in config.toml: `clew config set http.token -` changes it, then `clew restart`")
    home.prepare()
    given = token.make(home.token)
    out.result({"token": given, "file": str(home.token)}, given)
