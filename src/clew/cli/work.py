"""Work: run, start, send, watch."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.cli.follow import Watcher, follow_turn
from clew.cli.out import Out, json_option, prompt_text
from clew.errors import ClewError, Refused

if TYPE_CHECKING:
    from clew.client import Client

F = TypeVar("F", bound=Callable[..., Any])


def _files(ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]) -> list[str]:
    return [str(path.absolute()) for path in value]


_file_option = click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_files,
    help="Attach a file; may be repeated.",
)


def _thread_options(command: F) -> F:
    """What a new thread may be given."""
    options = [
        click.option("--runtime", metavar="NAME", help="The agent that works it, such as codex."),
        click.option("--model", metavar="NAME", help="The model that the agent uses."),
        click.option("--effort", metavar="LEVEL", help="How hard the model thinks."),
        click.option(
            "--workspace",
            metavar="FOLDER",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            default=Path(),
            help="The folder that it works in; else the current one.",
        ),
        click.option("--title", help="Else the beginning of the prompt."),
        _file_option,
        click.option("--notify", metavar="TARGET", help="Where the answer goes: local, webhook:NAME, …"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("run", short_help="One turn in the foreground: stream it, print the answer.")
@click.argument("prompt")
@_thread_options
@json_option
@click.pass_obj
def run_command(out: Out, /, prompt: str, **options: Any) -> None:
    """One turn in the foreground: stream it, print the answer, exit 0 when it completed and 1 when not.

    A PROMPT of - is read from stdin. Ctrl-C stops the turn; a second one leaves it running.
    """
    client = out.client()
    accepted = _start(client, "chat", prompt, options)
    _stop_by_ctrl_c(out, client, accepted["thread"])
    turn = follow_turn(out, client, accepted["thread"], accepted["turn"])
    if out.as_json:
        out.json(_run_result(turn))
    if turn["state"] != "completed":
        _say_why(out, client, turn)
        raise click.exceptions.Exit(1)
    out.hint(f"clew send {turn['thread']} '…' goes on with it")


def _say_why(out: Out, client: Client, turn: Any) -> None:
    thread = client.get("threads", turn["thread"])
    if thread["status"] == "suspended":
        out.say(f"clew: {thread['suspend_message']}")
        out.say(f"clew resume {thread['id']} --supplement '…' answers it")
    else:
        out.say(f"clew: {turn['error'] or 'the turn was ' + turn['state']}")


def _run_result(turn: Any) -> dict[str, Any]:
    began, ended = turn["started_at"] or turn["queued_at"], turn["ended_at"]
    return {
        "thread": turn["thread"],
        "turn": turn["id"],
        "state": turn["state"],
        "text": turn["text"],
        "error": turn["error"],
        "usage": turn["usage"],
        "seconds": round((ended - began) / 1000, 3) if ended else None,
    }


def _stop_by_ctrl_c(out: Out, client: Client, thread: str) -> None:
    """The first Ctrl-C asks the turn to stop, and its end is waited for; the second leaves it to itself."""
    asked = False

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            out.say(f"\nleft it; clew watch {thread} comes back to it")
            raise KeyboardInterrupt
        asked = True
        out.say("\nstopping the turn… (Ctrl-C again leaves it running)")
        try:
            client.post("threads", thread, "stop")
        except ClewError as error:
            out.say(f"clew: {error.message}")

    signal.signal(signal.SIGINT, interrupted)


@click.command("start", short_help="A task in the background; prints its id.")
@click.argument("prompt")
@_thread_options
@json_option
@click.pass_obj
def start_command(out: Out, /, prompt: str, **options: Any) -> None:
    """A task in the background; prints its id. A PROMPT of - is read from stdin."""
    accepted = _start(out.client(), "task", prompt, options)
    out.result(accepted, accepted["thread"])
    out.hint(f"clew watch {accepted['thread']} looks on; clew show {accepted['thread']} tells how it stands")


def _start(client: Client, kind: str, prompt: str, options: dict[str, Any]) -> Any:
    from clew.client import new_message_id

    workspace = os.path.abspath(options.pop("workspace"))  # noqa: PTH100 (the folder as its owner names it)
    files = options.pop("files")
    body = {"message_id": new_message_id(), "text": prompt_text(prompt), "kind": kind, "workspace": workspace}
    return client.post("threads", body={**body, "attachments": files, **options})


@click.command("send", short_help="Say something in a thread.")
@click.argument("thread")
@click.argument("text")
@click.option("--queue", is_flag=True, help="Never into the running turn: as a turn of its own, after it.")
@_file_option
@json_option
@click.pass_obj
def send_command(out: Out, thread: str, text: str, queue: bool, files: list[str]) -> None:
    """Say something in a thread: into the turn that runs, else as the next one. A TEXT of - is read from stdin."""
    from clew.client import new_message_id

    body = {"message_id": new_message_id(), "text": prompt_text(text), "queue": queue, "attachments": files}
    accepted = out.client().post("threads", thread, "messages", body=body)
    if accepted["fate"] == "refused":
        raise Refused(accepted["words"])
    out.result(accepted, accepted["words"] or f"turn {accepted['turn']}")
    out.hint(f"clew watch {accepted['thread']} looks on")


@click.command("watch", short_help="Look on, live.")
@click.argument("thread", required=False)
@json_option
@click.pass_obj
def watch_command(out: Out, thread: str | None) -> None:
    """Look on, live, in one thread or in all; goes on by itself after a restart of the daemon. Ctrl-C ends.

    With --json each event is one line, as the API sends it.
    """
    client = out.client()
    found = client.get("threads", thread)["id"] if thread else None
    watcher = Watcher(out, found)
    for event in client.events(found):
        watcher.show(event)
