"""The parts of the app-server's messages that clew reads. Lenient: a missing field has a default, unknown fields are
ignored.

Items are one struct, not a union by type: a new kind of a newer Codex still has an id, a type and often a status.
"""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import msgspec

log = logging.getLogger(__name__)

T = TypeVar("T")


class Wire(msgspec.Struct, rename="camel", frozen=True):
    pass


class ChangeKind(Wire, frozen=True):
    type: str = ""
    moved_to: str | None = msgspec.field(default=None, name="move_path")


class Change(Wire, frozen=True):
    path: str = ""
    diff: str = ""
    kind: ChangeKind = ChangeKind()


class Item(Wire, frozen=True):
    type: str
    id: str = ""
    client_id: str | None = None
    text: str | None = None
    phase: str | None = None
    delivery: str | None = None
    status: str | None = None
    command: str | None = None
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    changes: tuple[Change, ...] | None = None
    server: str | None = None
    namespace: str | None = None
    tool: str | None = None
    query: str | None = None
    path: str | None = None
    saved_path: str | None = None  # of a generated image
    review: str | None = None
    summary: Any = None
    content: Any = None
    result: Any = None
    content_items: Any = None
    error: Any = None
    questions: Any = None  # non-blocking questions in a message
    # of a call about sub-agents
    prompt: str | None = None
    receiver_thread_ids: tuple[str, ...] = ()
    agents_states: Any = None
    kind: Any = None
    agent_thread_id: str | None = None
    agent_path: str | None = None


class _BareItem(Wire, frozen=True):
    type: str = "unknown"
    id: str = ""


