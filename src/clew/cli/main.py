"""`clew`: the command group. Only click is imported before the command is known, so that help is fast."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from clew.cli.command_list import ALIASES, ALL, CHINESE_TITLES, COMMANDS, FAMILIAR, MEANT, MORE, SECTIONS
from clew.cli.language import as_called, phrase, reads_chinese, sentence
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
        if _speaks_chinese(ctx):
            from clew.cli.view.click_in_chinese import explain

            explain(command, _help_line(cmd_name) if cmd_name in COMMANDS else "")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with the command that was probably meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            known = [*COMMANDS, *FAMILIAR, *ALIASES]
            near = [MEANT[name]] if name in MEANT else get_close_matches(name, known, 3)
            if not near:
                ctx.fail(sentence("cli_setup.no_command", name=f"{name!r}"))
            meant = phrase("cli_setup.or_between").join(f"`clew {each}`" for each in near)
            ctx.fail(sentence("cli_setup.no_command_near", name=f"{name!r}", near=meant))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Like click's, but without importing every command for its help line."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=_help_line(name)) for name in COMMANDS if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands to begin with; of the others the names only, unless all are asked for."""
        describes_all = ctx.find_root().meta.get("clew.all", False)
        for number, (title, commands) in enumerate(SECTIONS.items()):
            if number == 0 or describes_all:
                with formatter.section(_title(title)):
                    formatter.write_dl([(name, _help_line(name)) for name in commands])
        if not describes_all:
            with formatter.section(_chosen(MORE)):
                _write_names(formatter)
            with formatter.indentation():
                formatter.write_text(as_called(_chosen(ALL)))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not reads_chinese(os.environ):
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(phrase("cli_setup.about_clew"))


def _speaks_chinese(ctx: click.Context) -> bool:
    """Not in JSON, which is for programs."""
    out = ctx.find_object(Out)
    return reads_chinese(os.environ) and not (out is not None and out.as_json)


def _chosen(both: tuple[str, str]) -> str:
    """The catalogue is not loaded for the list of commands, which has to be fast."""
    return both[reads_chinese(os.environ)]


def _title(section: str) -> str:
    return CHINESE_TITLES[section] if reads_chinese(os.environ) else section


def _write_names(formatter: click.HelpFormatter) -> None:
    """The names of the commands after the first section. Click would not count Chinese characters as two columns."""
    from clew.support.display.width import pad, width

    others = [(_title(title), ", ".join(commands)) for title, commands in [*SECTIONS.items()][1:]]
    first = max(width(title) for title, _ in others)
    for title, names in others:
        lines = click.wrap_text(names, formatter.width - first - 4).splitlines()
        heads = [title, *[""] * (len(lines) - 1)]
        formatter.write("".join(f"  {pad(head, first)}  {line}\n" for head, line in zip(heads, lines, strict=True)))


def _help_line(name: str) -> str:
    _, english, chinese = COMMANDS[name]
    return chinese if reads_chinese(os.environ) else english


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
    if reads_chinese(os.environ) and not out.as_json:
        from clew.cli.view.click_in_chinese import explain, speak_chinese

        speak_chinese()
        explain(cli, "")
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
        name = error.ctx.command_path
        usage = " ".join([name, *error.ctx.command.collect_usage_pieces(error.ctx)])
        out.say(as_called(phrase("cli_setup.usage", usage=usage, name=name)))
    out.error("usage", _usage_words(error))
    return 2


def _usage_words(error: click.ClickException) -> str:
    """Click puts English around a sentence of ours; in another language the sentence stands alone. So do its own about
    the two commonest mistakes."""
    from clew.support.coded import coded_of, with_code

    return with_code(error.format_message(), coded_of(error.message) or coded_of(_of_click(error)))


def _of_click(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        return sentence("cli_setup.no_option", name=error.option_name)
    if isinstance(error, click.MissingParameter) and error.param is not None and error.ctx is not None:
        return sentence("cli_setup.missing", name=error.param.get_error_hint(error.ctx))
    return ""


def _make_output_safe() -> None:
    """Print an escape instead of crashing if the encoding lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
