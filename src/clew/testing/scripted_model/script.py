"""Parses the script in a prompt: one directive on each line that starts with `!`; all other text is ignored.

    !text WORDS…            say exactly that
    !say N                  say N words
    !slow N MS              say N words, one every MS milliseconds
    !write MS "TEXT"        say a text of several lines, as JSON writes it, a word every MS milliseconds
    !hold NAME              stop here until NAME is released
    !shell CMD              run a command
    !approve CMD            run a command that a person has to accept first
    !both CMD | CMD         ask to run two commands at once
    !beyond CMD             run a command outside the sandbox
    !patch PATH TEXT        add a file
    !tool SERVER.TOOL JSON  call a tool of an MCP server
    !permit PATH            ask for the network, and to write at PATH
    !ask QUESTION | A | B   ask the person
    !secret QUESTION | A    ask the person for a secret answer
    !aside QUESTION | A | B ask without waiting for the answer
    !plan A | B             write a plan
    !think WORDS            send reasoning text
    !status CODE [TIMES]    answer with an HTTP error
    !cut [TIMES]            drop the connection in the middle of the stream
    !error CODE [TIMES]     fail within the stream
    !limit WINDOW RESET [TIMES]  refuse: this window of the subscription is used up until RESET (seconds since 1970)
    !recall                 say how many messages the history holds, and quote the first

With TIMES the error happens only that many times, and then the script goes on. Pure. Used by the scripted model and the
scripted runtime.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from msgspec import Struct

_WORDS = ("never", "lose", "the", "thread", "that", "leads", "you", "back", "out", "of", "the", "maze")


class Say(Struct, frozen=True):
    text: str
    interval_ms: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """The pieces in which the text is sent; joined, they are the text."""
        return tuple(re.findall(r"\s*\S+\s*$|\s*\S+", self.text))


class Hold(Struct, frozen=True):
    name: str


class Shell(Struct, frozen=True):
    command: str
    beyond: bool = False  # outside the sandbox


class Approve(Struct, frozen=True):
    """Ask to run one command, or several at once."""

    commands: tuple[str, ...]


class Patch(Struct, frozen=True):
    path: str
    text: str


class Tool(Struct, frozen=True):
    server: str
    name: str
    arguments: str  # JSON


class Permit(Struct, frozen=True):
    path: str


class Ask(Struct, frozen=True):
    question: str
    options: tuple[str, ...]
    secret: bool = False


class Aside(Struct, frozen=True):
    question: str
    options: tuple[str, ...]


class Plan(Struct, frozen=True):
    steps: tuple[str, ...]


class Think(Struct, frozen=True):
    text: str


class Status(Struct, frozen=True):
    code: int
    times: int | None = None  # None: every time


class Cut(Struct, frozen=True):
    times: int | None = None


class Error(Struct, frozen=True):
    code: str
    times: int | None = None


class Limit(Struct, frozen=True):
    window: str  # such as `five_hour`
    resets_at: int
    times: int | None = None


class Recall(Struct, frozen=True):
    pass


Act = Shell | Approve | Patch | Tool | Permit | Ask | Aside | Plan  # each ends a response: the agent does it
Step = Say | Hold | Think | Status | Cut | Error | Limit | Recall | Act


class BadScript(ValueError):
    """A directive is invalid; the message quotes it."""


def parse(prompt: str) -> tuple[Step, ...]:
    """Return the steps of a prompt. Without a directive: a short answer that echoes the first words."""
    lines = [line.strip() for line in prompt.splitlines()]
    steps = tuple(_step(line) for line in lines if _is_directive(line))
    return steps or (echo(prompt),)


def calls(step: Step) -> int:
    """Return how many tool calls a step makes."""
    return len(step.commands) if isinstance(step, Approve) else int(isinstance(step, Act))


def echo(prompt: str) -> Say:
    first = " ".join(prompt.split()[:8])
    return Say(f"You said: {first}. Glad to help." if first else "Hello. What shall we do?")


def filler(count: int) -> str:
    return " ".join(_WORDS[index % len(_WORDS)] for index in range(count))


def _is_directive(line: str) -> bool:
    return line.startswith("!") and line[1:].split(" ", 1)[0] in _PARSERS


def _step(line: str) -> Step:
    name, _, rest = line[1:].partition(" ")
    try:
        return _PARSERS[name](rest.strip())
    except (ValueError, IndexError) as error:
        raise BadScript(f"cannot play {line!r}: {error}") from error


def _say(rest: str) -> Say:
    return Say(filler(int(rest.split()[0])))


def _slow(rest: str) -> Say:
    count, interval = rest.split()[:2]
    return Say(filler(int(count)), int(interval))


def _write(rest: str) -> Say:
    interval, _, text = rest.partition(" ")
    return Say(str(json.loads(text)), int(interval))


def _patch(rest: str) -> Patch:
    path, _, text = rest.partition(" ")
    return Patch(path, text)


def _tool(rest: str) -> Tool:
    name, _, arguments = rest.partition(" ")
    server, _, tool = name.partition(".")
    return Tool(server, tool, arguments or "{}")


def _ask(rest: str) -> Ask:
    question, *options = _parts(rest)
    return Ask(question, tuple(options))


def _secret(rest: str) -> Ask:
    question, *options = _parts(rest)
    return Ask(question, tuple(options), secret=True)


def _aside(rest: str) -> Aside:
    question, *options = _parts(rest)
    return Aside(question, tuple(options))


def _status(rest: str) -> Status:
    code, *times = rest.split()
    return Status(int(code), _times(times))


def _error(rest: str) -> Error:
    code, *times = rest.split()
    return Error(code, _times(times))


def _limit(rest: str) -> Limit:
    window, reset, *times = rest.split()
    return Limit(window, int(reset), _times(times))


def _times(words: list[str]) -> int | None:
    return int(words[0]) if words else None


def _parts(rest: str) -> list[str]:
    return [part.strip() for part in rest.split("|")]


_PARSERS: dict[str, Callable[[str], Step]] = {
    "text": Say,
    "say": _say,
    "slow": _slow,
    "write": _write,
    "hold": Hold,
    "shell": Shell,
    "approve": lambda rest: Approve((rest,)),
    "both": lambda rest: Approve(tuple(_parts(rest))),
    "beyond": lambda rest: Shell(rest, beyond=True),
    "patch": _patch,
    "tool": _tool,
    "permit": Permit,
    "ask": _ask,
    "secret": _secret,
    "aside": _aside,
    "plan": lambda rest: Plan(tuple(_parts(rest))),
    "think": Think,
    "status": _status,
    "cut": lambda rest: Cut(_times(rest.split())),
    "error": _error,
    "limit": _limit,
    "recall": lambda rest: Recall(),
}
