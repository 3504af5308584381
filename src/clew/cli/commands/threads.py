"""Read threads: threads, show, read, where."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from clew.cli.completion import thread_argument
from clew.cli.language import said
from clew.cli.output import Out, is_terminal, json_option, moment, painted, table, terminal_columns
from clew.cli.view.threads import named, thread_table

if TYPE_CHECKING:
    from clew.model.views import ContinuityView, ThreadView, WhereRow


@click.command("threads", short_help="List threads, newest first.")
@click.option("--history", is_flag=True, help="List completed and cancelled threads.")
@click.option(
    "--status",
    type=click.Choice(["idle", "running", "waiting", "suspended", "completed", "cancelled"]),
    help="waiting: for a person, at an open gate or suspended.",
)
@click.option("--text", metavar="WORDS", help="Search in id, title, folder and newest answer.")
@click.option("--workspace", metavar="FOLDER", type=click.Path(resolve_path=False))
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--before", metavar="THREAD", help="List older threads than this one: the next page.")
@json_option
@click.pass_obj
def threads_command(
    out: Out,
    /,
    workspace: str | None,
    history: bool,
    status: str | None,
    text: str | None,
    limit: int,
    before: str | None,
) -> None:
    """List threads, newest first: handle, status, title, runtime, age, and the last line of the newest answer."""
    from clew.client import requests

    folder = os.path.abspath(workspace) if workspace else None  # noqa: PTH100 (as `start` stores it)
    page = out.client().ask(
        requests.threads(history=history, status=status, text=text, workspace=folder, limit=limit, before=before)
    )
    if out.as_json:
        out.json(page.threads)
        return
    room = terminal_columns()
    for line in thread_table(page.threads, time.time(), room, _paint):
        print(line)
    if not page.threads:
        out.say(_none(bool(folder or status or text or before), history))
    else:
        more = f"; more: --before {page.next}" if page.next else ""
        out.hint(f"clew chat {named(page.threads[0])} continues the newest{more}")


def _none(is_filtered: bool, history: bool) -> str:
    what = "no thread matches" if is_filtered else "no finished threads yet" if history else "no open threads"
    other = "clew threads lists the open ones" if history else "clew threads --history lists the finished ones"
    return f"{what}; clew start PROMPT starts one, {other}"


def _paint(cell: str) -> str:
    colour = {"running": 32, "waiting": 33, "suspended": 33, "damaged": 31, "cancelled": 2}.get(cell.strip())
    return painted(cell, colour, sys.stdout) if colour else cell


@click.command("show", short_help="Show a thread.")
@thread_argument()
@json_option
@click.pass_obj
def show_command(out: Out, thread: str) -> None:
    """Show a thread: its state, and where its answer was delivered."""
    from clew.client import requests

    view = out.client().ask(requests.thread(thread))
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
    back = f", restarted {session.restarts} times" if session.restarts else ""
    back += ", rebuilt from clew's history" if session.began == "rebuilt" else ""
    wrong = f": {session.reason}" if session.status == "error" else ""
    name = f"{session.runtime} ({session.role})" if session.role else session.runtime
    return name, f"{session.status} {moment(session.used_at)}{back}{wrong}" if session.status else ""


def _described(view: ThreadView) -> list[tuple[str, str]]:
    notified = f"{view.notify_target or 'here'}: {state_words(view.notification_status or '')}"
    return [
        ("handle", view.handle or ""),
        ("id", view.id),
        ("title", said(view, "title")),
        ("status", status_words(view)),
        ("waits for", waits_for(view)),
        ("kind", view.kind),
        ("runtime", " ".join(part for part in (view.runtime, view.model, view.effort) if part)),
        ("policy", view.policy),
        ("workspace", view.workspace),
        ("adopted", f"{view.runtime} session {view.adopted}" if view.adopted else ""),
        ("turn", view.turn or ""),
        ("queued", str(view.queued or "")),
        ("created", moment(view.created_at)),
        ("completed", moment(view.completed_at)),
        ("answer", notified if view.notification_status else ""),
        ("delivered", moment(view.notified_at)),
        ("trouble", said(view, "notification_error")),
        ("head", view.head or ""),
    ]


def status_words(view: ThreadView) -> str:
    """The status; `waiting` is a running thread with an open gate."""
    if view.status == "running" and view.gates:
        return "waiting"
    return f"{view.status} ({view.suspended_by})" if view.suspended_by else view.status


def waits_for(view: ThreadView) -> str:
    asks = f"an answer to {', '.join(view.gates)}" if view.gates else ""
    return said(view, "suspend_message") or asks


def next_step(view: ThreadView) -> str:
    """The next useful command in a thread."""
    name = named(view)
    if view.gates:
        return f"clew gates {view.gates[0]} shows what it asks, and how to answer"
    return {
        "running": f"clew watch {name} follows it; clew stop {name} stops it",
        "suspended": f"clew resume {name} --supplement {_ANSWERS.get(view.suspended_by or '', _ANY_ANSWER)}",
        "completed": f"clew read {name} shows it; clew resume {name} --supplement '…' continues it",
        "cancelled": f"clew fork {name} starts a new one from it",
    }.get(view.status, f"clew read {name} shows it; clew send {name} '…' or clew chat {name} continues it")


_ANSWERS = {
    "cut": "continue continues it; stop instead of continue ends it",
    "failure": "continue retries it",
    "backlog": "'run all' runs the waiting messages; merge joins them into one, skip drops them",
}
_ANY_ANSWER = "'…' answers it"


@click.command("read", short_help="Print the transcript of a thread.")
@thread_argument()
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=200,
    show_default=True,
    help="Print the newest N.",
)
@click.option("--plain", is_flag=True, help="Print plain Markdown, also on a terminal.")
@click.option("--full", is_flag=True, help="With the output of commands and the diffs.")
@json_option
@click.pass_obj
def read_command(out: Out, thread: str, limit: int, plain: bool, full: bool) -> None:
    """Print the transcript of a thread as Markdown; on a terminal it is formatted.

    The last lines of a command that failed are always there; `--full` adds the output of all commands and the diffs.
    """
    from clew.client import requests

    client = out.client()
    entries = client.ask(requests.transcript(thread, limit=limit))
    if out.as_json:
        out.json(entries)
        return
    from clew.cli.view.transcript import markdown, print_formatted

    view = client.ask(requests.thread(thread))
    text = markdown(view, entries, full=full)
    if plain or not is_terminal(sys.stdout):
        print(text, end="")
    else:
        print_formatted(text)
    out.hint(next_step(view).removeprefix(f"clew read {named(view)} shows it; "))


def state_words(state: str) -> str:
    """The state of a delivery, as text."""
    return _STATES.get(state, state)


_STATES = {
    "pending": "waiting to be sent",
    "sending": "on its way",
    "failed": "not delivered",
    "no_target": "kept in the thread, because no target was set",
    "superseded": "not needed any more",
}


def trace_words(row: WhereRow) -> str:
    """The receipt of a delivery that arrived, or why it did not."""
    if not row.message_id:
        return row.error or ""
    shown = f"message {row.message_id}"
    is_here = (row.conversation or "").partition(":")[0] == "local"
    return _SHOWN.get(row.message_id, shown) if is_here else shown


_SHOWN = {
    "terminal": "shown on a terminal",
    "desktop": "shown on the desktop",
    "receipt": "recorded only: no terminal was watching, and there is no desktop",
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
        out.hint("it has no deliveries yet")
    elif any(row.state == "failed" for row in rows):
        out.hint("clew notify --retry-failed retries what failed")
    else:
        out.hint(f"clew read {thread} shows the transcript")


def _receipt(row: WhereRow) -> tuple[str, ...]:
    tries = f"{row.attempts}x" if row.attempts else "-"
    return (
        row.delivery,
        row.conversation or "here",
        state_words(row.state),
        tries,
        moment(row.sent_at) or "-",
        trace_words(row),
    )