class TurnError(Wire, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


RUNNING = "inProgress"  # the status of a turn


class Turn(Wire, frozen=True):
    id: str
    root_turn_id: str | None = None  # of a sub-agent's turn: the turn that began the first one
    status: str = RUNNING
    items: tuple[msgspec.Raw, ...] = ()
    error: TurnError | None = None
    started_at: float | None = None  # seconds
    completed_at: float | None = None


class TurnAnswer(Wire, frozen=True):
    """The response to `turn/start`."""

    turn: Turn


class Status(Wire, frozen=True):
    type: str = ""
    active_flags: tuple[str, ...] = ()  # what it waits for, if anything

    @property
    def is_active(self) -> bool:
        """Whether a turn runs on the thread, ours or another program's."""
        return self.type == "active"

    @property
    def is_working(self) -> bool:
        """Whether a turn runs and does not wait for a person."""
        return self.is_active and not self.active_flags


class StatusNote(Wire, frozen=True):
    status: Status = Status()


class Thread(Wire, frozen=True):
    id: str
    status: Status = Status()


class Listed(Wire, frozen=True):
    """A thread in the response to `thread/list`."""

    id: str
    preview: str = ""
    name: str | None = None
    cwd: str = ""
    source: Any = None
    created_at: float = 0.0  # seconds
    updated_at: float = 0.0


class ThreadPage(Wire, frozen=True):
    data: tuple[Listed, ...] = ()
    next_cursor: str | None = None


class Sandbox(Wire, frozen=True):
    type: str = ""


class ThreadAnswer(Wire, frozen=True):
    """The response to `thread/start`, `thread/resume` and `thread/fork`. `sandbox` is the one that is in force: of a
    thread that was loaded before, the old one."""

    thread: Thread
    sandbox: Sandbox = Sandbox()


class Effort(Wire, frozen=True):
    reasoning_effort: str = ""


class Model(Wire, frozen=True):
    model: str = ""
    display_name: str = ""
    supported_reasoning_efforts: tuple[Effort, ...] = ()
    is_default: bool = False


class ModelPage(Wire, frozen=True):
    """The response to `model/list`."""

    data: tuple[Model, ...] = ()


class LoadedPage(Wire, frozen=True):
    """The response to `thread/loaded/list`."""

    data: tuple[str, ...] = ()
    next_cursor: str | None = None


class TurnPage(Wire, frozen=True):
    data: tuple[Turn, ...] = ()
    next_cursor: str | None = None


class Address(Wire, frozen=True):
    """The thread and turn that a notification is about."""

    thread_id: str | None = None
    turn_id: str | None = None


class TurnNote(Wire, frozen=True):
    turn: Turn


class ItemNote(Wire, frozen=True):
    item: msgspec.Raw


class DeltaNote(Wire, frozen=True):
    item_id: str = ""
    delta: str = ""


class PlanStep(Wire, frozen=True):
    step: str = ""
    status: str = ""


class PlanNote(Wire, frozen=True):
    plan: tuple[PlanStep, ...] = ()
    explanation: str | None = None


class Tokens(Wire, frozen=True):
    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class ThreadTokens(Wire, frozen=True):
    total: Tokens = Tokens()
    last: Tokens = Tokens()


class UsageNote(Wire, frozen=True):
    token_usage: ThreadTokens = ThreadTokens()


class LimitWindow(Wire, frozen=True):
    used_percent: float = 0.0
    resets_at: float | None = None
    window_duration_mins: int | None = None


class LimitBucket(Wire, frozen=True):
    limit_id: str | None = None
    limit_name: str | None = None
    primary: LimitWindow | None = None
    secondary: LimitWindow | None = None


class LimitsNote(Wire, frozen=True):
    rate_limits: LimitBucket = LimitBucket()


class AllLimits(Wire, frozen=True):
    rate_limits: LimitBucket = LimitBucket()
    rate_limits_by_limit_id: dict[str, LimitBucket | None] | None = None


class ErrorNote(Wire, frozen=True):
    error: TurnError = TurnError()
    will_retry: bool = False


class WarningNote(Wire, frozen=True):
    message: str = ""
    summary: str = ""
    details: str | None = None


class ReroutedNote(Wire, frozen=True):
    from_model: str = ""
    to_model: str = ""


class Account(Wire, frozen=True):
    """The response to `account/read`."""

    account: Any = None
    requires_openai_auth: bool = False


class Option(Wire, frozen=True):
    label: str = ""
    description: str = ""


class Question(Wire, frozen=True):
    id: str = ""
    question: str = ""
    is_other: bool = False
    is_secret: bool = False
    options: tuple[Option, ...] | None = None


class NonBlockingQuestion(Wire, frozen=True):
    """A non-blocking question that is part of a message."""

    title: str = ""
    options: tuple[str, ...] = ()


class Request(Wire, frozen=True):
    """The fields of any server request that a person wants to see, or that the response needs."""

    thread_id: str | None = None
    turn_id: str | None = None
    item_id: str | None = None
    kind: str | None = None
    command: str | list[str] | None = None
    cwd: str | None = None
    environment_id: Any = None  # where it would happen; `local`: on this machine
    reason: str | None = None
    grant_root: str | None = None
    network_approval_context: Any = None
    additional_permissions: Any = None
    permissions: Any = None
    questions: tuple[Question, ...] = ()
    server_name: str = ""
    mode: str = ""
    message: str = ""
    url: str = ""
    requested_schema: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")
    tool: str | None = None
    conversation_id: str | None = None  # the thread, in older requests
    call_id: str | None = None  # the item, in older requests
    file_changes: Any = None  # the change, in older requests


class ResolvedNote(Wire, frozen=True):
    request_id: int | str = ""


def read(raw: msgspec.Raw, kind: type[T]) -> T | None:
    """Decode a message. If its shape is unknown, log a warning and return None."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        log.warning("Codex sent a %s of unknown shape (%s): %.300r", kind.__name__, error, bytes(raw))
        return None


def read_item(raw: msgspec.Raw) -> Item:
    """Decode an item. If its shape is unknown, only its type and id are read."""
    if (item := read(raw, Item)) is not None:
        return item
    bare = read(raw, _BareItem) or _BareItem()
    return Item(type=bare.type, id=bare.id)
