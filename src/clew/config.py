"""Typed settings from `$CLEW_HOME/config.toml`. An error names the file, the line, and what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class HttpConfig:
    host: str = "127.0.0.1"
    port: int | None = None  # no port: no TCP listener at all; 0: any free one, shown by `clew status`


@dataclass(frozen=True, slots=True)
class ThreadsConfig:
    runtime: str = "codex"
    workspace: str | None = None  # for threads that begin where there is no folder, as in a chat


@dataclass(frozen=True, slots=True)
class TurnsConfig:
    parallel: int = 16
    silence: float = 600.0  # seconds of waiting for the model without a sign of life; 0: for ever


@dataclass(frozen=True, slots=True)
class InboxConfig:
    stale_after: float = 900.0  # seconds


@dataclass(frozen=True, slots=True)
class LogConfig:
    level: str = "info"
    max_bytes: int = 10_000_000
    keep: int = 5


@dataclass(frozen=True, slots=True)
class CodexConfig:
    command: str | None = None  # the binary; else PATH, else the bundled one
    home: str | None = None  # CODEX_HOME; else the person's own
    approval_policy: str = "on-request"
    sandbox: str = "workspace-write"
    model: str | None = None
    effort: str | None = None
    start_timeout: float = 30.0
    request_timeout: float = 60.0
    interrupt_timeout: float = 10.0
    idle_stop: float = 1800.0  # seconds without a turn after which the app-server is stopped


@dataclass(frozen=True, slots=True)
class ScriptedConfig:
    folder: str | None = None  # where its record lives; else $CLEW_HOME/scripted


@dataclass(frozen=True, slots=True)
class RuntimesConfig:
    codex: CodexConfig = field(default_factory=CodexConfig)
    scripted: ScriptedConfig = field(default_factory=ScriptedConfig)


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    secret: str
    url: str | None = None  # without one it only receives
    runtime: str | None = None
    workspace: str | None = None
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class SurfacesConfig:
    webhook: Mapping[str, WebhookConfig] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Config:
    http: HttpConfig = field(default_factory=HttpConfig)
    threads: ThreadsConfig = field(default_factory=ThreadsConfig)
    turns: TurnsConfig = field(default_factory=TurnsConfig)
    inbox: InboxConfig = field(default_factory=InboxConfig)
    log: LogConfig = field(default_factory=LogConfig)
    runtimes: RuntimesConfig = field(default_factory=RuntimesConfig)
    surfaces: SurfacesConfig = field(default_factory=SurfacesConfig)
