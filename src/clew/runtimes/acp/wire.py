"""The parts of the Agent Client Protocol that clew reads. Lenient: a missing field has a default, unknown fields are
ignored."""

from __future__ import annotations

import logging
from collections.abc import Set
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


class AgentCanMeta(Wire, frozen=True):
    auth_status: Any = None


class AgentCan(Wire, frozen=True):
    load_session: bool = False
    prompt_capabilities: PromptCan = PromptCan()
    session_capabilities: SessionCan = SessionCan()
    meta: Any = msgspec.field(name="_meta", default=None)

    @property
    def tells_login(self) -> bool:
        """Whether it sends `_auth/status_update`."""
        found = converted(self.meta, AgentCanMeta)
        return found is not None and found.auth_status is not None


class AgentInfo(Wire, frozen=True):
    name: str = ""
    version: str = ""


class SteeringCan(Wire, frozen=True):
    supported: bool = False


class InitializedMeta(Wire, frozen=True):
    steering: SteeringCan = SteeringCan()


class Steered(Wire, frozen=True):
    """The response to `_session/steering`."""

    outcome: str = ""


class AuthStatus(Wire, frozen=True):
    kind: str = ""


class AuthUpdate(Wire, frozen=True):
    auth_status: AuthStatus = AuthStatus()


class Initialized(Wire, frozen=True):
    """The response to `initialize`."""

    protocol_version: int | str | None = None
    agent_capabilities: AgentCan = AgentCan()
    agent_info: AgentInfo | None = None
    meta: Any = msgspec.field(name="_meta", default=None)

    @property
    def takes_steers(self) -> bool:
        found = converted(self.meta, InitializedMeta)
        return found is not None and found.steering.supported


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
    """A value of an option, or a group of values."""

    value: Any = ""
    options: tuple[Choice, ...] = ()


class ConfigOption(Wire, frozen=True):
    id: str = ""
    category: str | None = None
    current_value: Any = None
    options: tuple[Choice, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The values that it offers, those of groups too."""
        every = [each for choice in self.options for each in choice.options or (choice,)]
        return tuple(each.value for each in every if isinstance(each.value, str) and each.value)


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


class Counted(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0


class Quota(msgspec.Struct, frozen=True):
    token_count: Counted | None = None


class PromptedMeta(msgspec.Struct, frozen=True):
    quota: Quota | None = None


class Prompted(Wire, frozen=True):
    """The response to `session/prompt`."""

    stop_reason: str = "end_turn"
    usage: Spent | None = None
    meta: Any = msgspec.field(name="_meta", default=None)

    @property
    def counted(self) -> Counted | None:
        """The tokens as Gemini counts them, beside the protocol."""
        found = converted(self.meta, PromptedMeta)
        return found.quota.token_count if found is not None and found.quota is not None else None


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

    @property
    def is_text(self) -> bool:
        return self.type == "content" and self.content is not None and self.content.type == "text"


class ToolCall(Wire, frozen=True):
    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[Any, ...] | None = None  # as it came: a part may be of a kind that clew does not know
    locations: tuple[Place, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")

    @property
    def parent(self) -> str | None:
        """The call that began the sub-agent that makes this one. The protocol has none; Claude's adapter says it."""
        own = self.meta.get("claudeCode") if isinstance(self.meta, dict) else None
        said = own.get("parentToolUseId") if isinstance(own, dict) else None
        return said if isinstance(said, str) and said != self.tool_call_id else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content, as far as it can be read."""
        return tuple(part for each in self.content or () if (part := _part(each)) is not None)

    @property
    def others(self) -> tuple[Any, ...]:
        """All of the content that is neither text nor a diff, as it came."""
        return tuple(other for each in self.content or () if (other := _other(each)) is not None)


_KNOWN_KEYS = {"_meta", "type"}
_OF_DIFF = {*_KNOWN_KEYS, "path", "oldText", "newText"}
_OF_CONTENT = {*_KNOWN_KEYS, "content"}
_OF_TEXT = {*_KNOWN_KEYS, "text", "annotations"}


def _part(raw: Any) -> Part | None:
    return converted(raw, Part)


def _other(raw: Any) -> Any:
    """Return the part itself if it is neither text nor a diff, or if it has more than such a part has."""
    part = _part(raw)
    if part is not None and part.type == "diff":
        return raw if _has_more(raw, _OF_DIFF) else None
    if part is not None and part.is_text:
        return raw if _has_more(raw, _OF_CONTENT) or _has_more(raw["content"], _OF_TEXT) else None
    return raw


def _has_more(raw: dict[str, Any], known: Set[str]) -> bool:
    return any(key not in known and value is not None for key, value in raw.items())


class PlanEntry(Wire, frozen=True):
    content: str = ""
    status: str = ""


class Address(Wire, frozen=True):
    """The session of a message and, of an update, its body."""

    session_id: str = ""
    update: msgspec.Raw = msgspec.Raw(b"{}")


class Kind(Wire, frozen=True):
    session_update: str = ""


class UsageUpdate(Wire, frozen=True):
    used: int = 0  # tokens in the agent's context
    meta: Any = msgspec.field(name="_meta", default=None)


class ModeUpdate(Wire, frozen=True):
    current_mode_id: str = ""


class OptionUpdate(Wire, frozen=True):
    config_options: tuple[ConfigOption, ...] = ()


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


def converted(value: Any, kind: type[T]) -> T | None:
    """Convert a part of a message that may be of any shape; None: it is of another."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def read(raw: msgspec.Raw, kind: type[T]) -> T | None:
    """Decode a message. If its shape is unknown, log a warning and return None."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        log.warning("an agent sent a %s of unknown shape (%s): %.300r", kind.__name__, error, bytes(raw))
        return None
