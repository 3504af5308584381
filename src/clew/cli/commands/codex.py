"""`clew codex …`: the same Codex program and home that clew uses, so that advice like `clew codex login` works."""

from __future__ import annotations

import os

import click

from clew.config import settings as config_settings
from clew.support.home import Home


@click.command(
    "codex",
    short_help="Run the Codex that clew uses, with your arguments.",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def codex_command(args: tuple[str, ...]) -> None:
    """Run the Codex that clew uses, with your arguments."""
    from clew.runtimes.codex.server import binary
    from clew.runtimes.codex.settings import CodexConfig

    settings = config_settings.load(Home.find().config).runtimes.get("codex", CodexConfig())
    path = binary.locate(settings)
    if settings.home is not None:
        os.environ["CODEX_HOME"] = settings.home
    os.execv(path, [path, *args])
