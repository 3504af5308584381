"""`clew`: the command group. Only click is imported before the command is known, so that help is fast."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from clew.cli.command_list import ALIASES, COMMANDS, FAMILIAR, SECTIONS
from clew.cli.language import phrase, sentence
from clew.cli.output import Out, json_option
from clew.support.errors import ClewError
from clew.support.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Errors of the file system that any command may meet: code and sentence.
FILE_ERRORS = {
    errno.ENOSPC: ("disk_full", "cli_setup.disk_full"),
    errno.EROFS: ("read_only", "cli_setup.read_only"),
    errno.EACCES: ("not_yours", "cli_setup.not_yours"),
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS and cmd_name not in FAMILIAR:
            return None
        module = import_module(f"clew.cli.{COMMANDS[cmd_name][0] if cmd_name in COMMANDS else 'commands.familiar'}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with the command that was probably meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, [*COMMANDS, *FAMILIAR, *ALIASES], 3)
            if not near:
                ctx.fail(sentence("cli_setup.no_command", name=f"{name!r}"))
            meant = phrase("cli_setup.or_between").join(f"`clew {each}`" for each in near)
            ctx.fail(sentence("cli_setup.no_command_near", name=f"{name!r}", near=meant))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Like click's, but without importing every command for its help line."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands to begin with; of the others the names only, unless all are asked for."""
        describes_all = ctx.find_root().meta.get("clew.all", False)
        for number, (title, commands) in enumerate(SECTIONS.items()):
            if number == 0 or describes_all:
                with formatter.section(title):
                    formatter.write_dl([(name, line) for name, (_, line) in commands.items()])
        if not describes_all:
            with formatter.section("More"):
                formatter.write_dl([(title, ", ".join(commands)) for title, commands in [*SECTIONS.items()][1:]])
            with formatter.indentation():
                formatter.write_text(phrase("cli_setup.all_commands"))


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
        _print_file_error(out, code, sentence(words, file=error.filename or sentence("cli_setup.the_output")))
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
    out.error("usage", _usage_words(error))
    return 2


def _usage_words(error: click.ClickException) -> str:
    """Click puts English around a sentence of ours; in another language the sentence stands alone."""
    from clew.support.coded import coded_of, with_code

    return with_code(error.format_message(), coded_of(error.message))


def _make_output_safe() -> None:
    """Print an escape instead of crashing if the encoding lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
