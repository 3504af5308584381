"""Typed settings from `$CLEW_HOME/config.toml`. An error names the file, the line, and what would be right.

The dataclasses are the whole truth: their type hints drive the loader, and docs/reference/config.md is tested
against them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_type_hints

from clew.config.reading import Foreign, Wrong, leave_out, line_of, own_names, present, split, table
from clew.config.rules import (
    Address,
    AtLeastOne,
    Between,
    DefaultPolicy,
    FeishuChat,
    Hidden,
    Language,
    Level,
    Name,
    Named,
    Place,
    Plugged,
    Port,
    Seconds,
    Secret,
    TelegramChat,
    Timeout,
    Transport,
    Variable,
    WebAddress,
)
from clew.support import addresses
from clew.support.addresses import shown_in
from clew.support.errors import ConfigError
from clew.support.text import LONGEST

SECRETIVE = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpConfig:
    host: str = "127.0.0.1"
    port: Port | None = None  # no port: no TCP listener at all; 0: any free one, shown by `clew status`
    token: Secret | None = None  # else one is made, in the file `token` of the home


@dataclass(frozen=True, slots=True)
class ThreadsConfig:
    runtime: str = "codex"
    workspace: Place | None = None  # for threads that begin where there is no folder, as in a chat
    policy: DefaultPolicy = "careful"  # how much a thread may do without asking; `yolo` is only ever said per thread
    release_after: Seconds = 120.0  # seconds after a turn until an adopted session is free for its own program again


@dataclass(frozen=True, slots=True)
class TurnsConfig:
    parallel: AtLeastOne = 16
    silence: Seconds = 600.0  # seconds of waiting for the model without a sign of life; 0: for ever
    longest_text: Annotated[int, Between(10_000)] = LONGEST  # bytes of one text of an agent; the rest is left out


@dataclass(frozen=True, slots=True)
class InboxConfig:
    stale_after: Seconds = 900.0  # seconds


@dataclass(frozen=True, slots=True)
class ChatsConfig:
    language: Language = "en"  # in which clew speaks where nobody has said anything yet


@dataclass(frozen=True, slots=True)
class GatesConfig:
    remind_after: Seconds = 1800.0  # seconds after which an open gate reminds, once; 0: never
    expire_after: Seconds = 0.0  # seconds after which an open gate means "no answer"; 0: never
    approvers: tuple[str, ...] = ()  # ids of those who may answer from a chat; empty: whoever may write there


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    hang: Seconds = 300.0  # seconds without an answer after which the daemon is restarted; 0: never


@dataclass(frozen=True, slots=True)
class EventsConfig:
    keep_days: Seconds = 30.0  # how long what happened can be replayed; 0: for ever
    keep_rows: Annotated[int, Between(0)] = 1_000_000  # and how much of it at most; 0: any number


@dataclass(frozen=True, slots=True)
class LogConfig:
    level: Level = "info"
    max_bytes: Annotated[int, Between(10_000)] = 10_000_000
    keep: AtLeastOne = 5


@dataclass(frozen=True, slots=True)
class CodexConfig:
    command: Place | None = None  # the binary; else PATH, else the bundled one
    home: Place | None = None  # CODEX_HOME; else the person's own
    model: str | None = None
    effort: str | None = None
    start_timeout: Timeout = 30.0
    request_timeout: Timeout = 60.0
    interrupt_timeout: Timeout = 10.0
    idle_stop: Seconds = 1800.0  # seconds without a turn after which the app-server is stopped
    transport: Transport = "stdio"  # "socket": it goes on working while no daemon is there
    keep_alive: Annotated[float, Between(1)] = (
        1800.0  # seconds without work and without a daemon after which it ends then
    )


@dataclass(frozen=True, slots=True)
class ScriptedConfig:
    enabled: bool = False  # for the demo and for tests; naming it in `threads.runtime` enables it too
    folder: Place | None = None  # where its record lives; else $CLEW_HOME/scripted


@dataclass(frozen=True, slots=True)
class AcpConfig:
    command: tuple[str, ...] = ()  # the program and its arguments; the ready agents have their own
    env: Mapping[Variable, Secret] = field(default_factory=lambda: MappingProxyType({}))
    folder: Place | None = None  # where the program is started; the threads have their own
    auth: str | None = None  # the way to log in that the agent is told to take, if it needs to be told
    mode: str | None = None  # one of the agent's own
    model: str | None = None
    start_timeout: Timeout = 60.0
    request_timeout: Timeout = 60.0
    interrupt_timeout: Timeout = 10.0
    idle_stop: Seconds = 1800.0  # seconds without a turn after which the program is stopped


@dataclass(frozen=True, slots=True)
class RuntimesConfig:
    acp: Mapping[Name, AcpConfig] = field(default_factory=lambda: MappingProxyType({}))
    codex: CodexConfig = field(default_factory=CodexConfig)
    scripted: ScriptedConfig = field(default_factory=ScriptedConfig)
    others: Annotated[Foreign, Plugged("clew.runtimes")] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    secret: Secret
    url: Address | None = None  # without one it only receives
    runtime: str | None = None
    workspace: Place | None = None
    timeout: Timeout = 30.0


@dataclass(frozen=True, slots=True)
class TelegramConfig:
    token: Secret | None = None  # without one, here or there, clew is not on Telegram
    token_env: Variable | None = None
    allow: tuple[str, ...] = ()  # numbers of people
    home: TelegramChat | None = None
    base_url: Address = "https://api.telegram.org"

    @property
    def is_on(self) -> bool:
        return self.token is not None or self.token_env is not None


@dataclass(frozen=True, slots=True)
class FeishuConfig:
    app_id: str | None = None  # without one clew is not on Feishu
    app_secret: Secret | None = None
    app_secret_env: Variable | None = None
    allow: tuple[str, ...] = ()  # open_ids of people
    home: FeishuChat | None = None
    base_url: Address = "https://open.feishu.cn"  # Lark: https://open.larksuite.com

    @property
    def is_on(self) -> bool:
        return self.app_id is not None


@dataclass(frozen=True, slots=True)
class SurfacesConfig:
    feishu: FeishuConfig = field(default_factory=FeishuConfig)
    telegram: TelegramConfig = field(default_factory=TelegramConfig)
    webhook: Mapping[Name, WebhookConfig] = field(default_factory=lambda: MappingProxyType({}))
    others: Annotated[Foreign, Plugged("clew.surfaces")] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Config:
    http: HttpConfig = field(default_factory=HttpConfig)
    threads: ThreadsConfig = field(default_factory=ThreadsConfig)
    turns: TurnsConfig = field(default_factory=TurnsConfig)
    inbox: InboxConfig = field(default_factory=InboxConfig)
    chats: ChatsConfig = field(default_factory=ChatsConfig)
    gates: GatesConfig = field(default_factory=GatesConfig)
    events: EventsConfig = field(default_factory=EventsConfig)
    log: LogConfig = field(default_factory=LogConfig)
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)
    runtimes: RuntimesConfig = field(default_factory=RuntimesConfig)
    surfaces: SurfacesConfig = field(default_factory=SurfacesConfig)

    def secrets(self) -> frozenset[str]:
        """Every secret value in it, so that the log can redact them."""
        return frozenset(_secrets(self))


def section(table: RuntimesConfig | SurfacesConfig, name: str) -> Any:
    """The settings of one runtime or surface; None where it is a plugin that has none here."""
    return getattr(table, name) if name in own_names(type(table)) else table.others.get(name)


def load(path: Path) -> Config:
    """The settings in a file; all defaults where there is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Config:
    """The settings in a text; `name` is what errors call it."""
    try:
        return table(Config, tomllib.loads(text), ())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: not valid TOML: {error}") from error
    except Wrong as wrong:
        line = line_of(text, wrong.key)
        raise ConfigError(f"{name}, line {line}: {shown_in('.'.join(wrong.key))} {wrong.words}") from None


