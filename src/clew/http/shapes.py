"""What the API is sent, and the two shapes that only it gives. What it gives else is in `clew.views`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from clew.views import RuntimeView, SurfaceView

ID = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$"
MessageId = Annotated[str, Field(pattern=ID)]  # also the name of a folder
Text = Annotated[str, Field(max_length=1 << 20)]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Path = Annotated[str, Field(min_length=1, max_length=4096)]
Pattern = Annotated[str, Field(min_length=1, max_length=4096)]
Lasts = Annotated[float, Field(gt=0, le=366 * 86_400)]
Grace = Annotated[float, Field(ge=0, le=86_400)]


Upload = Annotated[str, Field(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
Uploads = Annotated[list[Upload], Field(max_length=20, description="ids that `POST /api/files` gave")]


class Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", defer_build=False)


class Start(Body):
    message_id: MessageId
    text: Text
    kind: Literal["chat", "task"] = "chat"
    workspace: Path | None = None
    title: Title | None = None
    runtime: Name | None = None
    model: Name | None = None
    effort: Name | None = None
    policy: Literal["careful", "trusted", "read-only", "yolo"] | None = None
    notify: Path | None = None
    sender: Name = "you"
    attachments: list[Path] = Field(default=[], max_length=20, description="files on this machine")
    files: Uploads = []


class Say(Body):
    message_id: MessageId
    text: Text
    queue: bool = False
    sees: list[Name] | None = Field(
        default=None, max_length=100, description="codes of the gates that you show as open: a short reply means these"
    )
    sender: Name = "you"
    attachments: list[Path] = Field(default=[], max_length=20, description="files on this machine")
    files: Uploads = []


class Chat(Body):
    conversation_id: MessageId | None = Field(default=None, description="of your choice; left out: a new conversation")
    message: Text
    message_id: MessageId | None = Field(
        default=None, description="of your choice, and random: the same again joins the same turn"
    )
    runtime: Name | None = Field(default=None, description="for a conversation that begins here")
    files: Uploads = []
    sender: Name = "you"


class Resume(Body):
    message_id: MessageId
    supplement: Text
    sender: Name = "you"


class Fork(Body):
    turn: Name | None = None
    title: Title | None = None


class Adopt(Body):
    session: Name = Field(description="the runtime's own id, or any unique beginning of it")
    runtime: Name | None = Field(default=None, description="else the one whose sessions can be taken over")
    fork: bool = Field(default=False, description="a copy: the session stays with whoever uses it")
    workspace: Path | None = Field(default=None, description="else the session's own folder")
    policy: Literal["careful", "trusted", "read-only", "yolo"] | None = None


class Retitle(Body):
    title: Title


class Answer(Body):
    decision: Literal["accept", "decline", "cancel", "reply"]
    extent: Literal["once", "thread", "rule"] = "once"
    pattern: Pattern | None = Field(default=None, description="of the rule; else the one that is offered")
    scope: Literal["thread", "workspace", "everywhere"] = "workspace"
    lasts: Lasts | None = Field(default=None, description="seconds that the rule holds")
    reason: Text = ""
    replies: list[list[Text]] = Field(default=[], max_length=50, description="for each question, in their order")
    sender: Name = "you"


class AcceptAll(Body):
    sender: Name = "you"


class Pair(Body):
    code: Annotated[str, Field(min_length=1, max_length=64)]
    role: Literal["owner", "driver", "watcher"] = "driver"
    sender: Name = "you"


class HandOver(Body):
    thread: Name
    target: Path = Field(description="SURFACE for its home, or SURFACE:CONVERSATION")
    say: Text = Field(default="", description="said there with it")
    quiet: bool = Field(default=False, description="the agent does not greet there")
    sender: Name = "you"


class Away(Body):
    target: Path = Field(description="SURFACE for its home, or SURFACE:CONVERSATION")


class NewRule(Body):
    effect: Literal["allow", "ask", "deny"]
    pattern: Pattern
    kind: Literal["command", "change", "tool"] = "command"
    scope: Literal["thread", "workspace", "everywhere"] = "everywhere"
    place: Annotated[str, Field(max_length=4096)] = ""
    lasts: Lasts | None = None
    sender: Name = "you"


class RuleTest(Body):
    subject: Annotated[str, Field(min_length=1, max_length=100_000)]
    kind: Literal["command", "change", "tool"] = "command"
    workspace: Path
    thread: Name | None = None


class Markdown(Body):
    texts: list[Text] = Field(max_length=200)


class Verify(Body):
    thread: Name | None = None


class Notify(Body):
    dry_run: bool = False
    retry_failed: bool = False


class Shutdown(Body):
    grace: Grace = 10.0
    restart: bool = False  # watchers are told to wait for the next one


@dataclass(frozen=True, slots=True)
class SteerView:
    """A message on its way into a running turn."""

    message: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class DaemonView:
    pid: int
    since: int
    version: str
    home: str
    http: str | None  # the address of the TCP listener
    supervised: bool
    outdated: bool = False  # config.toml says something else by now
    environment: dict[str, str] = field(default_factory=dict)  # marks, without values; see `clew.surroundings`
    left_out: list[str] = field(default_factory=list)  # runtimes and surfaces that could not be made, and why


@dataclass(frozen=True, slots=True)
class LoginView:
    """A link for a browser: whoever opens it first is in."""

    url: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class ProcessView:
    pid: int
    role: str  # supervisor, daemon, agent, command (what an agent has started) and others
    rss: int  # bytes
    age: float  # seconds
    command: str
    threads: list[str]  # that it works for


@dataclass(frozen=True, slots=True)
class RenderedView:
    html: str
    stable: int  # UTF-16 code units of the text whose HTML stays, whatever is written behind it
    html_stable: str  # theirs: the beginning of `html`


@dataclass(frozen=True, slots=True)
class MarkdownView:
    rendered: list[RenderedView]


@dataclass(frozen=True, slots=True)
class Ready:
    ready: bool
    reasons: list[str]  # why it is not


@dataclass(frozen=True, slots=True)
class StatusView:
    daemon: DaemonView
    runtimes: list[RuntimeView]
    surfaces: list[SurfaceView]
    fates: dict[str, int]
    gates: int = 0  # that wait for a person
