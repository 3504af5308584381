"""`clew update`: installs the newest version, and goes back if it does not start. Nothing else looks for updates."""

from __future__ import annotations

import click

from clew.cli.language import in_locale
from clew.cli.output import Out, json_option

GRACE = 10.0


@click.command("update", short_help="Update clew, and go back if the new version does not start.")
@click.option("--check", "only_check", is_flag=True, help="Only say whether there is a newer version.")
@click.option("--grace", type=click.FloatRange(0, 86_400), default=GRACE, show_default=True, metavar="SECONDS")
@json_option
@click.pass_obj
def update_command(out: Out, only_check: bool, grace: float) -> None:
    """Update clew as it was installed: by uv, by pipx or in a git clone.

    Stops the daemon (running turns get --grace), backs the database up, installs the new version, starts it and waits
    until it is ready. If it does not get ready, the former version and the database from before are put back. clew
    never looks for updates by itself.
    """
    from clew.cli.commands.update.installs import installed
    from clew.support.home import Home
    from clew.texts.catalogue import say

    def tell(words: str) -> None:
        out.say(in_locale(words))

    install = installed()
    found = install.find(tell)
    result = {"install": install.kind, "installed": found.now, "newest": found.to, "newer": found.is_newer}
    if only_check or not found.is_newer:
        code = "update.available" if found.is_newer else "update.newest"
        words = say(code, now=found.now, to=found.to) if found.is_newer else say(code, now=found.now)
        out.result(result | ({} if only_check else {"updated": False, "backup": None}), in_locale(words))
        return
    from clew.cli.commands.update.steps import update
    from clew.cli.output import json_text

    ended = in_locale(say("update.done", now=found.now, to=found.to))
    json_text(result)  # imports what printing needs, before the files change
    done = update(Home.find(), install, found, grace, tell)
    out.result(result | {"updated": True, "backup": done.backup}, ended)
