"""`clew chat`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

import click

from clew.cli.commands.run import ThreadOptions, thread_options
from clew.cli.completion import thread_argument
from clew.cli.output import Out, is_terminal, json_option

if TYPE_CHECKING:
    from clew.cli.chat.talk import Talk
    from clew.client.sync import Asks


@click.command("chat", short_help="Chat in a thread, or start a new one.")
@thread_argument(required=False)
@thread_options
@json_option
@click.pass_obj
def chat_command(out: Out, /, thread: str | None, **options: Unpack[ThreadOptions]) -> None:
    """Chat in a thread, or start a new one. /help lists the commands.

    Without a terminal, each line of stdin is a message, and its answer is printed before the next one is read. The
    options apply to a new thread. With --json, each answer is one line.
    """
    on_terminal = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not out.as_json
    _on_terminal(out, thread, options) if on_terminal else _plainly(out, thread, options)


def _talk(
    client: Asks,
    thread: str | None,
    options: ThreadOptions,
    say: Callable[[str], None],
    columns: Callable[[], int | None] = lambda: None,
) -> Talk:
    from clew.cli.chat.talk import Talk
    from clew.cli.language import reads_chinese
    from clew.client import requests

    found = client.ask(requests.drive(thread)).id if thread else None
    files, chinese = list(options["files"]), reads_chinese(os.environ)
    return Talk(client, options, say, found, columns=columns, files=files, chinese=chinese)


def _on_terminal(out: Out, thread: str | None, options: ThreadOptions) -> None:
    from clew.cli.chat.prompt import ChatPrompt
    from clew.cli.chat.talk import delete_pasted
    from clew.support.home import Home

    def say(line: str) -> None:
        prompt.say(line) if prompt else out.say(line)

    prompt = None
    talk = _talk(out.client(say=say), thread, options, say, lambda: shutil.get_terminal_size().columns)
    prompt = ChatPrompt(Home.find(), talk)
    try:
        out.say(prompt.run())
    finally:
        delete_pasted(talk.files)


def _plainly(out: Out, thread: str | None, options: ThreadOptions) -> None:
    from clew.cli.chat.plain import PlainChat, read_stdin
    from clew.cli.chat.talk import delete_pasted
    from clew.cli.view.screen import Screen

    with Screen() as screen:
        client = out.client(say=screen.say)
        talk = _talk(client, thread, options, screen.say)
        try:
            ok = PlainChat(out, client, screen, talk).run(read_stdin())
        finally:
            delete_pasted(talk.files)
    if not ok:
        raise click.exceptions.Exit(1)
