"""Changing threads: resume, stop, done, cancel, fork, title, set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from clew.cli.completion import POLICIES, check_thread_ids, thread_argument, thread_ids, thread_settings
from clew.cli.language import in_locale, said
from clew.cli.output import Out, json_option, prompt_text
from clew.cli.view.text_width import one_line
from clew.cli.view.threads import named
from clew.support.errors import BadInput, Refused

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.views import ThreadView


@click.command("resume", short_help="Resume a finished or suspended thread with new information.")
@thread_argument()
@click.argument("text", required=False)
@click.option("--supplement", metavar="TEXT", help="The same as TEXT.")
@json_option
@click.pass_obj
def resume_command(out: Out, thread: str, text: str | None, supplement: str | None) -> None:
    """Resume a completed thread with new information, or answer the question of a suspended one.

    TEXT is the new information, or the answer; - reads stdin. `clew chat THREAD` comes back to a thread without one.
    """
    from clew.client import requests

    supplement = text if supplement is None else supplement
    if supplement is None:
        raise click.UsageError("resume needs a TEXT: the new information, or the answer. clew chat THREAD needs none.")
    if text is not None and text != supplement:
        raise click.UsageError("give the text once: as TEXT or as --supplement TEXT.")
    accepted = out.client().ask(requests.resume(thread, prompt_text(supplement)))
    out.result(accepted, in_locale(accepted.reply) or f"turn {accepted.turn}")
    out.hint(f"clew watch {out.name_of(accepted.thread)} follows it")


@click.command("stop", short_help="Stop the running turn of a thread.")
@thread_argument()
@json_option
@click.pass_obj
def stop_command(out: Out, thread: str) -> None:
    """Stop the running turn of a thread. Queued turns still run."""
    from clew.client import requests

    turn = out.client().ask(requests.stop(thread))
    out.result(turn, f"stopping turn {turn.id}")
    name = out.name_of(turn.thread)
    out.hint(f"clew read {name} shows how far it got; clew send {name} '…' continues")


@click.command("done", short_help="Mark threads as completed.")
@click.argument("threads", nargs=-1, metavar="[THREAD]...", shell_complete=thread_ids, callback=check_thread_ids)
@click.option("--idle-for", metavar="TIME", help="All idle chats in which nothing happened for so long, such as 30d.")
@click.option("--dry-run", is_flag=True, help="With --idle-for: only list them.")
@json_option
@click.pass_obj
def done_command(out: Out, threads: tuple[str, ...], idle_for: str | None, dry_run: bool) -> None:
    """Mark threads as completed: those that are named, or idle chats without activity. `clew resume` reopens them.

    --idle-for leaves alone what runs, waits or is queued, tasks, and sessions that other programs use too.
    """
    from clew.client import requests
    from clew.client.idle_chats import idle_chats
    from clew.support.durations import parse_duration

    if bool(threads) == (idle_for is not None):
        raise click.UsageError("name threads, or give --idle-for TIME.")
    if dry_run and idle_for is None:
        raise click.UsageError("--dry-run goes with --idle-for.")
    client = out.client()
    if len(threads) == 1:
        view = client.ask(requests.done(threads[0]))
        out.result(view, f"{named(view)} is {view.status}")
        out.hint(f"clew resume {named(view)} --supplement '…' reopens it")
        return
    if idle_for is not None:
        found = list(idle_chats(client, int(time.time() * 1000), parse_duration(idle_for)))
        if not found:
            out.say("no idle chat is that old")
        if dry_run:
            _print_done(out, found, "would be completed")
            return
        threads = tuple(view.id for view in found)
    _complete(out, client, threads)


def _complete(out: Out, client: Client, threads: Sequence[str]) -> None:
    """Complete each of them. One that is refused does not keep the others open: exit 1 in the end."""
    from clew.client import requests

    done, refused = [], []
    for name in threads:
        try:
            done.append(client.ask(requests.done(name)))
        except (Refused, BadInput) as error:
            refused.append(error.words)
    _print_done(out, done, "is completed")
    for words in refused:
        out.say(f"clew: {in_locale(words)}")
    if refused:
        raise click.exceptions.Exit(1)


def _print_done(out: Out, views: Sequence[ThreadView], state: str) -> None:
    if out.as_json:
        out.json(views)
        return
    for view in views:
        out.line(f"{named(view)} {state}: {one_line(said(view, 'title'))}")
    if views:
        out.hint("clew threads --history lists completed threads; clew resume THREAD --supplement '…' reopens one")


@click.command("cancel", short_help="Cancel a thread for good.")
@thread_argument()
@json_option
@click.pass_obj
def cancel_command(out: Out, thread: str) -> None:
    """Cancel a thread for good: its running turn is stopped, queued ones are dropped. It can still be forked."""
    from clew.client import requests

    view = out.client().ask(requests.cancel(thread))
    out.result(view, f"{named(view)} is cancelled")
    out.hint(f"clew fork {named(view)} starts a new one from it")


@click.command("fork", short_help="Start a new thread from the history of another one.")
@thread_argument()
@click.option("--turn", metavar="TURN", help="Fork after this turn; default: the newest that has ended.")
@click.option("--title", help="Default: the old title, marked as a fork.")
@json_option
@click.pass_obj
def fork_command(out: Out, thread: str, turn: str | None, title: str | None) -> None:
    """Start a new thread with the history of another one. Prints the new id."""
    from clew.client import requests

    view = out.client().ask(requests.fork(thread, turn, title))
    out.result(view, view.id)
    out.hint(f"clew chat {named(view)} continues there")


@click.command("title", short_help="Change the title of a thread.")
@thread_argument()
@click.argument("title")
@json_option
@click.pass_obj
def title_command(out: Out, thread: str, title: str) -> None:
    """Change the title of a thread."""
    from clew.client import requests

    view = out.client().ask(requests.retitle(thread, prompt_text(title)))
    out.result(view, f"{named(view)}: {view.title}")
    out.hint(f"clew show {named(view)} shows its state")


SETTINGS = ("model", "effort", "policy")


def _settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse `NAME=VALUE` arguments."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if name not in SETTINGS or not equals or not value.strip():
            raise click.BadParameter(f"{each!r} is not a setting; write model=NAME, effort=NAME or policy=NAME.")
        if name == "policy" and value not in POLICIES:
            raise click.BadParameter(f"{value!r} is not a policy; there are: {', '.join(POLICIES)}.")
        if name in found:
            raise click.BadParameter(f"{name} is given twice; give it once.")
        found[name] = value
    return found


@click.command("set", short_help="Change the model, effort or policy of a thread.")
@thread_argument()
@click.argument(
    "settings", metavar="NAME=VALUE...", nargs=-1, required=True, callback=_settings, shell_complete=thread_settings
)
@json_option
@click.pass_obj
def set_command(out: Out, thread: str, settings: dict[str, str]) -> None:
    """Change the model, effort or policy of a thread. They hold from its next turn.

    \b
    clew set THREAD model=NAME effort=high
    clew set THREAD policy=read-only        or careful, sandbox, trusted, yolo
    """
    from clew.client import requests

    view = out.client().ask(requests.change(thread, **settings))
    changed = " ".join(f"{name}={value}" for name, value in settings.items())
    out.result(view, f"{named(view)}, from its next turn on: {changed}")
    out.hint(f"clew show {named(view)} shows its settings")
