"""The frames that a front end receives: `metadata` first and once, exactly one of `done` and `error` last. A field
may be missing; its name never changes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from clew.model.turns import Usage
from clew.support.coded import Coded, coded_in, plain

RESTARTED, GATE = "restarted", "gate"

# Errors after which the same text may succeed if it is sent again; `Error.retry` says how.
RETRYABLE = frozenset({"connection", "failed", "internal", "model", "model_error", "never_began", "overloaded"})
RETRYABLE |= {"rate_limit", "runtime_lost", "silence", "stopping", "restarting", "store", "too_slow", "usage_limit"}


class Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    event: ClassVar[str] = "metadata"
    conversation_id: str
    message_id: str
    thread: str | None = None
    turn: str | None = None
    runtime: str | None = None
    model: str | None = None
    continuity: str | None = None  # warm | resumed | cold


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """With `restarted`, discard the chunks so far: the text begins again."""

    event: ClassVar[str] = "progress"
    stage: str
    agent: str | None = None
    tool_name: str | None = None
    step: int | None = None
    steps: int | None = None
    detail: str | None = None  # text for a person: a command, a reason
    outcome: str | None = None  # of a tool: ok | failed | declined; of a gate: what became of it
    gate: str | None = None  # id: `POST /api/gates/{gate}/answer`
    code: str | None = None  # short code of the gate, which a person can type


class Chunk(msgspec.Struct, frozen=True):
    event: ClassVar[str] = "chunk"
    content: str


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    event: ClassVar[str] = "error"
    code: str
    message: str
    retryable: bool
    # How to try again, if it is retryable. `join`: with the same message id; the turn goes on, or the message was not
    # stored. `new`: under a new message id; the turn has failed, and the same id gets the same error for ever.
    retry: str | None = None
    texts: dict[str, Coded] = {}  # `message` as a code, if it is a sentence of clew


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    event: ClassVar[str] = "done"
    conversation_id: str
    message_id: str
    content: str
    finish_reason: str  # completed | interrupted | answer | command
    usage: Usage | None = None


Frame = Metadata | Progress | Chunk | Error | Done
_encode = msgspec.json.Encoder(enc_hook=plain).encode


def wire(frame: Frame) -> bytes:
    """As a server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (frame.event.encode(), _encode(frame))


def failure(code: str, message: str, *, has_ended: bool = False) -> Error:
    """`has_ended`: the turn is over."""
    is_retryable = code in RETRYABLE
    retry = ("new" if has_ended else "join") if is_retryable else None
    return Error(code, message, is_retryable, retry, coded_in(message=message))
