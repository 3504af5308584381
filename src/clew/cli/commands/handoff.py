"""Handoffs and away mode: handoff, handoffs, away, back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.completion import chats, thread_argument
from clew.cli.language import labels, phrase, sentence, word
from clew.cli.output import Out, json_option, moment, prompt_text
from clew.support.errors import Refused

if TYPE_CHECKING:
    from clew.client.sync import Asks
    from clew.model.handoff import HandoffView


POLL = 10  # seconds that one request waits for the end of a handoff


@click.command("handoff", short_help="Hand a thread to another surface.")
@thread_argument()
@click.argument("target", metavar="SURFACE[:CONVERSATION]", shell_complete=chats)
@click.option("--say", default="", metavar="TEXT", help="A message to post there with it; - reads stdin.")
@click.option("--quiet", is_flag=True, help="The agent posts no greeting there.")
@json_option
@click.pass_obj
def handoff_command(out: Out, thread: str, target: str, say: str, quiet: bool) -> None:
    """Hand a thread to another surface, such as telegram, with its running turn, its queue and its open gates.

    It moves to a new topic or thread there if the platform has them, or else to the home conversation of the surface.
    Ctrl-C cancels a running handoff.
    """
    from clew.client import requests

    client = out.client()
    asked = client.ask(requests.hand_over(thread, target, prompt_text(say) if say else "", quiet=quiet))
    out.say(phrase("cli_threads.handing", surface=asked.surface))
    try:
        ended = wait_for_handoff(client, asked)
    except KeyboardInterrupt:
        ended = client.ask(requests.cancel_handoff(asked.id))
    if ended.state != "completed":
        raise Refused(sentence("cli_threads.handoff_failed", surface=ended.surface, error=ended.error))
    out.result(ended, phrase("cli_threads.handed", conversation=ended.conversation))
    out.hint(phrase("cli_threads.takes_back", thread=out.name_of(ended.thread)))


def wait_for_handoff(client: Asks, asked: HandoffView) -> HandoffView:
    """Poll until the handoff has ended. The daemon ends each one within a minute, also across restarts."""
    from clew.client import requests

    while asked.ended_at is None:
        asked = client.ask(requests.handoff(asked.id, wait=POLL))
    return asked


@click.command("handoffs", short_help="List handoffs to other surfaces.")
@json_option
@click.pass_obj
def handoffs_command(out: Out) -> None:
    """List handoffs to other surfaces, newest first."""
    from clew.client import requests

    rows = out.client().ask(requests.handoffs())
    if out.as_json:
        out.json(rows)
        return
    if not rows:
        out.say(phrase("cli_threads.no_handoffs"))
        return
    from clew.cli.view.text_width import table

    lines = [(row.thread, _place(row), word(row.state), moment(row.requested_at), row.error or "") for row in rows]
    for line in table([labels("thread", "to", "state", "asked", "why"), *lines]):
        out.line(line)


def _place(row: HandoffView) -> str:
    return row.conversation or row.surface


@click.command("away", short_help="While you are away, send answers and questions to a chat.")
@click.argument("target", metavar="[SURFACE[:CONVERSATION]]", required=False, shell_complete=chats)
@json_option
@click.pass_obj
def away_command(out: Out, target: str | None) -> None:
    """While you are away, send answers and questions that only the local client would show to a chat. Without SURFACE:
    show where they go."""
    from clew.client import requests

    where = out.client().ask(requests.go_away(target)) if target else out.client().ask(requests.away())
    place = where.conversation
    out.result(where, phrase("cli_threads.away", place=place) if place else phrase("cli_threads.not_away"))
    out.hint(phrase("cli_threads.back_ends") if place else phrase("cli_threads.away_sends"))


@click.command("back", short_help="End away mode.")
@json_option
@click.pass_obj
def back_command(out: Out) -> None:
    """End away mode: answers and questions are only shown by the local client again."""
    from clew.client import requests

    out.result(out.client().ask(requests.come_back()), phrase("cli_threads.welcome_back"))
