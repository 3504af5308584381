"""The parts of Claude's frames and of its transcript that clew reads. Lenient: a missing field has a default, unknown
fields are ignored, and nested parts are read only if they are needed."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

log = logging.getLogger(__name__)

T = TypeVar("T")
NOTHING = Raw(b"null")


class Wire(msgspec.Struct, frozen=True):
    pass


class Frame(Wire, frozen=True):
    """Any line of Claude's output."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    request_id: str | None = None
    request: Raw = NOTHING
    response: Raw = NOTHING
    event: Raw = NOTHING
    message: Raw = NOTHING
    is_replay: bool | None = msgspec.field(default=None, name="isReplay")
    command_uuid: str | None = None
    state: str | None = None
    status: Any = None
    aborted: bool | None = None
    is_api_error_message: bool | None = None
    tool_use_result: Any = None
    tool_result_meta: Any = None
    rate_limit_info: Any = None
    attempt: Any = None
    error: Any = None
    error_status: Any = None
    api_error: Any = None
    # of a result
    is_error: bool | None = None
    result: Any = None
    terminal_reason: Any = None
    api_error_status: Any = None
    user_message_uuids: Any = None
    usage: Any = None
    model_usage: Any = msgspec.field(default=None, name="modelUsage")
    total_cost_usd: Any = None
    errors: Any = None
    # of a task, such as a sub-agent or a command in the background
    task_id: str | None = None
    parent_task_id: str | None = None
    is_backgrounded: bool | None = None
    tool_use_id: str | None = None
    description: Any = None
    summary: Any = None


class Response(Wire, frozen=True):
    """The answer to a control request, ours or Claude's."""

    subtype: str = ""
    request_id: str = ""
    response: Raw = NOTHING
    error: Any = None


class Request(Wire, frozen=True):
    """A control request of Claude: whether a tool may be used."""

    subtype: str = ""
    tool_name: str = ""
    display_name: str | None = None
    mcp_server: Any = None
    input: Raw = NOTHING
    description: str | None = None
    decision_reason: Any = None
    decision_reason_rule_source: Any = None
    matched_ask_rule: Any = None
    blocked_path: Any = None
    tool_use_id: str | None = None
    agent_id: str | None = None


class Initialized(Wire, frozen=True):
    """The answer to `initialize`."""

    models: tuple[Any, ...] = ()


class Model(Wire, frozen=True, rename="camel"):
    value: str = ""
    display_name: str = ""
    supported_effort_levels: tuple[Any, ...] | None = None


class Block(Wire, frozen=True):
    """A part of a message."""

    type: str = ""
    id: str | None = None
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class Message(Wire, frozen=True):
    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: Any = None
    stop_reason: str | None = None

    @property
    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block("text", text=self.content)]
        parts = self.content if isinstance(self.content, list) else []
        return [block for part in parts if (block := convert(part, Block)) is not None]

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks if block.type == "text" and block.text)


class StreamEvent(Wire, frozen=True):
    """An event of the Messages API, as Claude passes it on."""

    type: str = ""
    index: int = -1
    message: Message | None = None
    content_block: Block | None = None
    delta: Any = None


class Row(Wire, frozen=True, rename="camel"):
    """A line of a transcript."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    prompt_source: str | None = None
    prompt_id: str | None = None  # the same for all that a request leads to, also of sub-agents
    timestamp: str | None = None
    cwd: str | None = None
    entrypoint: str | None = None
    subtype: str | None = None
    error: Any = None
    api_error: Any = None
    api_error_status: Any = None
    api_error_params: Any = None
    quota_limits: Any = None
    tool_use_result: Any = None
    origin: Any = None
    message: Raw = NOTHING
    attachment: Any = None


class CostState(Wire, frozen=True):
    """The line of a transcript that has the running totals, written when Claude exits."""

    type: str = ""
    model_usage: Any = msgspec.field(default=None, name="modelUsage")
    total_cost: Any = msgspec.field(default=None, name="totalCostUSD")


def read(raw: Raw | bytes, kind: type[T]) -> T | None:
    """Decode a message. If its shape is unknown, log a warning and return None."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        log.warning("Claude sent a %s of unknown shape (%s): %.300r", kind.__name__, error, bytes(raw))
        return None


def convert(value: object, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        log.warning("Claude sent a %s of unknown shape (%s): %.300r", kind.__name__, error, value)
        return None


def message(raw: Raw) -> Message:
    return read(raw, Message) or Message()


def number(value: object) -> int:
    """A count in a lenient place; 0 if it is not one."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0