def mistakes(text: str, name: str) -> list[str]:
    """All that is wrong with a text, not only the first of it."""
    return judged(text, name)[0]


def judged(text: str, name: str) -> tuple[list[str], Config]:
    """All that is wrong with a text, and what it says beside that: what was named is left out, the rest read again."""
    found: list[str] = []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [f"{name}: not valid TOML: {error}"], Config()
    while True:
        try:
            return found, table(Config, data, ())
        except Wrong as wrong:
            found.append(f"{name}, line {line_of(text, wrong.key)}: {shown_in('.'.join(wrong.key))} {wrong.words}")
            leave_out(data, wrong.key)


def _secrets_in(named: Mapping[str, Any], kind: Any) -> Iterator[str]:
    """Of variables only those whose name says so: a redacted `1` would make every log unreadable."""
    for name, each in named.items():
        if is_dataclass(each):
            yield from _secrets(each)
        elif any(isinstance(rule, Hidden) for rule in split(kind)[1]) and SECRETIVE.search(name):
            yield each


def _secrets(table: Any) -> Iterator[str]:
    for name, hint in get_type_hints(type(table), include_extras=True).items():
        value = getattr(table, name)
        if is_dataclass(value):
            yield from _secrets(value)
        elif isinstance(value, Mapping):
            yield from _secrets_in(value, get_args(hint)[1])
        elif value is not None and any(isinstance(rule, Hidden) for rule in split(present(hint))[1]):
            yield value
        elif value is not None and any(isinstance(rule, WebAddress) for rule in split(present(hint))[1]):
            yield from addresses.secrets(value)
        elif value is not None and any(isinstance(rule, Named) for rule in split(present(hint))[1]):
            yield from filter(None, [os.environ.get(value, "").strip()])
