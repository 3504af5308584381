"""Typed settings from `$CLEW_HOME/config.toml`. An error names the file, the line, and what would be right.

The dataclasses are the whole truth: their type hints drive the loader, and `scripts/reference.py` makes
docs/reference/settings.md of them: of each docstring, and of the comment behind or above each field. Those of runtimes
and surfaces are in their own folders, and are found through `config/plugins.py`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_args

from clew.config.reading import (
    InvalidSetting,
    PluginSettings,
    hints_of,
    line_of,
    remove_key,
    split,
    table,
    without_none,
)
from clew.config.rules import (
    AccountStrategy,
    Amount,
    AtLeastOne,
    Between,
    Days,
    DefaultPolicy,
    Duration,
    Hidden,
    Language,
    Level,
    Memory,
    ModelName,
    Name,
    OnLimit,
    Place,
    PluginTables,
    Port,
    QuietHours,
    Seconds,
    Secret,
    VariableName,
    WebAddress,
)
from clew.support import addresses
from clew.support.addresses import shown_in
from clew.support.coded import worded
from clew.support.errors import ConfigError
from clew.support.text import LONGEST

SECRETIVE = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """The TCP listener, for the page, for programs and for webhooks. The command line uses a Unix socket instead."""

    host: str = "127.0.0.1"  # The address to listen on. If it is not loopback, `token` is required.
    # Not set: no TCP listener; `clew web` sets a port. 0: any free port, shown by `clew status`.
    port: Port | None = None
    token: Secret | None = None  # Not set: clew makes one, in the file `token` of its home; `clew token` prints it.


@dataclass(frozen=True, slots=True)
class ThreadsConfig:
    """Defaults of new threads."""

    runtime: str = "codex"  # The agent of a thread if none is named.
    workspace: Place | None = None  # The folder of threads that begin without one, as in a chat.
    policy: DefaultPolicy = "careful"  # What a thread may do without asking. `yolo` can only be set per thread.
    # Who takes a turn that its agent cannot begin: each is tried once, in this order. Empty: nobody.
    fallback: tuple[str, ...] = ()
    # At a usage limit: `"auto"`: the thread waits and goes on by itself; `"ask"`: it waits for you; `"never"`: the turn
    # fails.
    on_limit: OnLimit = "auto"
    limit_waits: AtLeastOne = 3  # For how many usage windows in a row a thread waits by itself before it asks you.
    # Hours in which no thread goes on by itself after a limit, such as `"23:00-07:00"`. Not set: none.
    quiet_hours: QuietHours | None = None
    # Which account a new thread gets, of the entries in `fallback` that are of one type: `"drain"`: the first that is
    # not at its limit; `"round-robin"`: each in turn; `"most-left"`: the one that has used least.
    accounts: AccountStrategy = "drain"
    # Seconds after a turn until the session of an adopted thread is released to its own program.
    release_after: Seconds = 120.0


@dataclass(frozen=True, slots=True)
class TurnsConfig:
    """How turns run."""

    parallel: AtLeastOne = 16  # Turns that run at once, over all threads. Those that wait for a person do not count.
    per_project: Annotated[int, Between(0)] = 0  # Turns that run at once in one folder. 0: no limit of its own.
    # Memory that the agents may use together, with all that they started: a share of the machine, or bytes. While it is
    # more, no further turn starts. "0": no limit.
    memory: Memory = "70%"
    # Seconds without a sign of life from the model, after which the turn fails. 0: no limit. The clock stops while a
    # command or a tool runs, and while the turn waits for a person.
    silence: Seconds = 600.0
    # Bytes of one text of an agent, on every runtime. A longer text is cut, and its last line says by how much.
    longest_text: Annotated[int, Between(10_000)] = LONGEST
    # Bytes of what an agent is told of what happened in a thread before it came, or since it left: the newest first.
    # `prelude` in the table of a runtime is its own.
    prelude: Annotated[int, Between(1_000)] = 12_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be used. Once it is used up, clew asks before each further turn; what runs is never stopped."""

    tokens: AtLeastOne | None = None  # Tokens, as the agents count them.
    turns: AtLeastOne | None = None  # Turns that have ended.
    time: Duration | None = None  # Working time, such as "4h" or "90m", without the time that turns wait at gates.


