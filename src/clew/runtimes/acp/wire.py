"""The parts of the Agent Client Protocol that clew reads. Lenient: a missing field has a default, unknown fields are
ignored."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import msgspec

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1
AUTH_REQUIRED = -32000
NOT_FOUND = -32002
INVALID = -32602
INTERNAL = -32603


class Wire(msgspec.Struct, rename="camel", frozen=True):
    pass


class PromptCan(Wire, frozen=True):
    image: bool = False


class SessionCan(Wire, frozen=True):
    resume: Any = None


class AgentCan(Wire, frozen=True):
    load_session: bool = False
    prompt_capabilities: PromptCan = PromptCan()
    session_capabilities: SessionCan = SessionCan()


class AgentInfo(Wire, frozen=True):
    name: str = ""
    version: str = ""


class Initialized(Wire, frozen=True):
    """The response to `initialize`."""

    protocol_version: int | str | None = None
    agent_capabilities: AgentCan = AgentCan()
    agent_info: AgentInfo | None = None


class Mode(Wire, frozen=True):
    id: str = ""
    name: str = ""


class Modes(Wire, frozen=True):
    available_modes: tuple[Mode, ...] = ()
    current_mode_id: str = ""


class Model(Wire, frozen=True):
    model_id: str = ""


class Models(Wire, frozen=True):
    available_models: tuple[Model, ...] = ()
    current_model_id: str = ""


class Choice(Wire, frozen=True):
    value: str = ""


class ConfigOption(Wire, frozen=True):
    id: str = ""
    category: str | None = None
    options: tuple[Choice, ...] = ()


class Entered(Wire, frozen=True):
    """The response to `session/new`, `session/load` and `session/resume`."""

    session_id: str = ""
    modes: Modes | None = None
    models: Models | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class Spent(Wire, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None


class Prompted(Wire, frozen=True):
    """The response to `session/prompt`."""

    stop_reason: str = "end_turn"
    usage: Spent | None = None


class Content(Wire, frozen=True):
    type: str = ""
    text: str = ""
    uri: str = ""


class Place(Wire, frozen=True):
    path: str = ""


class Part(Wire, frozen=True):
    """One part of a tool call's content: text, a diff, or a terminal."""

    type: str = ""
    content: Content | None = None
    path: str = ""
    old_text: str | None = None
    new_text: str = ""
    terminal_id: str = ""


class ToolCall(Wire, frozen=True):
    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[Part, ...] | None = None
    locations: tuple[Place, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class PlanEntry(Wire, frozen=True):
    content: str = ""
    status: str = ""


class Address(Wire, frozen=True):
    """The session of a message and, of an update, its body."""

    session_id: str = ""
    update: msgspec.Raw = msgspec.Raw(b"{}")


class Kind(Wire, frozen=True):
    session_update: str = ""


class Chunk(Wire, frozen=True):
    content: Content = Content()
    message_id: str | None = None


class Plan(Wire, frozen=True):
    entries: tuple[PlanEntry, ...] = ()


class Option(Wire, frozen=True):
    option_id: str = ""
    name: str = ""
    kind: str = ""


class PermissionRequest(Wire, frozen=True):
    session_id: str = ""
    tool_call: ToolCall = ToolCall()
    options: tuple[Option, ...] = ()


class FileRequest(Wire, frozen=True):
    path: str = ""
    line: int | None = None
    limit: int | None = None
    content: str = ""


class Variable(Wire, frozen=True):
    name: str = ""
    value: str = ""


class TerminalRequest(Wire, frozen=True):
    terminal_id: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    cwd: str | None = None
    output_byte_limit: int | None = None


def read(raw: msgspec.Raw, kind: type[T]) -> T | None:
    """Decode a message. If its shape is unknown, log a warning and return None."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        log.warning("an agent sent a %s of unknown shape (%s): %.300r", kind.__name__, error, bytes(raw))
        return None
