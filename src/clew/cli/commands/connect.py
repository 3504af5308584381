"""Surfaces: list them, and connect one."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from clew.cli.completion import connectable
from clew.cli.language import in_locale, labels, phrase, said, sentence, word
from clew.cli.output import Out, json_option
from clew.support.errors import BadInput, Refused
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.config.plugin import Connecting, Field
    from clew.model.views import PersonView


@click.command("surfaces", short_help="List connected surfaces.")
@json_option
@click.pass_obj
def surfaces_command(out: Out) -> None:
    """List connected surfaces: their state, how deliveries avoid duplicates, and what happens to messages while clew is
    down.

    \b
    idempotent   the platform drops a repeat by its key
    verifiable   clew can check whether an answer arrived
    editable     a placeholder message is edited into the answer, marked
    best effort  in doubt the answer is sent again, marked
    """
    from clew.client import requests

    rows = out.client().ask(requests.status()).surfaces
    if out.as_json:
        out.json(rows)
        return
    from clew.cli.view.text_width import table

    lines = [
        (
            row.name,
            word(row.state),
            word(row.delivery),
            word(row.backlog),
            str(row.pending),
            said(row, "reason"),
        )
        for row in rows
    ]
    for line in table([labels("name", "state", "delivery", "backlog", "owed", "why"), *lines]):
        out.line(line)
    out.hint(phrase("cli_setup.connect_sets_up"))


@click.command("connect", short_help="Set up a chat app, step by step.")
@click.argument("surface", metavar="[SURFACE]", required=False, shell_complete=connectable)
@click.option(
    "--set",
    "given",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a value instead of being asked; - reads stdin.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait for a first message.")
@json_option
@click.pass_obj
def connect_command(out: Out, surface: str | None, given: tuple[str, ...], no_wait: bool) -> None:
    """Set up a chat app, step by step. Without SURFACE, list those that can be set up, and what each needs.

    It asks for the needed values, checks them, writes config.toml, restarts the daemon, waits for a message from you,
    lets you in, and greets you there.
    """
    from clew.cli.commands.daemon import GRACE
    from clew.config import plugins
    from clew.process.stop import restart_daemon
    from clew.support.home import Home

    if surface is None:
        _list(out)
        return
    plan = plugins.connecting(surface)
    values = _values(plan, dict(_pair(each) for each in given))
    connected = asyncio.run(plan.check(values))
    out.say(phrase("cli_setup.answers", who=connected.who))
    _write(surface, plan, values)
    client = out.client()
    restart_daemon(Home.find(), GRACE, out.say)
    out.say(phrase("cli_setup.config_written", surface=surface, state=_state(client, surface)))
    person = None
    if no_wait or not sys.stdin.isatty():  # a person has to decide whom to let in
        out.say(phrase("cli_setup.pair_lets_in", next=connected.next))
    else:
        person = _meet(out, client, surface, connected.next)
    out.result(
        {"surface": surface, "who": connected.who, "person": person},
        phrase("cli_setup.connected_as", surface=surface, who=connected.who),
    )


def _list(out: Out) -> None:
    """What can be connected, and what `clew connect` will ask for."""
    from clew.cli.view.text_width import table
    from clew.config import plugins, settings
    from clew.support.home import Home

    tables = settings.load(Home.find().config).surfaces
    rows = [
        {
            "surface": name,
            "connected": name in tables,
            "needs": [{"name": field.name, "words": field.words} for field in _asked(name)],
        }
        for name in plugins.connectable()
    ]
    if out.as_json:
        out.json(rows)
        return
    lines = []
    for name in plugins.connectable():
        needs = [in_locale(field.words) for field in _asked(name)] or [phrase("cli_setup.nothing")]
        lines.append(
            (name, phrase("cli_setup.connected") if name in tables else phrase("cli_setup.not_connected"), needs[0])
        )
        lines += [("", "", each) for each in needs[1:]]
    for line in table([labels("surface", "state", "needs"), *lines]):
        out.line(line)
    out.say(phrase("cli_setup.connect_step"))


def _asked(surface: str) -> list[Field]:
    from clew.config import plugins

    return [field for field in plugins.connecting(surface).FIELDS if field.is_asked]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(sentence("cli_setup.write_name_value", text=text))
    return name, sys.stdin.read().strip() if value == "-" else value


def _values(plan: Connecting, given: dict[str, str]) -> dict[str, str]:
    known = {field.name for field in plan.FIELDS}
    if unknown := sorted(set(given) - known):
        raise click.UsageError(
            sentence("cli_setup.set_unknown", given=unknown[0], surface=plan.SURFACE, known=", ".join(sorted(known)))
        )
    return {field.name: given.get(field.name) or _ask(field) for field in plan.FIELDS}


def _ask(field: Field) -> str:
    if not field.is_asked:
        return str(field.default)
    if not sys.stdin.isatty():
        raise BadInput(sentence("cli_setup.no_terminal", name=field.name, again=field.name))
    words = in_locale(field.words)
    shown = phrase("cli_setup.hidden_prompt", words=words) if field.secret else words
    return str(click.prompt(shown, hide_input=field.secret, err=True))


def _write(surface: str, plan: Connecting, values: dict[str, str]) -> None:
    """Write values that are not the default, or that were set before. An invalid result is refused, and nothing is
    written."""
    import tomllib

    from clew.config import edit, reading, settings
    from clew.support.home import Home

    home = Home.find()
    text = home.config.read_text(encoding="utf-8") if home.config.exists() else ""
    for field in plan.FIELDS:
        key = ("surfaces", surface, field.name)
        if values[field.name] != field.default or reading.has_key(tomllib.loads(text), key):
            text = edit.assign(text, key, values[field.name].strip())
    settings.parse(text, sentence("cli_setup.config_would_be", config=home.config))
    home.prepare()
    edit.write(home.config, text)


def _state(client: Client, surface: str) -> str:
    from clew.client import requests

    found = [row for row in client.ask(requests.status()).surfaces if row.name == surface]
    if not found:
        raise Refused(sentence("cli_setup.not_started", surface=surface))
    return phrase("cli_setup.down", reason=said(found[0], "reason")) if found[0].reason else word("up")


def _meet(out: Out, client: Client, surface: str, words: str) -> PersonView | None:
    """Wait until somebody writes there, and let them in if the person at the terminal agrees."""
    from clew.client import requests
    from clew.model.events.kinds import EventKind

    out.say(phrase("cli_setup.waiting", words=words))
    declined: set[str] = set()
    for event in client.events(None):
        if event.kind not in (EventKind.HELLO, EventKind.PERSON_ASKED):
            continue
        for asking in client.ask(requests.people_asking()):
            if not asking.id.startswith(f"{surface}:"):
                continue
            who = visible(phrase("cli_setup.asking", name=asking.name, id=asking.id, code=asking.code))
            if asking.code in declined:
                continue
            if not click.confirm(phrase("cli_setup.let_in", who=who), err=True):
                declined.add(asking.code)
                continue
            person = client.ask(requests.pair(asking.code, "owner"))
            out.say(phrase("cli_setup.let_in_done", who=who))
            return person
    return None
