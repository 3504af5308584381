"""Request bodies of the API, and the views that only the API returns. Other views are in `clew.model.views`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clew.server.routing.validation import Body
from clew.support.coded import Coded

ID = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$(?!\n)"
MessageId = Annotated[str, Meta(pattern=ID)]  # also used as the name of a folder
Text = Annotated[str, Meta(max_length=1 << 20)]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Path = Annotated[str, Meta(min_length=1, max_length=4096)]
Pattern = Annotated[str, Meta(min_length=1, max_length=4096)]
Lasts = Annotated[float, Meta(gt=0, le=366 * 86_400)]
Age = Annotated[float, Meta(gt=0, le=1_000_000 * 604_800)]
Grace = Annotated[float, Meta(ge=0, le=86_400)]


Upload = Annotated[str, Meta(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$(?!\n)")]
Uploads = Annotated[tuple[Upload, ...], Meta(max_length=20, description="ids returned by `POST /api/files`")]


Agents = Annotated[tuple[Name, ...], Meta(max_length=20)]
Waits = Annotated[int, Meta(ge=1, le=1000)]
Limit = Annotated[int, Meta(ge=0, le=1 << 49)]


class Start(Body):
    message_id: MessageId
    text: Text
    kind: Literal["chat", "task"] = "chat"
    workspace: Path | None = None
    title: Title | None = None
    runtime: Name | None = None
    model: Name | None = None
    effort: Name | None = None
    policy: Literal["careful", "sandbox", "trusted", "read-only", "yolo"] | None = None
    notify: Path | None = None
    priority: Literal["high", "normal", "low"] = "normal"
    sender: Name = "you"
    attachments: Annotated[tuple[Path, ...], Meta(max_length=20, description="files on this machine")] = ()
    files: Uploads = ()


class Say(Body):
    message_id: MessageId
    text: Text
    queue: bool = False
    sees: Annotated[
        Annotated[tuple[Name, ...], Meta(max_length=100)] | None,
        Meta(description="ids or codes of the gates that you show completely: a short reply answers only these"),
    ] = None
    answers: Annotated[
        Name | None,
        Meta(
            description="`asks` of the thread as you show it: `continue`, `stop` and the like answer only this question"
        ),
    ] = None
    sender: Name = "you"
    attachments: Annotated[tuple[Path, ...], Meta(max_length=20, description="files on this machine")] = ()
    files: Uploads = ()


class Chat(Body):
    message: Text
    conversation_id: Annotated[MessageId | None, Meta(description="your own id; omit it for a new conversation")] = None
    message_id: Annotated[
        MessageId | None, Meta(description="your own random id; the same id again joins the same turn")
    ] = None
    runtime: Annotated[Name | None, Meta(description="only for a new conversation")] = None
    workspace: Annotated[
        Path | None, Meta(description="the folder to work in, as a full path; only for a new conversation")
    ] = None
    sees: Annotated[
        Annotated[tuple[Name, ...], Meta(max_length=100)] | None,
        Meta(description="ids or codes of the gates that you show as open: a short reply answers only these"),
    ] = None
    files: Uploads = ()
    sender: Name = "you"


class Resume(Body):
    message_id: MessageId
    supplement: Text
    sender: Name = "you"


class FinishIdle(Body):
    idle_for: Annotated[Age, Meta(description="seconds in which nothing has happened in them")]
    dry_run: Annotated[bool, Meta(description="only list them")] = False


class Fork(Body):
    turn: Name | None = None
    title: Title | None = None


class Ask(Body):
    message_id: MessageId
    runtime: Annotated[Name, Meta(description="the agent that is asked")]
    question: Text
    sender: Name = "you"


class Adopt(Body):
    session: Annotated[Name, Meta(description="the runtime's own id, or any unique prefix of it")]
    runtime: Annotated[Name | None, Meta(description="default: the runtime whose sessions can be adopted")] = None
    fork: Annotated[bool, Meta(description="adopt a copy; the session itself is left alone")] = False
    workspace: Annotated[Path | None, Meta(description="default: the folder of the session")] = None
    policy: Literal["careful", "sandbox", "trusted", "read-only", "yolo"] | None = None


class ThreadBudget(Body):
    tokens: Limit | None = None
    turns: Limit | None = None
    time: Annotated[Limit | None, Meta(description="milliseconds of work")] = None


class Change(Body):
    title: Title | None = None
    runtime: Annotated[
        Name | None,
        Meta(description="another agent, from the next turn on; model and effort become its own unless given"),
    ] = None
    model: Annotated[Name | None, Meta(description="holds from the next turn, like `effort` and `policy`")] = None
    effort: Name | None = None
    policy: Literal["careful", "sandbox", "trusted", "read-only", "yolo"] | None = None
    priority: Literal["high", "normal", "low"] | None = None
    fallback: Annotated[
        Agents | Name | None,
        Meta(description="who takes a turn that its agent cannot begin; or `none`; `default`: as the settings say"),
    ] = None
    on_limit: Annotated[
        Literal["auto", "ask", "never", "default"] | None, Meta(description="how it waits at a usage limit")
    ] = None
    limit_waits: Annotated[
        Waits | Name | None, Meta(description="for how many usage windows in a row it waits by itself")
    ] = None
    quiet_hours: Annotated[
        Name | None, Meta(description="such as `23:00-07:00`: it does not go on by itself then; `none` or `default`")
    ] = None
    notify: Annotated[
        Path | None, Meta(description="where its answers go, such as `telegram`; `none`: nowhere. Holds at once")
    ] = None
    budget: Annotated[
        ThreadBudget | None, Meta(description="limits of its own; 0: that of the settings holds again")
    ] = None
    sender: Name = "you"


class Answer(Body):
    decision: Literal["accept", "decline", "cancel", "reply"]
    extent: Literal["once", "thread", "rule"] = "once"
    pattern: Annotated[Pattern | None, Meta(description="pattern of the rule; default: the offered one")] = None
    scope: Literal["thread", "workspace", "everywhere"] = "workspace"
    lasts: Annotated[Lasts | None, Meta(description="seconds that the rule is valid")] = None
    reason: Text = ""
    replies: Annotated[
        tuple[tuple[Text, ...], ...], Meta(max_length=50, description="replies to each question, in order")
    ] = ()
    sender: Name = "you"


class AcceptAll(Body):
    codes: Annotated[
        Annotated[tuple[Name, ...], Meta(max_length=100)] | None,
        Meta(description="accept only these: the gates that you show"),
    ] = None
    sender: Name = "you"


class Pair(Body):
    code: Annotated[str, Meta(min_length=1, max_length=64)]
    role: Literal["owner", "driver", "watcher"] = "driver"
    sender: Name = "you"
    force: Annotated[bool, Meta(description="do not wait after five wrong codes; only over the Unix socket")] = False


class HandOver(Body):
    thread: Name
    target: Annotated[Path, Meta(description="SURFACE for its home conversation, or SURFACE:CONVERSATION")]
    say: Annotated[Text, Meta(description="a message to post there with it")] = ""
    quiet: Annotated[bool, Meta(description="the agent posts no greeting there")] = False
    sender: Name = "you"
    message_id: Annotated[Name | None, Meta(description="you choose it; sent again, it is the same handoff")] = None


class Away(Body):
    target: Annotated[Path, Meta(description="SURFACE for its home conversation, or SURFACE:CONVERSATION")]


class NewRule(Body):
    effect: Literal["allow", "ask", "deny"]
    pattern: Pattern
    kind: Literal["command", "change", "tool"] | None = None  # default: guessed from the pattern if it is unambiguous
    scope: Literal["thread", "workspace", "everywhere"] = "everywhere"
    place: Annotated[str, Meta(max_length=4096)] = ""
    lasts: Lasts | None = None
    sender: Name = "you"


class RuleTest(Body):
    subject: Annotated[str, Meta(min_length=1, max_length=100_000)]
    workspace: Path
    kind: Literal["command", "change", "tool"] = "command"
    thread: Name | None = None


class Markdown(Body):
    texts: Annotated[tuple[Text, ...], Meta(max_length=200)]


class Verify(Body):
    thread: Name | None = None


class Notify(Body):
    dry_run: bool = False
    retry_failed: bool = False


class Shutdown(Body):
    grace: Grace = 10.0
    restart: bool = False  # event streams are told that another daemon follows


class ProcessView(Struct, frozen=True):
    pid: int
    role: str  # supervisor, daemon, agent, command (started by an agent) and others
    rss: int  # bytes
    age: float  # seconds
    command: str
    threads: list[str]  # that the process works for


class RenderedView(Struct, frozen=True):
    html: str
    stable: int  # length, in UTF-16 code units, of the text whose HTML will not change if more text follows
    html_stable: str  # the HTML of that part: a prefix of `html`


class MarkdownView(Struct, frozen=True):
    rendered: list[RenderedView]


class Ready(Struct, frozen=True):
    ready: bool
    reasons: list[str]  # why it is not ready
    texts: dict[str, Coded] = {}  # the same as codes, as `reasons.0` and so on
