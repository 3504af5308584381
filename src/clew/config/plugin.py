"""What a plugin brings: a `Plugin` describes it. All of it comes from the plugin's own package, for clew's own runtimes
and surfaces as for those of others. Importing the description must be cheap: its functions import the heavy parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from msgspec import Struct, field

MAX_BODY = 1 << 20  # bytes


class Plugin(Struct, frozen=True, kw_only=True):
    """What an entry point may be. `make` is required, and gets the arguments that its parameters name."""

    make: Callable[..., Any]  # returns the runtime or surface, a mapping of several by name, or None: it is off
    # The dataclass of its table in config.toml, or `Mapping[Name, Dataclass]`: one table for each name.
    settings: Any = None
    # Whether there may be more of it, each with a table that names it: `[runtimes.codex-work] type = "codex"`. Then
    # `make` has the parameter `name`.
    several: bool = False
    connecting: Callable[[], Connecting] | None = None  # the dialogue of `clew connect`
    checks: Callable[..., Iterable[Finding]] | None = None  # for `clew doctor`; arguments by name, as of `make`
    # These get its settings. `names`: what `make` returns with them. Default: the plugin's name, unless it is off.
    names: Callable[[Any], Iterable[str]] | None = None
    targets: Callable[[Any], Iterable[str]] | None = None  # for `--notify`. Default: its name, if it has a `home`
    chats: Callable[[Any], Iterable[str]] | None = None  # for `clew handoff`. Default: its name, if it has `allow`
    routes: Callable[[Any], Iterable[HttpRoute]] | None = None  # gets the surface
    # Variables that lead an agent to the person's own set-up, such as CODEX_HOME: a service of the system gets them.
    environment: tuple[str, ...] = ()
    login: Callable[..., Login | None] | None = None  # for `clew login`; gets `config` and `name`, by name
    # Its sentences in English and 简体中文, by name. `say("plugins.NAME.WHAT")` makes one: NAME is that of the plugin.
    sentences: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class Login(Struct, frozen=True):
    """The program with which a person logs in to an agent."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)  # in addition to the person's own


class Field(Struct, frozen=True):
    """A setting below [surfaces.NAME] that `clew connect` asks for."""

    name: str
    words: str
    secret: bool = False
    default: str = ""
    is_asked: bool = True  # False: only settable by an option


class Connected(Struct, frozen=True):
    who: str  # the name of the bot or app
    next: str  # what the person should do now


class Connecting(Protocol):
    """The dialogue that sets up a surface: what to ask for, and a check of it. A module can be one."""

    SURFACE: str
    FIELDS: tuple[Field, ...]

    def check(self, values: dict[str, str], /) -> Coroutine[Any, Any, Connected]: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check of `clew doctor` found."""

    check: str
    ok: bool | None  # None: missing, but not needed
    detail: str
    todo: str | None = None
    exit: ClassVar[int] = 1  # exit code if the check failed


class HttpRequest(Struct, frozen=True):
    parameters: Mapping[str, str]  # from the path
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class HttpReply(Struct, frozen=True):
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"


class HttpRoute(Struct, frozen=True):
    """A route of a surface on the TCP listener, at `/surfaces/NAME` and its own path. It is not behind clew's token:
    the surface has to verify each request by itself, for example by its signature."""

    path: str  # begins with a slash, such as `/{name}`
    handle: Callable[[HttpRequest], Awaitable[HttpReply]]
    method: str = "POST"
    summary: str = ""
    description: str = ""
    body: Any = None  # the type of its JSON, for the OpenAPI document
    max_body: int = MAX_BODY  # bytes; a longer body is refused
