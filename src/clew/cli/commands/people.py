"""People who may use clew in chats: pair, people."""

from __future__ import annotations

import click

from clew.cli.language import labels, phrase
from clew.cli.output import Out, json_option, moment

ROLES = click.Choice(["owner", "driver", "watcher"])


@click.command("pair", short_help="Let a person in by their code.")
@click.argument("code")
@click.option("--role", type=ROLES, default="driver", help="A driver sends and answers, a watcher only reads.")
@click.option("--force", is_flag=True, help="Accept the code also during the lockout after five wrong ones.")
@json_option
@click.pass_obj
def pair_command(out: Out, code: str, role: str, force: bool) -> None:
    """Let a person in. Somebody who writes to clew in a chat for the first time gets a CODE of eight characters.

    It is valid for an hour. After five wrong codes none is accepted for an hour, unless you add --force, which works
    only on this machine, never over the network or from a chat. The code must still be right.
    """
    from clew.client import requests

    person = out.client().ask(requests.pair(code, role, force=force))
    out.result(person, phrase("cli_setup.may_use", name=person.name, id=person.id, role=person.role))
    out.hint(phrase("cli_setup.people_next"))


@click.command("people", short_help="List people who may use clew in chats.")
@click.option("--remove", metavar="SURFACE:ID", help="Remove this person.")
@json_option
@click.pass_obj
def people_command(out: Out, remove: str | None) -> None:
    """List people who may use clew in chats, besides those in `allow` in config.toml."""
    from clew.client import requests

    if remove is not None:
        person = out.client().ask(requests.remove_person(remove))
        out.result(person, phrase("cli_setup.may_not_use", name=person.name, id=person.id))
        return
    rows = out.client().ask(requests.people())
    if out.as_json:
        out.json(rows)
        return
    if not rows:
        out.say(phrase("cli_setup.nobody_paired"))
        return
    from clew.cli.view.text_width import table

    lines = [(row.id, row.name, row.role, moment(row.added_at), row.added_by) for row in rows]
    for line in table([labels("id", "name", "role", "since", "by"), *lines]):
        out.line(line)
