"""Who may speak on the chat surfaces: pair, people."""

from __future__ import annotations

import click

from clew.cli.output import Out, json_option, moment

ROLES = click.Choice(["owner", "driver", "watcher"])


@click.command("pair", short_help="Let somebody in who has a code.")
@click.argument("code")
@click.option("--role", type=ROLES, default="driver", help="A driver sends and answers, a watcher only looks on.")
@click.option("--force", is_flag=True, help="Take the code now, also within the hour after five wrong ones.")
@json_option
@click.pass_obj
def pair_command(out: Out, code: str, role: str, force: bool) -> None:
    """Let somebody in: whoever writes to clew for the first time in a chat gets a CODE of eight characters.

    It lasts an hour. After five wrong codes no more is taken for an hour, unless you say --force: that works only here,
    at the machine, never over the network or from a chat. The code has to be right all the same.
    """
    forced = {"force": True} if force else {}
    person = out.client().post("people", body={"code": code, "role": role, **forced})
    out.result(person, f"{person['name']} ({person['id']}) may speak now, as {person['role']}")
    out.hint("clew people lists who may; clew people --remove SURFACE:ID takes it back")


@click.command("people", short_help="Who may speak in chats.")
@click.option("--remove", metavar="SURFACE:ID", help="They may not speak any more.")
@json_option
@click.pass_obj
def people_command(out: Out, remove: str | None) -> None:
    """Who may speak in chats, beside those whom `allow` in config.toml names."""
    if remove is not None:
        person = out.client().delete("people", remove)
        out.result(person, f"{person['name']} ({person['id']}) may not speak any more")
        return
    rows = out.client().get("people")
    if out.as_json:
        out.json(rows)
        return
    if not rows:
        out.say("nobody is paired; whoever writes to clew in a chat gets a code for `clew pair`")
        return
    from clew.cli.view.columns import table

    lines = [(row["id"], row["name"], row["role"], moment(row["added_at"]), row["added_by"]) for row in rows]
    for line in table([("ID", "NAME", "ROLE", "SINCE", "BY"), *lines]):
        out.line(line)
