"""Read threads: threads, show, read, where."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.completion import newest_in, thread_argument
from clew.cli.language import phrase, row_name, said, sentence, word
from clew.cli.output import Out, is_terminal, json_option, moment, painted, table, terminal_columns, words_argument
from clew.cli.view.threads import named, suspension_words, thread_table
from clew.support.errors import Refused
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.views import ContinuityView, Passage, ThreadView, WhereRow

FEW = 20  # finished threads that are counted for a hint
LATELY, SHOWN = 86_400, 5  # threads that ended within so many seconds are listed too, the newest few


@click.command("threads", short_help="List threads, the last active first.")
@words_argument("words", required=False)
@click.option("--history", is_flag=True, help="List completed and cancelled threads.")
@click.option(
    "--status",
    type=click.Choice(["idle", "running", "waiting", "suspended", "completed", "cancelled"]),
    help="waiting: for a person, at an open gate or suspended.",
)
@click.option("--text", metavar="WORDS", help="The same as WORDS.")
@click.option("--workspace", metavar="FOLDER", type=click.Path(resolve_path=False))
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--before", metavar="THREAD", help="List threads that were last active before this one: the next page.")
@json_option
@click.pass_obj
def threads_command(
    out: Out,
    /,
    words: str | None,
    workspace: str | None,
    history: bool,
    status: str | None,
    text: str | None,
    limit: int,
    before: str | None,
) -> None:
    """List threads, the last active first: handle, status, title, runtime, the time since then, and the last line of
    the newest answer. With WORDS, those that have them in their id, title, folder or newest answer.

    On a terminal those follow that ended within a day, and a narrow one shows fewer columns.
    """
    from clew.client import requests

    text = text or words
    folder = os.path.abspath(workspace) if workspace else None  # noqa: PTH100 (as `start` stores it)
    page = out.client().ask(
        requests.threads(history=history, status=status, text=text, workspace=folder, limit=limit, before=before)
    )
    if out.as_json:
        out.json(page.threads)
        return
    room = terminal_columns()
    is_all = not (history or status or folder or before)
    lately = _lately_finished(out.client()) if is_all and room and not text else ()
    for line in thread_table([*page.threads, *lately], time.time(), room, _paint):
        print(line)
    finished = _finished(out, text, len(lately), is_needed=not page.threads) if is_all else ""
    if finished and text and not page.threads:
        out.say(finished)
        return
    if finished:
        out.hint(finished)
    if not page.threads and not lately:
        out.say(_none(bool(folder or status or text or before), history))
    else:
        more = phrase("cli_threads.more", next=page.next) if page.next else ""
        newest = max((*page.threads, *lately), key=lambda view: view.active_at)
        out.hint(phrase("cli_threads.threads_next", thread=named(newest), more=more))


def _lately_finished(client: Client) -> Sequence[ThreadView]:
    """The threads that ended within a day: a person looks for what they have just started."""
    from clew.client import requests

    since = (time.time() - LATELY) * 1000
    found = client.ask(requests.threads(history=True, limit=SHOWN)).threads
    return [view for view in found if view.active_at >= since]


def _finished(out: Out, text: str | None, shown: int, *, is_needed: bool) -> str:
    """How many finished threads the list leaves out, up to a few; of a search, how many it would find there."""
    from clew.client import requests

    if not (out.has_hints or (text and is_needed)):
        return ""
    page = out.client().ask(requests.threads(history=True, text=text, limit=FEW))
    if len(page.threads) <= shown:
        return ""
    count = f"{len(page.threads)}{'+' if page.next else ''}"
    words = f" {shlex.quote(text)}" if text else ""
    return phrase("cli_threads.finished", count=count, words=words)


def _none(is_filtered: bool, history: bool) -> str:
    what = (
        phrase("cli_threads.no_match")
        if is_filtered
        else phrase("cli_threads.none_finished")
        if history
        else phrase("cli_threads.none_open")
    )
    other = phrase("cli_threads.lists_open") if history else phrase("cli_threads.lists_finished")
    return phrase("cli_threads.start_one", what=what, other=other)


_COLOURS = {"running": 32, "waiting": 33, "suspended": 33, "damaged": 31, "completed": 2, "cancelled": 2}


def _paint(cell: str) -> str:
    colours = {word(status): colour for status, colour in _COLOURS.items()}
    colour = colours.get(cell.strip())
    return painted(cell, colour, sys.stdout) if colour else cell


@click.command("show", short_help="Show a thread.")
@thread_argument(required=False)
@json_option
@click.pass_obj
def show_command(out: Out, thread: str | None) -> None:
    """Show a thread: its state, and where its answer was delivered. Without THREAD: the newest thread of this
    folder."""
    from clew.client import requests

    view = out.client().ask(requests.thread(thread or newest_in(Path.cwd(), out.client())))
    if out.as_json:
        out.json(view)
        return
    sessions = out.client().ask(requests.continuity(view.id))
    for line in table([(name, value) for name, value in (*_described(view), *map(_session, sessions)) if value]):
        out.line(line)
    if view.status == "suspended" or view.gates:
        out.say(next_step(view))
    else:
        out.hint(next_step(view))


def _session(session: ContinuityView) -> tuple[str, str]:
    """How an agent opened its session for the thread, and when."""
    back = phrase("cli_threads.restarted", restarts=session.restarts) if session.restarts else ""
    back += phrase("cli_threads.rebuilt") if session.began == "rebuilt" else ""
    wrong = f": {said(session, 'reason')}" if session.status == "error" else ""
    name = f"{session.runtime} ({session.role})" if session.role else session.runtime
    return name, f"{word(session.status)} {moment(session.used_at)}{back}{wrong}" if session.status else ""


def _described(view: ThreadView) -> list[tuple[str, str]]:
    notified = f"{view.notify_target or phrase('cli_threads.here')}: {state_words(view.notification_status or '')}"
    return [
        (row_name("row_handle"), view.handle or ""),
        (row_name("row_id"), view.id),
        (row_name("row_title"), said(view, "title")),
        (row_name("row_status"), status_words(view)),
        (row_name("row_waits_for"), waits_for(view)),
        (row_name("row_kind"), word(view.kind)),
        (row_name("row_runtime"), " ".join(part for part in (view.runtime, view.model, view.effort) if part)),
        (row_name("row_policy"), policy_words(view)),
        (row_name("row_priority"), view.priority if view.priority != "normal" else ""),
        (row_name("row_fallback"), _order(view.fallback)),
        (row_name("row_at_limit"), _waiting(view)),
        (row_name("row_workspace"), view.workspace),
        (
            row_name("row_adopted"),
            phrase("cli_threads.session_of", runtime=view.runtime, adopted=view.adopted) if view.adopted else "",
        ),
        (row_name("row_turn"), view.turn or ""),
        (row_name("row_queued"), str(view.queued or "")),
        (row_name("row_created"), moment(view.created_at)),
        (row_name("row_completed"), moment(view.completed_at)),
        (row_name("row_answer"), notified if view.notification_status else ""),
        (row_name("row_delivered"), moment(view.notified_at)),
        (row_name("row_trouble"), said(view, "notification_error")),
        (row_name("row_head"), view.head or ""),
    ]


def policy_words(view: ThreadView) -> str:
    """The policy; if turns run under another one, that, with the reason."""
    return f"{view.policy_now}: {said(view, 'policy_reason')}" if view.policy_now else view.policy


def _order(names: tuple[str, ...] | None) -> str:
    return "" if names is None else ", ".join(names) or phrase("cli_threads.nobody")


def _waiting(view: ThreadView) -> str:
    """How it waits at a usage limit, if a person chose that for it."""
    given = (("on_limit", view.on_limit), ("limit_waits", view.limit_waits), ("quiet_hours", view.quiet_hours))
    return " ".join(f"{name}={'none' if value == '' else value}" for name, value in given if value is not None)


def status_words(view: ThreadView) -> str:
    """The status; `waiting` is a running thread with an open gate."""
    if view.status == "running" and view.gates:
        return word("waiting")
    return f"{word(view.status)} ({word(view.suspended_by)})" if view.suspended_by else word(view.status)


def waits_for(view: ThreadView) -> str:
    asks = phrase("cli_threads.an_answer_to", codes=", ".join(view.gates)) if view.gates else ""
    return suspension_words(view, time.time()) or asks or said(view, "held")


def next_step(view: ThreadView, *, was_read: bool = False) -> str:
    """The next useful command in a thread."""
    name = named(view)
    read = "" if was_read else phrase("cli_threads.read_shows", thread=name)
    if view.gates:
        return phrase("cli_threads.gate_next", code=view.gates[0])
    return {
        "running": phrase("cli_threads.running_next", thread=name, again=name),
        "suspended": phrase("cli_threads.suspended_next", thread=name, answers=_answers(view)),
        "completed": read + phrase("cli_threads.completed_next_one", thread=name),
        "cancelled": phrase("cli_threads.fork_starts", thread=name),
    }.get(view.status, read + phrase("cli_threads.idle_next", thread=name, again=name))


def _answers(view: ThreadView) -> str:
    if view.suspended_by == "limit" and view.other_agent:
        return phrase("cli_threads.answers_limit_on", agent=view.other_agent)
    name = _ANSWERS.get(view.suspended_by or "", "answers_any")
    return phrase(f"cli_threads.{name}")


_ANSWERS = {
    "cut": "answers_cut",
    "failure": "answers_failure",
    "limit": "answers_limit",
    "backlog": "answers_backlog",
    "budget": "answers_budget",
}


@click.command("read", short_help="Print the transcript of a thread.")
@thread_argument(required=False)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=200,
    show_default=True,
    help="Print the newest N.",
)
@click.option("--plain", is_flag=True, help="Print plain Markdown, also on a terminal.")
@click.option("--full", is_flag=True, help="With the output of commands and the diffs.")
@click.option("--told", is_flag=True, help="Print what its newest agent was told of what had happened before.")
@json_option
@click.pass_obj
def read_command(out: Out, thread: str | None, limit: int, plain: bool, full: bool, told: bool) -> None:
    """Print the transcript of a thread as Markdown; on a terminal it is formatted. Without THREAD: the newest thread of
    this folder.

    The last lines of a command that failed are always there; `--full` adds the output of all commands and the diffs.
    """
    from clew.client import requests

    client = out.client()
    thread = thread or newest_in(Path.cwd(), client)
    entries = client.ask(requests.transcript(thread, limit=limit))
    if told:
        _print_told(out, client, entries)
        return
    if out.as_json:
        out.json(entries)
        return
    from clew.cli.view.transcript import for_terminal, markdown

    view = client.ask(requests.thread(thread))
    layout = markdown if plain or not is_terminal(sys.stdout) else for_terminal
    print(layout(view, entries, full=full), end="")
    out.hint(next_step(view, was_read=True))


def _print_told(out: Out, client: Client, entries: Sequence[Passage]) -> None:
    """Print the newest prelude, as its agent got it."""
    from clew.client import requests

    turn = next((entry.turn for entry in reversed(entries) if entry.turn and entry.prelude), None)
    if turn is None:
        raise Refused(sentence("cli_threads.nothing_told"))
    prelude = client.ask(requests.prelude(turn))
    out.result(prelude, visible(prelude.text.rstrip()))


def state_words(state: str) -> str:
    """The state of a delivery, as text."""
    return phrase(f"cli_threads.{_STATES[state]}") if state in _STATES else word(state)


_STATES = {
    "pending": "delivery_pending",
    "sending": "delivery_sending",
    "failed": "delivery_failed",
    "no_target": "delivery_no_target",
    "superseded": "delivery_superseded",
}


def trace_words(row: WhereRow) -> str:
    """The receipt of a delivery that arrived, or why it did not."""
    if not row.message_id:
        return said(row, "error")
    shown = phrase("cli_threads.message", message_id=row.message_id)
    is_here = (row.conversation or "").partition(":")[0] == "local"
    return phrase(f"cli_threads.{_SHOWN[row.message_id]}") if is_here and row.message_id in _SHOWN else shown


_SHOWN = {
    "terminal": "shown_terminal",
    "desktop": "shown_desktop",
    "receipt": "shown_nowhere",
}


@click.command("where", short_help="Show where the answers of a thread were delivered.")
@thread_argument()
@json_option
@click.pass_obj
def where_command(out: Out, thread: str) -> None:
    """Show where the answers of a thread were delivered: target, state, tries and time."""
    from clew.client import requests

    rows = out.client().ask(requests.deliveries(thread))
    if out.as_json:
        out.json(rows)
        return
    for line in table([_receipt(row) for row in rows]) if rows else []:
        out.line(line)
    if not rows:
        out.hint(phrase("cli_threads.no_deliveries"))
    elif any(row.state == "failed" for row in rows):
        out.hint(phrase("cli_threads.retry_failed"))
    else:
        out.hint(phrase("cli_threads.read_transcript", thread=thread))


def _receipt(row: WhereRow) -> tuple[str, ...]:
    tries = f"{row.attempts}x" if row.attempts else "-"
    return (
        row.delivery,
        row.runtime or "-",
        row.conversation or phrase("cli_threads.here"),
        state_words(row.state),
        tries,
        moment(row.sent_at) or "-",
        trace_words(row),
    )
