"""`clew demo`: the first minute. It tells the story line by line, and puts everything away again, whatever happens."""

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

from clew.cli.output import Out, json_option
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.cli.demo.stage import Stage
    from clew.cli.demo.story import Story

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last when the terminal is closed
GREEN, RED, DIM, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Step:
    step: str
    ok: bool
    seconds: float
    words: str


@click.command("demo", short_help="The whole story in a minute, without an account.")
@click.option("--keep", is_flag=True, help="Leave everything up to play with, and say how to end it.")
@click.option("--runtime", type=click.Choice(["codex", "scripted"]), help="Else Codex, where there is one.")
@json_option
@click.pass_obj
def demo_command(out: Out, keep: bool, runtime: str | None) -> None:
    """The whole story in a minute, without an account: a task is started, its daemon is killed, the work is continued,
    its answer arrives once, and the finished thread is picked up again. On a home that is thrown away afterwards.
    """
    from clew.cli.demo.stage import Stage

    _reach_this_machine_directly()
    for number in ENDINGS:
        signal.signal(number, signal.default_int_handler)
    teller = Teller(out)
    stage = Stage(runtime)
    with _put_away(stage, teller, keep):
        _tell(teller, stage, keep)
    teller.result()


def _tell(teller: Teller, stage: Stage, keep: bool) -> None:
    from clew.cli.demo import words
    from clew.cli.demo.story import Story

    teller.say(f"{words.TITLE}\n")
    story = Story(stage, teller.hear)
    began = time.monotonic()
    for name, act in story.steps(keep):
        teller.take(name, act)
        if name == "prepare" and stage.why_not_codex:
            teller.say(words.NO_CODEX.format(why=stage.why_not_codex))
        if not teller.is_well:
            return
    if keep:
        _tell_kept(teller, stage, story)
    else:
        lines = [line.format(clew=_called()) for line in words.NEXT]
        teller.list(words.END.format(seconds=time.monotonic() - began), lines)


def _tell_kept(teller: Teller, stage: Stage, story: Story) -> None:
    from clew.cli.commands.web import link
    from clew.cli.demo import words

    named = {"home": shlex.quote(str(stage.home.root)), "thread": story.thread, "clew": _called()}
    pids = " ".join(map(str, stage.helpers()))
    url = link(stage.home, lambda line: None)["url"]
    end = words.KEPT_END_WITH.format(pids=pids, **named)
    teller.list(words.KEPT_PAGE, [url])
    teller.list(words.KEPT, [line.format(**named) for line in words.KEPT_NEXT])
    teller.list(words.KEPT_END, [end])
    teller.steps += [Step("page", True, 0.0, url), Step("keep", True, 0.0, end)]


def _called() -> str:
    """As this person calls it: who has only a checkout has no `clew` on the PATH yet."""
    return "clew" if shutil.which("clew") else "./clew"


@contextmanager
def _put_away(stage: Stage, teller: Teller, keep: bool) -> Iterator[None]:
    """Everything that runs, unless it is wanted and all went well; the folder too, unless it is wanted."""
    from clew.cli.demo import words

    is_over = False
    try:
        yield
        is_over = teller.is_well
    finally:
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        if not (keep and is_over):
            stage.take_down(folder=not keep)
    if not teller.is_well:
        teller.say(f"\n{words.FAILED_KEPT.format(home=stage.home.root) if keep else words.FAILED_NEXT}")


class Teller:
    """A line per step. On a terminal, what is just being done and said is shown as it happens."""

    def __init__(self, out: Out) -> None:
        self.steps: list[Step] = []
        self._out = out
        self._is_live = not out.as_json and sys.stdout.isatty()
        self._colour = self._is_live and "NO_COLOR" not in os.environ
        self._heard = False

    @property
    def is_well(self) -> bool:
        return all(step.ok for step in self.steps)

    def say(self, text: str) -> None:
        if not self._out.as_json:
            self._out.line(text)

    def list(self, head: str, lines: Sequence[str]) -> None:
        self.say(f"\n{head}")
        for line in lines:
            self.say(f"  {line}")

    def hear(self, piece: str) -> None:
        """What the agent says, while it does."""
        if not self._is_live:
            return
        if not self._heard:
            sys.stdout.write(f"\r\x1b[K{'':11}")
            self._heard = True
        sys.stdout.write(self._in(DIM, visible(piece)))
        sys.stdout.flush()

    def take(self, name: str, act: Callable[[], dict[str, object]]) -> None:
        from clew.cli.demo import words
        from clew.cli.demo.story import Patience, Unexpected
        from clew.support.errors import ClewError

        self._doing(words.DOING[name])
        began = time.monotonic()
        try:
            with Patience():
                told, ok = words.DONE[name].format(**act()), True
        except (Unexpected, ClewError, OSError) as error:
            told, ok = words.FAILED.format(expected=words.EXPECTED[name], found=error), False
        self._done(Step(name, ok, round(time.monotonic() - began, 2), told))

    def result(self) -> None:
        if self._out.as_json:
            self._out.json([asdict(step) for step in self.steps])
        if not self.is_well:
            raise click.exceptions.Exit(1)

    def _doing(self, words: str) -> None:
        self._heard = False
        if self._is_live:
            sys.stdout.write(self._in(DIM, f"…          {words}"))
            sys.stdout.flush()

    def _done(self, step: Step) -> None:
        self.steps.append(step)
        if self._out.as_json:
            return
        mark = self._in(GREEN, "✔") if step.ok else self._in(RED, "✘")
        begin = "\r\x1b[K" if self._is_live else ""
        print(f"{begin}{mark} {self._in(DIM, f'{step.seconds:5.1f} s')}  {visible(step.words)}", flush=True)

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._colour else text


def _reach_this_machine_directly() -> None:
    """Everybody in the story is on this machine, whatever proxy the rest of the world is behind."""
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1"]))
