"""Changing threads: resume, stop, done, cancel, fork, title, set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from clew.cli.completion import POLICIES, check_thread_ids, targets, thread_argument, thread_ids, thread_settings
from clew.cli.language import in_locale, phrase, said, sentence, word
from clew.cli.output import Out, json_option, prompt_text, words_argument
from clew.cli.view.text_width import one_line
from clew.cli.view.threads import named
from clew.support.errors import BadInput, Refused

if TYPE_CHECKING:
    from clew.client.requests import Sent
    from clew.client.sync import Client
    from clew.model.views import ThreadView


STOP, FEW = "stop", 9  # how many threads are named


@click.command("resume", short_help="Resume a finished or suspended thread with new information.")
@thread_argument()
@words_argument("text", required=False)
@click.option("--supplement", metavar="TEXT", help="The same as TEXT.")
@click.option("--notify", metavar="TARGET", shell_complete=targets, help="Send its answers there from now on.")
@click.option("--now", is_flag=True, help="Of a thread at a usage limit: try now.")
@click.option("--on", "agent", metavar="AGENT", help="Of a thread at a usage limit: let another agent take the work.")
@json_option
@click.pass_obj
def resume_command(
    out: Out,
    thread: str,
    text: str | None,
    supplement: str | None,
    notify: str | None,
    now: bool,
    agent: str | None,
) -> None:
    """Resume a completed thread with new information, or answer the question of a suspended one.

    TEXT is the new information, or the answer; - reads stdin. To an idle thread, TEXT is sent as its next message.
    `clew chat THREAD` comes back to a thread without a TEXT.
    """
    from clew.client import requests

    if now or agent:
        if text is not None or supplement is not None or (now and agent):
            raise click.UsageError(sentence("cli_threads.one_of_text_now_on"))
        text = f"on {agent}" if agent else "now"
    supplement = text if supplement is None else supplement
    if supplement is None:
        raise click.UsageError(sentence("cli_threads.needs_text", thread=thread, again=thread))
    if text is not None and text != supplement:
        raise click.UsageError(sentence("cli_threads.text_once"))
    client = out.client()
    if notify:
        from clew.cli.commands.run import with_terminal

        client.ask(requests.change(thread, notify=with_terminal(notify)))
    accepted = _resume(out, client, thread, prompt_text(supplement))
    name = out.name_of(accepted.thread)
    out.result(accepted, in_locale(accepted.reply) or phrase("cli_threads.goes_on", thread=name))
    if accepted.turn:  # after a `stop` there is nothing to follow
        out.hint(phrase("cli_threads.watch_follows", thread=name))


def _resume(out: Out, client: Client, thread: str, text: str) -> Sent:
    """Resume a thread. An idle one has nothing to be resumed from: the text is its next message."""
    from clew.client import requests

    view = client.ask(requests.thread(thread))
    if view.status != "idle":
        return client.ask(requests.resume(thread, text))
    out.say(phrase("cli_threads.idle_gets_text", thread=named(view)))
    return client.ask(requests.send(view.id, text))


@click.command("stop", short_help="Stop the running turn of a thread.")
@thread_argument(required=False)
@json_option
@click.pass_obj
def stop_command(out: Out, thread: str | None) -> None:
    """Stop the running turn of a thread; if only one works you need not name it. A message that the agent has not read
    by then does not run; turns that are queued behind it still do."""
    from clew.client import requests

    client = out.client()
    turn = client.ask(requests.stop(thread or _only_working(client)))
    name = out.name_of(turn.thread)
    out.result(turn, phrase("cli_threads.stopping", thread=name))
    if queued := client.ask(requests.thread(turn.thread)).queued:
        out.say(phrase("cli_threads.still_queued", count=queued, thread=name))
    out.hint(phrase("cli_threads.stopped_next", thread=name, again=name))


def _only_working(client: Client) -> str:
    """The only thread that works now, for a person who names none."""
    from clew.client import requests

    found = client.ask(requests.threads(status="running", limit=FEW)).threads
    if not found:
        raise Refused(sentence("cli_threads.nothing_works"))
    if len(found) > 1:
        commands = phrase("cli_gates.or").join(f"`clew {STOP} {named(view)}`" for view in found)
        raise click.UsageError(sentence("cli_threads.name_working", commands=commands))
    return found[0].id


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

    if bool(threads) == (idle_for is not None):
        raise click.UsageError(sentence("cli_threads.name_threads"))
    if dry_run and idle_for is None:
        raise click.UsageError(sentence("cli_threads.dry_run_idle"))
    client = out.client()
    if len(threads) == 1:
        view = client.ask(requests.done(threads[0]))
        out.result(view, phrase("cli_threads.is_status", thread=named(view), status=word(view.status)))
        out.hint(phrase("cli_threads.reopens", thread=named(view)))
        return
    if idle_for is not None:
        _complete_idle(out, client, idle_for, dry_run=dry_run)
        return
    _complete(out, client, threads)


def _complete_idle(out: Out, client: Client, idle_for: str, *, dry_run: bool) -> None:
    from clew.client import requests
    from clew.support.durations import parse_duration

    found = client.ask(requests.finish_idle(parse_duration(idle_for) / 1000, dry_run=dry_run))
    if not found:
        out.say(phrase("cli_threads.none_that_old"))
    _print_done(out, found, phrase("cli_threads.would_be_completed" if dry_run else "cli_threads.is_completed"))


def _complete(out: Out, client: Client, threads: Sequence[str]) -> None:
    """Complete each of them. One that is refused does not keep the others open: exit 1 in the end."""
    from clew.client import requests

    done, refused = [], []
    for name in threads:
        try:
            done.append(client.ask(requests.done(name)))
        except (Refused, BadInput) as error:
            refused.append(error.words)
    _print_done(out, done, phrase("cli_threads.is_completed"))
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
        out.hint(phrase("cli_threads.completed_next"))


@click.command("cancel", short_help="Cancel a thread for good.")
@thread_argument()
@json_option
@click.pass_obj
def cancel_command(out: Out, thread: str) -> None:
    """Cancel a thread for good: its running turn is stopped, queued ones are dropped. It can still be forked."""
    from clew.client import requests

    view = out.client().ask(requests.cancel(thread))
    out.result(view, phrase("cli_threads.cancelled", thread=named(view)))
    out.hint(phrase("cli_threads.fork_starts", thread=named(view)))


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
    out.hint(phrase("cli_threads.chat_continues", thread=named(view)))


@click.command("title", short_help="Change the title of a thread.")
@thread_argument()
@words_argument("title")
@json_option
@click.pass_obj
def title_command(out: Out, thread: str, title: str) -> None:
    """Change the title of a thread."""
    from clew.client import requests

    view = out.client().ask(requests.retitle(thread, prompt_text(title)))
    out.result(view, f"{named(view)}: {view.title}")
    out.hint(phrase("cli_threads.show_state", thread=named(view)))


SETTINGS = ("model", "effort", "policy", "priority")
PRIORITIES = ("high", "normal", "low")
CHOICES = ("fallback", "on_limit", "limit_waits", "quiet_hours", "notify")
BUDGETS = ("budget.tokens", "budget.turns", "budget.time")


def _settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse `NAME=VALUE` arguments."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if name not in (*SETTINGS, *CHOICES, *BUDGETS) or not equals or not value.strip():
            raise click.BadParameter(sentence("cli_threads.not_a_setting", given=f"{each!r}"))
        if name in BUDGETS:
            _limit(name, value)
        if name == "policy" and value not in POLICIES:
            raise click.BadParameter(
                sentence("cli_threads.not_a_policy", value=f"{value!r}", known=", ".join(POLICIES))
            )
        if name == "priority" and value not in PRIORITIES:
            raise click.BadParameter(
                sentence("cli_threads.not_a_priority", value=f"{value!r}", known=", ".join(PRIORITIES))
            )
        if name in found:
            raise click.BadParameter(sentence("cli_threads.given_twice", name=name))
        found[name] = value
    return found


def _limit(name: str, value: str) -> int:
    """0: none of its own."""
    from clew.support.durations import parse_duration
    from clew.support.errors import BadInput

    if value == "none":
        return 0
    try:
        limit = parse_duration(value) if name == "budget.time" else int(value.replace("_", ""))
    except (BadInput, ValueError):
        limit = 0
    if not 0 < limit <= 1 << 49:
        example = "4h" if name == "budget.time" else "500000"
        raise click.BadParameter(
            sentence("cli_threads.not_a_limit", value=f"{value!r}", name=name, example=example, again=name)
        )
    return limit


@click.command("set", short_help="Change the model, effort or policy of a thread.")
@thread_argument()
@click.argument(
    "settings", metavar="NAME=VALUE...", nargs=-1, required=True, callback=_settings, shell_complete=thread_settings
)
@json_option
@click.pass_obj
def set_command(out: Out, thread: str, settings: dict[str, str]) -> None:
    """Change the model, effort, policy, priority, budget or waiting of a thread. They hold from its next turn.

    \b
    clew set THREAD model=NAME effort=high
    clew set THREAD policy=read-only        or careful, sandbox, trusted, yolo
    clew set THREAD priority=low            or normal, high
    clew set THREAD fallback=claude,codex   or none, default
    clew set THREAD on_limit=ask limit_waits=2 quiet_hours=23:00-07:00     or =default
    clew set THREAD notify=telegram         or local, webhook:NAME, none
    clew set THREAD budget.tokens=500000 budget.turns=20 budget.time=4h     or =none
    """
    from clew.client import requests

    limits = {name.partition(".")[2]: _limit(name, value) for name, value in settings.items() if name in BUDGETS}
    plain = {name: value for name, value in settings.items() if name not in BUDGETS}
    if "notify" in plain:
        from clew.cli.commands.run import with_terminal

        plain["notify"] = with_terminal(plain["notify"])
    client = out.client()
    if limits:
        view = client.ask(requests.limit(thread, **limits))
    if plain:
        view = client.ask(requests.change(thread, **plain))
    changed = " ".join(f"{name}={value}" for name, value in settings.items())
    out.result(view, phrase("cli_threads.settings_changed", thread=named(view), changed=changed))
    out.hint(phrase("cli_threads.show_settings", thread=named(view)))
