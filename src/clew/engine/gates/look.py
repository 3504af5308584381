"""Looks at what a request names in the workspace, before the request is stored: what the rules need to know of it, the
rule to offer, and links that lead elsewhere. Also removes control characters from the request."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import Asked, GateKind, Question, Reason
from clew.model.threads import Thread
from clew.support.text import clean
from clew.texts import reasons

if TYPE_CHECKING:  # the first request loads the rules: a daemon starts faster without them
    from clew.engine.rules import decide


class Seen(Struct, frozen=True):
    """What a request looked like in its workspace when it came. Files may change before somebody answers."""

    look: decide.Inspection | None = None
    offer: str | None = None  # the pattern of the rule to offer
    links: tuple[tuple[str, str], ...] = ()  # its names that a link leads elsewhere


NOTHING_SEEN = Seen()


async def look_at(asked: Asked, thread: Thread) -> Seen:
    """What has to be seen of a request before it is opened. To look through a workspace takes a while, so that happens
    in a thread: the store's writer and the event loop wait for no file system."""
    if _is_placed(asked):
        return await asyncio.to_thread(_look, asked, thread.workspace)
    return _look(asked, thread.workspace)


def _look(asked: Asked, workspace: str) -> Seen:
    """Links by the names as they came: what is stored may name something else."""
    from clew.engine.gates import links
    from clew.engine.rules import decide
    from clew.engine.rules.offered import suggest

    leads, asked = links.followed(asked, workspace), cleaned(asked)
    is_ruled = asked.kind in (GateKind.COMMAND, GateKind.CHANGE)
    return Seen(
        decide.inspect_command(asked, workspace) if _is_placed(asked) else None,
        suggest.suggest_pattern(asked, workspace) if is_ruled else None,
        leads,
    )


def _is_placed(asked: Asked) -> bool:
    return asked.kind is GateKind.COMMAND and asked.folder is not None


def odd_name(asked: Asked) -> Reason | None:
    """What of a request cannot be stored as it is. Stored, it would name something else, which nobody may judge."""
    parts = (asked.title, asked.folder or "", *asked.paths)
    odd = [ascii(part) for part in dict.fromkeys(parts) if clean(part) != part]
    if odd:
        return Reason("name.odd", ", ".join(odd))
    return Reason("detail.odd", _digest(asked.detail)) if clean(asked.detail) != asked.detail else None


def _digest(text: str) -> str:
    """By which two texts differ that are the same once they are stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def cleaned(asked: Asked) -> Asked:
    odd = odd_name(asked)
    return replace(
        asked,
        title=clean(asked.title),
        detail=clean(asked.detail),
        reason=clean(asked.reason),
        unjudged="; ".join(filter(None, (clean(asked.unjudged), str(reasons.reason(odd)) if odd else ""))),
        doubt=replace(asked.doubt, about=clean(asked.doubt.about)) if asked.doubt else None,
        folder=clean(asked.folder) if asked.folder else asked.folder,
        paths=tuple(map(clean, asked.paths)),
        questions=tuple(map(_cleaned_question, asked.questions)),
    )


def _cleaned_question(question: Question) -> Question:
    return replace(
        question, id=clean(question.id), text=clean(question.text), options=tuple(map(clean, question.options))
    )