@dataclass(frozen=True, slots=True)
class BudgetsConfig:
    """Budgets. The day is that of this machine's time zone."""

    day: Budget = field(default_factory=Budget)  # Of a day, for everything together.
    thread: Budget = field(default_factory=Budget)  # Of a thread, in its whole life. `clew set` can give it its own.
    person: Budget = field(default_factory=Budget)  # Of a day, for each person who writes.
    # Of a day, for each named runtime: `account.codex.tokens = 1000000`.
    account: Mapping[Name, Budget] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in your currency. It is only shown, by `clew usage`, and never stops work. clew knows
    no prices of its own, since they change."""

    input: Amount  # Of tokens that the model reads.
    output: Amount  # Of tokens that it writes.
    cached_input: Amount | None = None  # Not set: as much as other input.


@dataclass(frozen=True, slots=True)
class InboxConfig:
    """How messages are taken in."""

    stale_after: Seconds = 900.0  # Seconds. If a message waited longer while clew was down, clew asks.
    # Seconds that a message in a chat waits for more messages of the same person, so that several in a row are one
    # request; the parts of an album wait three times as long. 0: none waits. Commands and answers never do.
    debounce: Annotated[float, Between(0, 10)] = 1.0


@dataclass(frozen=True, slots=True)
class ChatsConfig:
    """How clew speaks in chats."""

    # The language in a chat where nobody has written yet. After that clew follows the last message: Chinese if it has
    # Chinese characters, else English.
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class GatesConfig:
    """Requests of an agent that wait for a person (`clew gates`)."""

    remind_after: Seconds = 1800.0  # Seconds until an open gate reminds, once. 0: never.
    expire_after: Seconds = 0.0  # Seconds until an open gate expires and the agent is told "no answer". 0: never.
    # Who may answer from a chat, by platform id (`clew people` lists them). Empty: whoever may write there. A webhook
    # has no such ids: `"webhook"` lets everybody answer who writes there. You, at this machine, always may.
    approvers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    """The process that restarts the daemon after a crash or a hang. It checks the daemon three times a minute."""

    hang: Seconds = 300.0  # Seconds without an answer until the daemon is restarted. 0: never, as while you debug it.


@dataclass(frozen=True, slots=True)
class EventsConfig:
    """The event log, which `clew watch` and the event streams replay. History itself is never pruned."""

    keep_days: Days = 30.0  # Days that events are kept. 0: for ever.
    keep_rows: Annotated[int, Between(0)] = 1_000_000  # How many events are kept at most. 0: any number.


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The log file `logs/clew.log` in clew's home: one JSON object per line, secrets redacted."""

    level: Level = "info"  # The least severe level that is logged.
    max_bytes: Annotated[int, Between(10_000)] = 10_000_000  # Size at which the file is rotated.
    keep: AtLeastOne = 5  # How many rotated files are kept.


@dataclass(frozen=True, slots=True)
class Config:
    http: HttpConfig = field(default_factory=HttpConfig)
    threads: ThreadsConfig = field(default_factory=ThreadsConfig)
    turns: TurnsConfig = field(default_factory=TurnsConfig)
    budgets: BudgetsConfig = field(default_factory=BudgetsConfig)
    # Prices, by the name of a model or of a runtime: `[prices."gpt-5.2-codex"]`. The model's counts if there are both.
    prices: Mapping[ModelName, Price] = field(default_factory=lambda: MappingProxyType({}))
    inbox: InboxConfig = field(default_factory=InboxConfig)
    chats: ChatsConfig = field(default_factory=ChatsConfig)
    gates: GatesConfig = field(default_factory=GatesConfig)
    events: EventsConfig = field(default_factory=EventsConfig)
    log: LogConfig = field(default_factory=LogConfig)
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)
    # The tables of plugins by name, without those that are all default. The types are the plugins' own.
    runtimes: Annotated[PluginSettings, PluginTables("clew.runtimes")] = field(
        default_factory=lambda: MappingProxyType({})
    )
    surfaces: Annotated[PluginSettings, PluginTables("clew.surfaces")] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def secrets(self) -> frozenset[str]:
        """Every secret value in it, so that the log can redact them."""
        return frozenset(_secrets(self))

    def surface_variables(self) -> frozenset[str]:
        """The environment variables that hold secrets of surfaces: no agent needs them."""
        return frozenset(_variables(self.surfaces))


