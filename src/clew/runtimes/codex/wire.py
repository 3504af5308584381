"""The parts of the app-server's messages that we read. Lenient: what is missing has a default, what is new is ignored.

Items are one struct, not a union by type: a kind that a newer Codex invents still has an id, a type and often a status.
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
    saved_path: str | None = None  # of a picture that was made
    review: str | None = None
    summary: Any = None
    content: Any = None
    result: Any = None
    content_items: Any = None
    error: Any = None
    questions: Any = None  # asked in passing: a message that is a question


class _BareItem(Wire, frozen=True):
    type: str = "unknown"
    id: str = ""


class TurnError(Wire, frozen=True):
    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class Turn(Wire, frozen=True):
    id: str
    status: str = "inProgress"
    items: tuple[msgspec.Raw, ...] = ()
    error: TurnError | None = None
    started_at: float | None = None  # seconds
    completed_at: float | None = None


class TurnAnswer(Wire, frozen=True):
    """The answer to `turn/start`."""

    turn: Turn


class Status(Wire, frozen=True):
    type: str = ""
    active_flags: tuple[str, ...] = ()  # what it waits for, if it does

    @property
    def is_active(self) -> bool:
        """A turn runs on the thread, whoever asked for it."""
        return self.type == "active"

    @property
    def is_working(self) -> bool:
        """And does not wait for a person."""
        return self.is_active and not self.active_flags


class StatusNote(Wire, frozen=True):
    status: Status = Status()


class Thread(Wire, frozen=True):
    id: str
    status: Status = Status()


class Listed(Wire, frozen=True):
    """A thread in the answer to `thread/list`."""

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


class ThreadAnswer(Wire, frozen=True):
    """The answer to `thread/start`, `thread/resume` and `thread/fork`."""

    thread: Thread


class LoadedPage(Wire, frozen=True):
    """The answer to `thread/loaded/list`."""

    data: tuple[str, ...] = ()
    next_cursor: str | None = None


class TurnPage(Wire, frozen=True):
    data: tuple[Turn, ...] = ()
    next_cursor: str | None = None


class Address(Wire, frozen=True):
    """Whom a notification concerns."""

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
    """The answer to `account/read`."""

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


class AsideQuestion(Wire, frozen=True):
    """A question in passing, as it hangs on a message."""

    title: str = ""
    options: tuple[str, ...] = ()


class Request(Wire, frozen=True):
    """The parts of any request of the server that a person would want to see, or that its answer needs."""

    thread_id: str | None = None
    turn_id: str | None = None
    item_id: str | None = None
    kind: str | None = None
    command: str | list[str] | None = None
    cwd: str | None = None
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
    conversation_id: str | None = None  # how older requests name the thread
    call_id: str | None = None  # and the item
    file_changes: Any = None  # and the change itself


class ResolvedNote(Wire, frozen=True):
    request_id: int | str = ""


def read(raw: msgspec.Raw, kind: type[T]) -> T | None:
    """None, and a line in the log, where it has another shape than we know."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        log.warning("Codex sent a %s in a shape we do not know (%s): %.300r", kind.__name__, error, bytes(raw))
        return None


def read_item(raw: msgspec.Raw) -> Item:
    """An item always can be read: of a strange one, its type and id are kept."""
    if (item := read(raw, Item)) is not None:
        return item
    bare = read(raw, _BareItem) or _BareItem()
    return Item(type=bare.type, id=bare.id)
