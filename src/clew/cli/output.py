"""Output of commands: results on stdout, as JSON for scripts or lines for people; everything else on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from clew.cli.language import as_called, in_locale, sentence
from clew.cli.view.text_width import table as table
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.client.sync import Client

F = TypeVar("F", bound=Callable[..., object])

BOLD = 1
_COLOURS = {"+": 32, "-": 31, "@": 36}
_HEADS = ("+++", "---", "diff ")
TIMEOUT = 120.0  # seconds that a command waits for a response


class Out:
    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json

    def json(self, value: object) -> None:
        """Print views, and lists and dictionaries of them, with two spaces of indent."""
        print(json_text(value, indent=2), flush=True)

    def line(self, text: str = "") -> None:
        print(visible(text), flush=True)

    def say(self, text: str) -> None:
        """Print to stderr, besides the result: a wait, a hint, an activity. A sentence is shown in its language."""
        print(visible(in_locale(text)), file=sys.stderr, flush=True)

    def hint(self, text: str) -> None:
        """Suggest the next command, if a person looks at a terminal."""
        if self.has_hints:
            self.say(text)

    @property
    def has_hints(self) -> bool:
        return not self.as_json and sys.stderr.isatty()

    def name_of(self, thread: str) -> str:
        """The handle of a thread, for a hint; its id if nobody sees the hint."""
        if self.as_json or not sys.stderr.isatty():
            return thread
        from clew.client import requests
        from clew.support.errors import ClewError

        try:
            return self.client(start=False).ask(requests.thread(thread)).handle or thread
        except ClewError:  # a hint must not fail what was done
            return thread

    def result(self, value: object, line: str) -> None:
        if self.as_json:
            self.json(value)
        else:
            self.line(line)

    def error(self, code: str, words: str) -> None:
        """Print an error: in the language of the terminal, and for scripts in English with its code."""
        print(f"clew: {visible(as_called(in_locale(words)))}", file=sys.stderr, flush=True)
        if self.as_json:
            from clew.support.coded import coded_in

            texts = coded_in(message=words)
            self.json({"error": {"code": code, "message": words, **({"texts": texts} if texts else {})}})

    def client(
        self,
        *,
        say: Callable[[str], None] | None = None,
        start: bool = True,
        looks: bool = False,
        timeout: float | None = TIMEOUT,
    ) -> Client:
        from clew.client.sync import Client
        from clew.support.home import Home

        return Client(Home.find(), say=say or self.say, start=start, looks=looks, timeout=timeout)


def json_text(value: object, indent: int | None = None) -> str:
    # ASCII only: it cannot control a terminal, and every encoding can print it.
    import json

    from msgspec import to_builtins

    from clew.support.coded import plain

    return json.dumps(to_builtins(value, enc_hook=plain), indent=indent)


def _set_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.ensure_object(Out)
    ctx.obj.as_json = ctx.obj.as_json or value


def json_option(command: F) -> F:
    """The option `--json`, before or after the command."""
    option = click.option(
        "--json", is_flag=True, expose_value=False, is_eager=True, callback=_set_json, help="Print JSON for scripts."
    )
    return option(command)


def is_terminal(stream: TextIO) -> bool:
    """Whether it is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_columns() -> int | None:
    """The width of the terminal; None if stdout is not one."""
    if not is_terminal(sys.stdout):
        return None
    import shutil

    return shutil.get_terminal_size().columns


def painted(text: str, code: int, stream: TextIO) -> str:
    """Text in a colour, on a terminal without NO_COLOR (https://no-color.org)."""
    return f"\x1b[{code}m{text}\x1b[0m" if code and is_terminal(stream) and not os.environ.get("NO_COLOR") else text


def diff_colour(line: str) -> int:
    """The colour of a line of a diff."""
    return BOLD if line.startswith(_HEADS) else _COLOURS.get(line[:1], 0)


def moment(millis: int | None) -> str:
    """Format milliseconds as local time."""
    return "" if millis is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(millis / 1000))


def words_argument(name: str, *, required: bool = True, metavar: str | None = None) -> Callable[[F], F]:
    """A last argument of free text: several words are joined by blanks, so that quotes are not needed."""
    shown = metavar or (name.upper() if required else f"[{name.upper()}]")
    return click.argument(name, nargs=-1, required=required, metavar=shown, callback=_joined)


def _joined(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    return " ".join(given) if given else None


def prompt_text(text: str) -> str:
    """The text of the argument PROMPT or TEXT; `-` reads stdin. Invalid UTF-8 is replaced."""
    from clew.support.text import clean

    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if len(text) > 1 << 20:
        raise click.UsageError(sentence("cli_setup.text_too_long"))
    return clean(text)
