"""Parses what a sender posts, and builds the reply. The HTTP route is in `surface`."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Struct, field

from clew.model.messages import Accepted
from clew.support.coded import coded_in
from clew.support.errors import BadInput, ClewError, StoreError
from clew.texts.catalogue import say

MAX_BODY = 1 << 20  # bytes
RETRY_LATER = 5  # seconds, in `Retry-After` if the message cannot be stored now


class TooLarge(BadInput):
    code = "too_large"
    status = 413


class NotYet(StoreError):
    code = "not_yet"


class Message(msgspec.Struct, frozen=True):
    """What a sender posts."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    conversation: Annotated[str, msgspec.Meta(max_length=512)]
    sender: Annotated[str, msgspec.Meta(max_length=256)]
    text: Annotated[str, msgspec.Meta(min_length=1)]


class Reply(Struct, frozen=True):
    """The reply to a sender."""

    status: int
    json: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def media_type(self) -> str:
        return "application/problem+json" if self.status >= 400 else "application/json"


def parse(body: bytes) -> Message:
    try:
        message = msgspec.json.decode(body, type=Message)
    except msgspec.ValidationError as error:
        raise BadInput(say("surfaces.webhook_bad_body", error=str(error))) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(say("surfaces.webhook_not_json")) from error
    for name in Message.__struct_fields__:
        if "\0" in getattr(message, name):  # PostgreSQL cannot store one
            raise BadInput(say("surfaces.webhook_bad_body", error=say("surfaces.webhook_nul", name=name)))
    return message


def reply_to(accepted: Accepted) -> Reply:
    fields = {
        "fate": accepted.fate.value,
        "thread": accepted.thread,
        "turn": accepted.turn,
        "state": accepted.state,
        "words": accepted.words,
        "repeated": accepted.repeated,
    }
    return Reply(HTTPStatus.OK, fields)


def refusal(error: ClewError) -> Reply:
    if isinstance(error, StoreError):
        return _problem(error, say("surfaces.webhook_not_stored"), {"Retry-After": str(RETRY_LATER)})
    return _problem(error, error.words)


def _problem(error: ClewError, detail: str, headers: Mapping[str, str] | None = None) -> Reply:
    title = HTTPStatus(error.status).phrase
    fields = {"type": "about:blank", "title": title, "status": error.status, "detail": detail, "code": error.code}
    return Reply(error.status, {**fields, "texts": coded_in(detail=detail)}, headers or {})