def load(path: Path) -> Config:
    """The settings in a file; all defaults where there is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(
            worded(
                "config.cannot_read",
                "{path} cannot be read: {error}. Check its permissions.",
                path=f"{path}",
                error=error.strerror or "",
            )
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            worded("config.not_utf8", "{path} is not UTF-8 text. Save it as UTF-8.", path=f"{path}")
        ) from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Config:
    """The settings in a text; `name` is what errors call it."""
    try:
        return table(Config, tomllib.loads(text), ())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            worded("config.not_toml", "{name}: not valid TOML: {error}", name=name, error=f"{error}")
        ) from error
    except InvalidSetting as wrong:
        line = line_of(text, wrong.key)
        raise ConfigError(
            worded(
                "config.wrong_setting",
                "{name}, line {line}: {key} {words}",
                name=name,
                line=line,
                key=shown_in(".".join(wrong.key)),
                words=wrong.words,
            )
        ) from None


def mistakes(text: str, name: str) -> list[str]:
    """All that is wrong with a text, not only the first of it."""
    return parse_leniently(text, name)[0]


def parse_leniently(text: str, name: str) -> tuple[list[str], Config]:
    """All that is wrong with a text, and what it says beside that: what was named is left out, the rest read again."""
    found: list[str] = []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [worded("config.not_toml", "{name}: not valid TOML: {error}", name=name, error=f"{error}")], Config()
    while True:
        try:
            return found, table(Config, data, ())
        except InvalidSetting as wrong:
            found.append(
                worded(
                    "config.wrong_setting",
                    "{name}, line {line}: {key} {words}",
                    name=name,
                    line=line_of(text, wrong.key),
                    key=shown_in(".".join(wrong.key)),
                    words=wrong.words,
                )
            )
            remove_key(data, wrong.key)


def _secrets_in(named: Mapping[str, Any], kind: Any) -> Iterator[str]:
    """Of variables only those whose name says so: a redacted `1` would make every log unreadable."""
    for name, each in named.items():
        if is_dataclass(each):
            yield from _secrets(each)
        elif isinstance(each, Mapping):  # the named tables of a plugin
            yield from _secrets_in(each, str)
        elif any(isinstance(rule, Hidden) for rule in split(kind)[1]) and SECRETIVE.search(name):
            yield each


def _secrets(table: Any) -> Iterator[str]:
    for name, hint in hints_of(type(table)).items():
        value = getattr(table, name)
        if is_dataclass(value):
            yield from _secrets(value)
        elif isinstance(value, Mapping):
            yield from _secrets_in(value, get_args(hint)[1])
        elif value is not None and any(isinstance(rule, Hidden) for rule in split(without_none(hint))[1]):
            yield value
        elif value is not None and any(isinstance(rule, WebAddress) for rule in split(without_none(hint))[1]):
            yield from addresses.secrets(value)
        elif value is not None and any(isinstance(rule, VariableName) for rule in split(without_none(hint))[1]):
            yield from filter(None, [os.environ.get(value, "").strip()])


def _variables(table: Any) -> Iterator[str]:
    """The names of variables in a table and in those below it. A plugin of others may not use clew's type for them."""
    if isinstance(table, Mapping):
        for each in table.values():
            yield from _variables(each)
    elif is_dataclass(table):
        for name, hint in hints_of(type(table)).items():
            value = getattr(table, name)
            is_variable = any(isinstance(rule, VariableName) for rule in split(without_none(hint))[1])
            if isinstance(value, str) and value and (is_variable or name.endswith("_env")):
                yield value
            else:
                yield from _variables(value)
