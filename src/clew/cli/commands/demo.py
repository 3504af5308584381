"""`clew demo`: runs the demo, prints a line per step, and always cleans up."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from clew.cli.language import CALLED_AS, in_locale, phrase, sentence
from clew.cli.output import Out, json_option
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.cli.demo.stage import DemoSetup
    from clew.cli.demo.story import Story
    from clew.support.coded import Text

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # SIGHUP: the terminal was closed
GREEN, RED, DIM, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Step:
    step: str
    ok: bool
    seconds: float
    words: str


@click.command("demo", short_help="See clew at work in a minute, without an account.")
@click.option("--keep", is_flag=True, help="Leave everything running to try it out, and say how to end it.")
@click.option("--runtime", type=click.Choice(["codex", "scripted"]), help="Default: Codex, if it is installed.")
@json_option
@click.pass_obj
def demo_command(out: Out, keep: bool, runtime: str | None) -> None:
    """See clew at work in a minute, without an account: a task is started, its daemon is killed, the work is continued,
    its answer is delivered once, and the finished thread is resumed. It uses a temporary home.
    """
    from clew.cli.demo.stage import DemoSetup

    _reach_this_machine_directly()
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    printer = StepPrinter(out)
    setup = DemoSetup(runtime)
    with _cleanup(setup, printer, keep):
        _tell(printer, setup, keep)
    printer.result()


def _tell(printer: StepPrinter, setup: DemoSetup, keep: bool) -> None:
    from clew.cli.demo import words
    from clew.cli.demo.story import Story

    printer.say(phrase("cli_demo.title") + "\n")
    story = Story(setup, printer.show_text)
    began = time.monotonic()
    for name, act in story.steps(keep):
        printer.take(name, act)
        if name == "prepare" and setup.why_not_codex:
            printer.say(phrase("cli_demo.no_codex", why=setup.why_not_codex))
        if not printer.is_ok:
            return
    if keep:
        _tell_kept(printer, setup, story)
    else:
        clew = _command_name()
        following = words.NEXT if clew == "clew" else words.NEXT_IN_CHECKOUT
        lines = [line.format(clew=clew) for line in following]
        printer.list(phrase("cli_demo.end", seconds=f"{time.monotonic() - began:.0f}"), lines)


def _tell_kept(printer: StepPrinter, setup: DemoSetup, story: Story) -> None:
    from clew.cli.commands.web import link
    from clew.cli.demo import words

    named = {"home": shlex.quote(str(setup.home.root)), "thread": story.thread, "clew": _command_name()}
    pids = " ".join(map(str, setup.helpers()))
    url = link(setup.home, lambda line: None).url
    end = words.KEPT_END_WITH.format(pids=pids, **named)
    printer.list(phrase("cli_demo.kept_page"), [url])
    printer.list(phrase("cli_demo.kept"), [line.format(**named) for line in words.KEPT_NEXT])
    printer.list(phrase("cli_demo.kept_end"), [end])
    printer.steps += [Step("page", True, 0.0, url), Step("keep", True, 0.0, end)]


def _command_name() -> str:
    """How to call clew: in a checkout there may be no `clew` on the PATH."""
    return os.environ.get(CALLED_AS) or ("clew" if shutil.which("clew") else "./clew")


@contextmanager
def _cleanup(setup: DemoSetup, printer: StepPrinter, keep: bool) -> Iterator[None]:
    """Stop all processes, unless `keep` is set and all went well; delete the folder, unless `keep` is set."""
    is_over = False
    try:
        yield
        is_over = printer.is_ok
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if not (keep and is_over):
            setup.take_down(folder=not keep)
    if not printer.is_ok:
        printer.say(
            "\n" + (phrase("cli_demo.failed_kept", home=setup.home.root) if keep else phrase("cli_demo.failed_next"))
        )


class StepPrinter:
    """Prints a line per step. On a terminal it also shows the current step and text live."""

    def __init__(self, out: Out) -> None:
        self.steps: list[Step] = []
        self._out = out
        self._is_live = not out.as_json and sys.stdout.isatty()
        self._colour = self._is_live and "NO_COLOR" not in os.environ
        self._showing_text = False

    @property
    def is_ok(self) -> bool:
        return all(step.ok for step in self.steps)

    def say(self, text: str) -> None:
        if not self._out.as_json:
            self._out.line(text)

    def list(self, head: str, lines: Sequence[str]) -> None:
        self.say(f"\n{head}")
        for line in lines:
            self.say(f"  {line}")

    def show_text(self, piece: str) -> None:
        """Show a piece of the agent's text."""
        if not self._is_live:
            return
        if not self._showing_text:
            sys.stdout.write(f"\r\x1b[K{'':11}")
            self._showing_text = True
        sys.stdout.write(self._in(DIM, visible(piece)))
        sys.stdout.flush()

    def take(self, name: str, act: Callable[[], dict[str, object]]) -> None:
        from clew.cli.demo.story import StepTimeout, Unexpected
        from clew.support.errors import ClewError

        self._doing(phrase(f"cli_demo.doing_{name}"))
        began = time.monotonic()
        try:
            with StepTimeout():
                text, ok = sentence(f"cli_demo.done_{name}", **act()), True
        except (Unexpected, ClewError, OSError) as error:
            text, ok = _failed(name, error), False
        self._done(Step(name, ok, round(time.monotonic() - began, 2), text))

    def result(self) -> None:
        if self._out.as_json:
            self._out.json([asdict(step) for step in self.steps])
        if not self.is_ok:
            raise click.exceptions.Exit(1)

    def _doing(self, words: str) -> None:
        self._showing_text = False
        if self._is_live:
            sys.stdout.write(self._in(DIM, f"…          {words}"))
            sys.stdout.flush()

    def _done(self, step: Step) -> None:
        self.steps.append(step)
        if self._out.as_json:
            return
        mark = self._in(GREEN, "✔") if step.ok else self._in(RED, "✘")
        begin = "\r\x1b[K" if self._is_live else ""
        print(f"{begin}{mark} {self._in(DIM, f'{step.seconds:5.1f} s')}  {visible(in_locale(step.words))}", flush=True)

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._colour else text


def _failed(name: str, error: Exception) -> Text:
    found = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return sentence("cli_demo.failed", expected=sentence(f"cli_demo.expected_{name}"), found=found)


def _reach_this_machine_directly() -> None:
    """Bypass any proxy: all parts of the demo are on this machine."""
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1"]))
