"""Work in threads: run, start, send, watch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar, Unpack, overload

import click

from clew.cli.completion import runtimes, targets, thread_argument
from clew.cli.language import in_locale, phrase, said
from clew.cli.output import Out, json_option, prompt_text, words_argument
from clew.cli.view import outcome
from clew.support.errors import ClewError, Refused

if TYPE_CHECKING:
    from clew.client.requests import Request, Sent
    from clew.client.sync import Client
    from clew.model.views import TurnView

POLICIES = ("careful", "sandbox", "trusted", "read-only", "yolo")

F = TypeVar("F", bound=Callable[..., object])


PRIORITIES = ("high", "normal", "low")


class ThreadOptions(TypedDict):
    """The values of `thread_options`."""

    runtime: str | None
    model: str | None
    effort: str | None
    workspace: Path
    policy: str | None
    title: str | None
    files: list[str]
    notify: str | None
    priority: NotRequired[str | None]


def _files(ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]) -> list[str]:
    return [str(path.absolute()) for path in value]


_file_option = click.option(
    "--file",
    "files",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_files,
    help="Attach a file; can be repeated.",
)


def thread_options(command: F) -> F:
    """The options of a new thread."""
    options = [
        click.option("--runtime", metavar="NAME", shell_complete=runtimes, help="The agent, such as codex."),
        click.option("--model", metavar="NAME", help="The model of the agent."),
        click.option("--effort", metavar="LEVEL", help="How hard the model thinks."),
        click.option(
            "--workspace",
            metavar="FOLDER",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            default=Path(),
            help="The folder to work in; default: the current one.",
        ),
        click.option("--policy", type=click.Choice(POLICIES), help="How much the agent may do without asking."),
        click.option("--priority", type=click.Choice(PRIORITIES), help="Its place in the queue; default: normal."),
        click.option("--title", help="Default: the beginning of the prompt."),
        _file_option,
        click.option(
            "--notify",
            metavar="TARGET",
            shell_complete=targets,
            help="Target of the answer: local, webhook:NAME, …",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("run", short_help="Run one turn in the foreground and stream its answer.")
@words_argument("prompt")
@thread_options
@json_option
@click.pass_obj
def run_command(out: Out, /, prompt: str, **options: Unpack[ThreadOptions]) -> None:
    """Run one turn in the foreground and stream its answer.

    Exit 0: completed, 1: failed, 4: stopped, 5: it waits for a person.

    A PROMPT of - is read from stdin. Ctrl-C stops the turn; a second one does not wait for its end.

    If the agent asks, answer with `y`, `n`, `n REASON` or a number. Without a terminal, and with --json, `run` then
    ends with exit 5 and the code of the gate, and the turn waits for `clew approve`; a rule or --policy lets it
    continue without asking.
    """
    from clew.cli.ctrl_c import CtrlC
    from clew.cli.follow import follow_turn, working
    from clew.cli.keys import GatePrompt
    from clew.cli.view.events import InfoLine, summary
    from clew.cli.view.gates import command_hints, no_hints
    from clew.cli.view.screen import Screen

    with Screen() as screen:
        client, request = out.client(say=screen.say), start_request("chat", prompt_text(prompt), options)
        ctrl_c = CtrlC(screen, client)
        accepted = client.ask(request)
        ctrl_c.set_thread(accepted.thread)  # before its handle is known
        name = out.name_of(accepted.thread)
        ctrl_c.set_thread(accepted.thread, name)
        screen.wait(working())
        show = (lambda pieces: None) if out.as_json else screen.show
        with add_way_back(name):
            keys = GatePrompt(out, screen, client, accepted.thread)
            how = no_hints if keys.is_interactive else command_hints
            turn, _ = follow_turn(client, accepted.thread, accepted.turn or "", show, how=how, at_gate=keys.at_gate)
        screen.wait(None)
        show([InfoLine(f"· {summary(turn)}")] if turn.state != "waiting" else [])
    if out.as_json:
        out.json(run_result(turn) | ({"gates": open_gate_codes(client, turn)} if turn.state == "waiting" else {}))
    if turn.state == "waiting":
        print_open_gates(out, client, turn)
        raise click.exceptions.Exit(outcome.WAITS)
    if turn.state != "completed":
        raise click.exceptions.Exit(print_failure(out, client, turn))
    out.hint(phrase("cli_threads.continues_it", thread=out.name_of(turn.thread)))


def open_gate_codes(client: Client, turn: TurnView) -> list[str]:
    from clew.client import requests

    views = client.ask(requests.gates(turn.thread))
    return [view.code for view in views if view.state == "open" and view.turn == turn.id]


def print_open_gates(out: Out, client: Client, turn: TurnView) -> None:
    codes = open_gate_codes(client, turn)
    name = out.name_of(turn.thread)
    if not codes:
        out.say(phrase("cli_threads.just_answered", thread=name))
        return
    out.say(phrase("cli_threads.agent_waits", codes=", ".join(codes)))
    out.say(phrase("cli_threads.waits_next", code=codes[0], thread=name))


@contextmanager
def add_way_back(thread: str) -> Iterator[None]:
    """Add the command that returns to the thread to each error: the thread is stored."""
    try:
        yield
    except ClewError as error:
        from clew.texts.catalogue import say

        error.reword(say("daemon.watch_returns", error=error.words, thread=thread))
        raise


def print_failure(out: Out, client: Client, turn: TurnView) -> int:
    """Print why a turn did not complete, and how to continue its thread. Returns the exit code."""
    from clew.cli.commands.threads import next_step
    from clew.client import requests

    thread = client.ask(requests.thread(turn.thread))
    waits = said(thread, "suspend_message") if thread.status == "suspended" else None
    out.say(
        phrase(
            "cli_threads.turn_ended",
            why=waits or said(turn, "error") or phrase("cli_threads.turn_was", state=turn.state),
        )
    )
    out.say(next_step(thread))
    return outcome.WAITS if waits and turn.state == "interrupted" else outcome.of_turn(turn.state)


def run_result(turn: TurnView) -> dict[str, object]:
    began, ended = turn.started_at or turn.queued_at, turn.ended_at
    return {
        "thread": turn.thread,
        "turn": turn.id,
        "state": turn.state,
        "text": turn.text,
        "error": turn.error,
        "usage": turn.usage,
        "seconds": round((ended - began) / 1000, 3) if ended else None,
    }


@click.command("start", short_help="Start a task in the background and print its id.")
@words_argument("prompt")
@thread_options
@json_option
@click.pass_obj
def start_command(out: Out, /, prompt: str, **options: Unpack[ThreadOptions]) -> None:
    """Start a task in the background and print its id. A PROMPT of - is read from stdin."""
    accepted = out.client().ask(start_request("task", prompt_text(prompt), options))
    out.result(accepted, accepted.thread)
    name = out.name_of(accepted.thread)
    out.hint(phrase("cli_threads.detached_next", thread=name, again=name))


def start_request(kind: str, text: str, options: ThreadOptions, files: Sequence[str] | None = None) -> Request[Sent]:
    """The request that starts a thread; `files` replace those of the options."""
    from clew.client import requests

    return requests.start(
        text,
        kind=kind,
        workspace=absolute(options["workspace"]),
        title=options["title"],
        runtime=options["runtime"],
        model=options["model"],
        effort=options["effort"],
        policy=options["policy"],
        notify=with_terminal(options["notify"]),
        priority=options.get("priority"),
        files=options["files"] if files is None else files,
    )


def absolute(folder: Path) -> str:
    return os.path.abspath(folder)  # noqa: PTH100 (the folder as its owner names it)


@overload
def with_terminal(target: str) -> str: ...


@overload
def with_terminal(target: str | None) -> str | None: ...


def with_terminal(target: str | None) -> str | None:
    """`local` means this terminal, if it still exists when the answer comes."""
    return f"local:{os.ttyname(2)}" if target == "local" and sys.stderr.isatty() else target


@click.command("send", short_help="Send a message to a thread.")
@thread_argument()
@words_argument("text")
@click.option("--queue", is_flag=True, help="Send it as its own turn after the running one, never into it.")
@_file_option
@json_option
@click.pass_obj
def send_command(out: Out, thread: str, text: str, queue: bool, files: list[str]) -> None:
    """Send a message to a thread: into the running turn, or else as its next turn. A TEXT of - is read from stdin."""
    from clew.client import requests

    accepted = out.client().ask(requests.send(thread, prompt_text(text), queue=queue, files=files))
    if accepted.fate == "refused":
        raise Refused(accepted.reply)
    name = out.name_of(accepted.thread)
    out.result(accepted, in_locale(accepted.reply) or phrase("cli_threads.sent_to", thread=name))
    if accepted.turn:  # after a `stop` there is nothing to follow
        out.hint(phrase("cli_threads.watch_follows", thread=name))


@click.command("watch", short_help="Watch a thread, or all, live.")
@thread_argument(required=False)
@click.option("--follow", is_flag=True, help="Go on watching a thread that has ended.")
@json_option
@click.pass_obj
def watch_command(out: Out, thread: str | None, follow: bool) -> None:
    """Watch a thread live until it ends, with exit 0: completed, 1: failed, 2: no such thread, 4: stopped, 5: waits
    outside a turn.

    Without THREAD, watch all: a line for each change of a thread, with its state and its last line. It reconnects after
    a restart of the daemon. Ctrl-C ends only the watching. With --json, each event is one line, as the API sends it.
    """
    from clew.cli.commands.wait import existing_thread
    from clew.cli.follow import Watcher
    from clew.cli.view.screen import Screen

    with Screen() as screen:
        client = out.client(say=screen.say)
        found = existing_thread(client, thread).id if thread else None
        watcher = Watcher(client, screen, found, out.as_json)
        for frame in client.frames(found):
            watcher.show(frame)
            code = None if found is None or follow else watcher.outcome(frame)
            if code is not None:
                break
        screen.wait(None)
    if thread and not out.as_json:
        out.hint(phrase("cli_threads.watch_next", thread=out.name_of(found or "")))
    raise click.exceptions.Exit(code or 0)
