"""Changing threads: resume, stop, done, cancel, fork, title, set."""

from __future__ import annotations

import click

from clew.cli.completion import POLICIES, thread_argument, thread_settings
from clew.cli.language import in_locale
from clew.cli.output import Out, json_option, prompt_text
from clew.cli.view.threads import named


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


@click.command("done", short_help="Mark a thread as completed.")
@thread_argument()
@json_option
@click.pass_obj
def done_command(out: Out, thread: str) -> None:
    """Mark a thread as completed. `clew resume` reopens it."""
    from clew.client import requests

    view = out.client().ask(requests.done(thread))
    out.result(view, f"{named(view)} is {view.status}")
    out.hint(f"clew resume {named(view)} --supplement '…' reopens it")


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
    clew set THREAD policy=read-only        or careful, trusted, yolo
    """
    from clew.client import requests

    view = out.client().ask(requests.change(thread, **settings))
    changed = " ".join(f"{name}={value}" for name, value in settings.items())
    out.result(view, f"{named(view)}, from its next turn on: {changed}")
    out.hint(f"clew show {named(view)} shows its settings")
