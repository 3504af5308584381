"""`clew chat`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from clew.cli.commands.run import opening, thread_options
from clew.cli.completion import thread_argument
from clew.cli.output import Out, is_terminal, json_option

if TYPE_CHECKING:
    from clew.cli.chat.talk import Talk


@click.command("chat", short_help="Talk in a thread, or in a new one.")
@thread_argument(required=False)
@thread_options
@json_option
@click.pass_obj
def chat_command(out: Out, /, thread: str | None, **options: Any) -> None:
    """Talk in a thread, or in a new one. In it, /help tells what there is.

    Without a terminal each line of stdin is a message, and its answer is printed before the next one is read. The
    options are for a new thread. With --json each answer is one line.
    """
    on_terminal = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not out.as_json
    _on_terminal(out, thread, options) if on_terminal else _plainly(out, thread, options)


def _talk(client: Any, thread: str | None, options: dict[str, Any]) -> Talk:
    from clew.cli.chat.talk import Talk

    found = client.post("threads", thread, "wheel")["id"] if thread else None
    return Talk(client, lambda text: opening("chat", text, options), found, files=list(options["files"]))


def _on_terminal(out: Out, thread: str | None, options: dict[str, Any]) -> None:
    from clew.cli.chat.prompt import Shell
    from clew.cli.chat.talk import forget
    from clew.support.home import Home

    def say(line: str) -> None:
        shell.say(line) if shell else out.say(line)

    shell = None
    talk = _talk(out.client(say=say), thread, options)
    talk.room = lambda: shutil.get_terminal_size().columns
    shell = Shell(Home.find(), talk)
    talk.say = shell.say
    try:
        out.say(shell.run())
    finally:
        forget(talk.files)


def _plainly(out: Out, thread: str | None, options: dict[str, Any]) -> None:
    from clew.cli.chat.plain import Plain, read_stdin
    from clew.cli.chat.talk import forget
    from clew.cli.view.screen import Screen

    with Screen() as screen:
        client = out.client(say=screen.say)
        talk = _talk(client, thread, options)
        talk.say = screen.say
        try:
            fine = Plain(out, client, screen, talk).run(read_stdin())
        finally:
            forget(talk.files)
    if not fine:
        raise click.exceptions.Exit(1)
