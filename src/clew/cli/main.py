"""`clew`: the group of commands. Only click is imported before a command is known, so that help is quick."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import click

from clew.cli.output import Out, json_option
from clew.support.errors import ClewError
from clew.support.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# What a disk can do to any command: a code, and the words.
REFUSALS = {
    errno.ENOSPC: ("disk_full", "the disk is full: {} cannot be written"),
    errno.EROFS: ("read_only", "the disk can only be read: {} cannot be written"),
    errno.EACCES: ("not_yours", "{} may not be opened by you; if it is clew's, set CLEW_HOME to a folder of yours"),
}

# Each command: the module that holds it, and its line of help. A test keeps the lines equal to the commands' own.
SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "First": {
        "demo": ("commands.demo", "The whole story in a minute, without an account."),
    },
    "Work": {
        "web": ("commands.web", "Open the page in your browser."),
        "chat": ("commands.chat", "Talk in a thread, or in a new one."),
        "run": ("commands.run", "One turn in the foreground: stream it, print the answer."),
        "start": ("commands.run", "A task in the background; prints its id."),
        "send": ("commands.run", "Say something in a thread."),
        "watch": ("commands.run", "Look on, live."),
    },
    "Threads": {
        "threads": ("commands.threads", "List threads, newest first."),
        "show": ("commands.threads", "One thread."),
        "read": ("commands.threads", "What was said and done in a thread."),
        "where": ("commands.threads", "Where the answers of a thread went."),
        "resume": ("commands.lifecycle", "Pick up a finished or suspended thread with new information."),
        "stop": ("commands.lifecycle", "Stop the running turn of a thread."),
        "done": ("commands.lifecycle", "Mark a thread as completed."),
        "cancel": ("commands.lifecycle", "Cancel a thread for good."),
        "fork": ("commands.lifecycle", "Begin a new thread from another one."),
        "title": ("commands.lifecycle", "Give a thread another title."),
        "adopt": ("commands.adopt", "Take over a session begun outside clew, or list them."),
        "release": ("commands.adopt", "Give an adopted session back to its own program."),
    },
    "Moving": {
        "handoff": ("commands.handoff", "Hand a thread to another surface."),
        "handoffs": ("commands.handoff", "Threads that were handed to another surface."),
        "away": ("commands.handoff", "While away, see on a chat what the desk would show."),
        "back": ("commands.handoff", "Back at the desk."),
    },
    "Asking": {
        "gates": ("commands.gates", "What waits for you, over all threads."),
        "approve": ("commands.gates", "Say yes to a gate."),
        "deny": ("commands.gates", "Say no to a gate."),
        "answer": ("commands.gates", "Answer a question of the agent."),
        "rules": ("commands.rules", "What agents may do without asking."),
        "connect": ("commands.connect", "Set up a chat app, step by step."),
        "surfaces": ("commands.connect", "The places clew is connected to."),
        "pair": ("commands.people", "Let somebody in who has a code."),
        "people": ("commands.people", "Who may speak in chats."),
    },
    "Daemon": {
        "up": ("commands.daemon", "Start the daemon."),
        "down": ("commands.daemon", "Stop the daemon and all that it started."),
        "restart": ("commands.daemon", "Stop the daemon and start it again."),
        "status": ("commands.daemon", "How the daemon, its runtimes and its surfaces are."),
        "logs": ("commands.daemon", "The daemon's log."),
        "ps": ("commands.ps", "Every process of clew, with what it is there for."),
        "service": ("commands.service", "Let the system start the daemon at login."),
        "init": ("commands.init", "Write a config.toml to begin with."),
        "config": ("commands.config", "Look at settings, change them, check them."),
        "doctor": ("commands.doctor", "Check everything, and say what to do."),
        "runtimes": ("commands.runtimes", "The agents there are, and how they are."),
        "ping": ("commands.maintenance", "Try a runtime: one tiny turn, with the time of each step."),
        "token": ("commands.access_token", "What a program needs to use the HTTP API."),
        "codex": ("commands.codex", "The Codex that clew uses, with your arguments."),
        "verify": ("commands.maintenance", "Check the history of a thread, or of all."),
        "notify": ("commands.maintenance", "One pass over the answers that are still owed."),
        "completion": ("completion", "The completion script of your shell."),
    },
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"clew.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does it, but without importing every command for its line of help."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="clew %(version)s")
@json_option
def cli() -> None:
    """Never lose the thread: a durable home for the work of coding agents.

    THREAD is an id or any unique beginning of one. A command that needs the daemon starts it.
    """


def main() -> int:
    _make_output_safe()
    out = Out("--json" in sys.argv[1:])
    try:
        return _run(out)
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        code, words = REFUSALS[error.errno]
        _tell_refused(out, code, words.format(error.filename or "the output"))
        return 1


def _run(out: Out) -> int:
    try:
        return cli.main(prog_name="clew", standalone_mode=False, obj=out) or 0
    except click.ClickException as error:
        return _usage(out, error)
    except ClewError as error:
        out.error(error.code, error.message)
        return error.exit
    except (click.Abort, KeyboardInterrupt):
        return 130


def _tell_refused(out: Out, code: str, words: str) -> None:
    """Also where it is the output itself that cannot be written."""
    try:
        out.error(code, words)
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Nobody reads it, or it cannot be written. What is still buffered must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_NO_COMMAND = getattr(click.exceptions, "NoArgsIsHelpError", ())  # before click 8.2 there is none


def _usage(out: Out, error: click.ClickException) -> int:
    if isinstance(error, _NO_COMMAND) and not out.as_json:
        out.say(error.format_message())  # which is the whole help
        return 2
    if isinstance(error, click.UsageError) and error.ctx:
        out.say(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help'.")
    out.error("usage", error.format_message())
    return 2


def _make_output_safe() -> None:
    """A terminal whose encoding lacks a character gets an escape, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
