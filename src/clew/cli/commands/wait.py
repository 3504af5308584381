"""Wait until threads end: `clew wait`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from clew.cli.completion import check_thread_ids, thread_ids
from clew.cli.language import as_called, phrase, said, word
from clew.cli.output import Out, json_option
from clew.cli.view import outcome
from clew.cli.view.text_width import one_line
from clew.cli.view.threads import named, suspension_words

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.views import ThreadView


class _TimedOut(Exception):
    pass


@click.command("wait", short_help="Wait until threads end; the exit code says how.")
@click.argument("threads", nargs=-1, metavar="[THREAD]...", shell_complete=thread_ids, callback=check_thread_ids)
@click.option("--any", "first_only", is_flag=True, help="Wait only for the first of them.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after this time.")
@json_option
@click.pass_obj
def wait_command(out: Out, threads: tuple[str, ...], first_only: bool, timeout: float | None) -> None:
    """Wait until threads end or ask for something; without THREAD, those that work now.

    Exit 0: completed, 1: failed, 2: no such thread, 4: stopped, 5: waits for a person, 6: timed out. For several
    threads: the worst.
    """
    from clew.client import requests

    client = out.client()
    if threads:
        waiting = {view.id: view for view in (existing_thread(client, name) for name in threads)}
    else:
        waiting = {view.id: view for view in client.ask(requests.threads(status="running", limit=1000)).threads}
    if not waiting:
        out.hint(phrase("cli_threads.none_works"))
    ended: dict[str, int] = {}
    try:
        with _time_limit(timeout):
            for view, code in _outcomes(out, client, waiting):
                ended[view.id] = code
                if not out.as_json:
                    waits = said(view, "suspend_message") or (
                        as_called(f"clew gates {view.gates[0]}") if view.gates else ""
                    )
                    line = one_line(waits or said(view, "last_line"))
                    out.line(f"{named(view)}  {word(outcome.NAMES[code])}  {line}".rstrip())
                if first_only:
                    break
    except _TimedOut:
        out.say(phrase("cli_threads.timed_out", threads=", ".join(named(view) for view in waiting.values())))
        ended |= dict.fromkeys(waiting, outcome.TIMED_OUT)
    if out.as_json:
        out.json([{"thread": name, "outcome": outcome.NAMES[code].replace(" ", "_")} for name, code in ended.items()])
    raise click.exceptions.Exit(outcome.worst(list(ended.values())) if ended else 0)


def existing_thread(client: Client, name: str) -> ThreadView:
    """A thread whose end is waited for. If there is none, it is wrong usage: exit 1 would say that it failed."""
    from clew.client import requests
    from clew.support.errors import NotFound

    try:
        return client.ask(requests.thread(name))
    except NotFound as error:
        error.exit = 2
        raise


def _outcomes(out: Out, client: Client, waiting: dict[str, ThreadView]) -> Iterator[tuple[ThreadView, int]]:
    """Each thread as it ends; it is removed from `waiting`. Threads are looked at again after each of their events. One
    that waits for a time, such as the end of a usage limit, is told of."""
    from clew.client import requests
    from clew.client.events import Hello, Reset

    if not waiting:
        return
    told: dict[str, int] = {}  # until when a thread waits by itself, as it was said
    alone = next(iter(waiting)) if len(waiting) == 1 else None
    for event in client.events(alone):
        if isinstance(event.what, Hello | Reset):
            changed = list(waiting)
        elif event.seq is not None and event.thread in waiting:
            changed = [event.thread]
        else:
            continue
        for name in changed:
            view = client.ask(requests.thread(name))
            code = outcome.of_thread(client, view)
            if code is not None:
                del waiting[name]
                yield view, code
            elif view.wake_at is not None and told.get(name) != view.wake_at:
                told[name] = view.wake_at
                out.say(f"{named(view)}: {one_line(suspension_words(view, time.time()))}")
        if not waiting:
            return
        if isinstance(event.what, Hello):
            out.hint(phrase("cli_threads.waiting_for", threads=", ".join(named(view) for view in waiting.values())))


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt a blocking read after this time."""
    if seconds is None:
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise _TimedOut

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
