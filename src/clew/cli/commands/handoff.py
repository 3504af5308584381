"""Moving: handoff, handoffs, away, back."""

from __future__ import annotations

from typing import Any

import click

from clew.cli.completion import chats, thread_argument
from clew.cli.output import Out, json_option, moment, prompt_text
from clew.support.errors import Refused

AT_ONCE = 10  # seconds of one look at a handoff that is under way


@click.command("handoff", short_help="Hand a thread to another surface.")
@thread_argument()
@click.argument("target", metavar="SURFACE[:CONVERSATION]", shell_complete=chats)
@click.option("--say", default="", metavar="TEXT", help="Said there with it; - is stdin.")
@click.option("--quiet", is_flag=True, help="The agent does not greet there.")
@json_option
@click.pass_obj
def handoff_command(out: Out, thread: str, target: str, say: str, quiet: bool) -> None:
    """Hand a thread to another surface, such as telegram: what runs in it, what waits and what it asks move along.

    It goes to a fresh topic or thread there where the platform has them, else to the home of the surface. Ctrl-C takes
    it back while it is under way.
    """
    client = out.client()
    body = {"thread": thread, "target": target, "say": prompt_text(say) if say else "", "quiet": quiet}
    asked = client.post("handoffs", body=body)
    out.say(f"handing it to {asked['surface']}…")
    try:
        ended = wait_for_handoff(client, asked)
    except KeyboardInterrupt:
        ended = client.delete("handoffs", asked["id"])
    if ended["state"] != "completed":
        raise Refused(f"It was not handed to {ended['surface']}: {ended['error']} It stays where it is.")
    out.result(ended, f"it goes on in {ended['conversation']}")
    out.hint(f"clew chat {ended['thread']} comes back to it")


def wait_for_handoff(client: Any, asked: Any) -> Any:
    """The daemon ends each one within a minute; whatever is killed meanwhile, it is asked again."""
    while asked["ended_at"] is None:
        asked = client.get("handoffs", asked["id"], wait=AT_ONCE)
    return asked


@click.command("handoffs", short_help="Threads that were handed to another surface.")
@json_option
@click.pass_obj
def handoffs_command(out: Out) -> None:
    """Threads that were handed to another surface, the newest first."""
    rows = out.client().get("handoffs")
    if out.as_json:
        out.json(rows)
        return
    if not rows:
        out.say("nothing was handed over yet; clew handoff THREAD SURFACE does it")
        return
    from clew.cli.view.columns import table

    lines = [
        (row["thread"], _place(row), row["state"], moment(row["requested_at"]), row["error"] or "") for row in rows
    ]
    for line in table([("THREAD", "TO", "STATE", "ASKED", "WHY"), *lines]):
        out.line(line)


def _place(row: Any) -> str:
    return str(row["conversation"] or row["surface"])


@click.command("away", short_help="While away, see on a chat what the desk would show.")
@click.argument("target", metavar="[SURFACE[:CONVERSATION]]", required=False, shell_complete=chats)
@json_option
@click.pass_obj
def away_command(out: Out, target: str | None) -> None:
    """While you are away, answers and questions that only the desk would show go to a chat. Alone: where you are."""
    where = out.client().put("away", body={"target": target}) if target else out.client().get("away")
    place = where["conversation"]
    out.result(where, f"what the desk would show goes to {place}" if place else "you are at the desk")
    out.hint("clew back ends it" if place else "clew away SURFACE sends things there")


@click.command("back", short_help="Back at the desk.")
@json_option
@click.pass_obj
def back_command(out: Out) -> None:
    """Back at the desk: answers and questions are shown here again."""
    out.result(out.client().delete("away"), "welcome back")
