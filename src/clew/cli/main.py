"""`clew`: the command group. Only click is imported before the command is known, so that help is fast."""

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

# Errors of the file system that any command may meet: code and message.
FILE_ERRORS = {
    errno.ENOSPC: ("disk_full", "the disk is full: {} cannot be written"),
    errno.EROFS: ("read_only", "the disk is read-only: {} cannot be written"),
    errno.EACCES: (
        "not_yours",
        "you may not open {}; if it belongs to clew, set CLEW_HOME to a folder of yours",
    ),
}

# Each command: its module and its help line. A test keeps the lines equal to the `short_help` of the commands.
SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Getting started": {
        "demo": ("commands.demo", "See clew at work in a minute, without an account."),
    },
    "Work": {
        "web": ("commands.web", "Open the page in your browser."),
        "chat": ("commands.chat", "Chat in a thread, or start a new one."),
        "run": ("commands.run", "Run one turn in the foreground and stream its answer."),
        "start": ("commands.run", "Start a task in the background and print its id."),
        "send": ("commands.run", "Send a message to a thread."),
        "watch": ("commands.run", "Watch events live."),
    },
    "Threads": {
        "threads": ("commands.threads", "List threads, newest first."),
        "show": ("commands.threads", "Show a thread."),
        "read": ("commands.threads", "Print the transcript of a thread."),
        "where": ("commands.threads", "Show where the answers of a thread were delivered."),
        "resume": ("commands.lifecycle", "Resume a finished or suspended thread with new information."),
        "stop": ("commands.lifecycle", "Stop the running turn of a thread."),
        "done": ("commands.lifecycle", "Mark a thread as completed."),
        "cancel": ("commands.lifecycle", "Cancel a thread for good."),
        "fork": ("commands.lifecycle", "Start a new thread from the history of another one."),
        "title": ("commands.lifecycle", "Change the title of a thread."),
        "adopt": ("commands.adopt", "Adopt a session started outside clew, or list them."),
        "release": ("commands.adopt", "Give an adopted session back to its own program."),
    },
    "Handoff": {
        "handoff": ("commands.handoff", "Hand a thread to another surface."),
        "handoffs": ("commands.handoff", "List handoffs to other surfaces."),
        "away": ("commands.handoff", "While you are away, send answers and questions to a chat."),
        "back": ("commands.handoff", "End away mode."),
    },
    "Gates and people": {
        "gates": ("commands.gates", "List open gates of all threads."),
        "approve": ("commands.gates", "Approve a gate."),
        "deny": ("commands.gates", "Deny a gate."),
        "answer": ("commands.gates", "Answer a question of the agent."),
        "rules": ("commands.rules", "Manage what agents may do without asking."),
        "connect": ("commands.connect", "Set up a chat app, step by step."),
        "surfaces": ("commands.connect", "List connected surfaces."),
        "pair": ("commands.people", "Let a person in by their code."),
        "people": ("commands.people", "List people who may use clew in chats."),
    },
    "Daemon": {
        "up": ("commands.daemon", "Start the daemon."),
        "down": ("commands.daemon", "Stop the daemon and everything it started."),
        "restart": ("commands.daemon", "Stop the daemon and start it again."),
        "status": ("commands.daemon", "Show the state of the daemon, its runtimes and surfaces."),
        "logs": ("commands.daemon", "Show the daemon's log."),
        "ps": ("commands.ps", "List the processes of clew and their roles."),
        "service": ("commands.service", "Start the daemon at login, by systemd or launchd."),
        "init": ("commands.init", "Create a config.toml."),
        "config": ("commands.config", "Show, change and check settings."),
        "doctor": ("commands.doctor", "Check everything and say what to fix."),
        "runtimes": ("commands.runtimes", "List agents and their health."),
        "ping": ("commands.maintenance", "Test a runtime with one tiny turn; shows the time of each step."),
        "token": ("commands.access_token", "Print the token of the HTTP API."),
        "codex": ("commands.codex", "Run the Codex that clew uses, with your arguments."),
        "verify": ("commands.maintenance", "Verify the history of a thread, or of all."),
        "notify": ("commands.maintenance", "Try all pending deliveries once, now."),
        "completion": ("completion", "Print the completion script for your shell."),
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
        """Like click's, but without importing every command for its help line."""
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

    THREAD is a handle, an id, a unique beginning of either, a part of the title, `last`, or `.` for the newest thread
    of this folder. A command that needs the daemon starts it.
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
        if error.errno not in FILE_ERRORS:
            raise
        code, words = FILE_ERRORS[error.errno]
        _print_file_error(out, code, words.format(error.filename or "the output"))
        return 1


def _run(out: Out) -> int:
    try:
        return cli.main(prog_name="clew", standalone_mode=False, obj=out) or 0
    except click.ClickException as error:
        return _usage(out, error)
    except ClewError as error:
        out.error(error.code, error.words)
        return error.exit
    except (click.Abort, KeyboardInterrupt):
        return 130


def _print_file_error(out: Out, code: str, words: str) -> None:
    """Works also if stdout itself cannot be written."""
    try:
        out.error(code, words)
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Redirect stdout to /dev/null: it is closed or full, and buffered data must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_NO_COMMAND = getattr(click.exceptions, "NoArgsIsHelpError", ())  # exists since click 8.2


def _usage(out: Out, error: click.ClickException) -> int:
    if isinstance(error, _NO_COMMAND) and not out.as_json:
        out.say(error.format_message())  # the complete help
        return 2
    if isinstance(error, click.UsageError) and error.ctx:
        out.say(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help'.")
    out.error("usage", error.format_message())
    return 2


def _make_output_safe() -> None:
    """Print an escape instead of crashing if the encoding lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
