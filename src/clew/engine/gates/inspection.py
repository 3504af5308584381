"""Inspects the files that a request names, before its gate is opened: what the rules need to know of a command, the
rule to offer, and links."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.engine.gates.cleaning import clean_request
from clew.model.gates import Asked, GateKind
from clew.model.threads import Thread

if TYPE_CHECKING:  # loaded by the first request, so that the daemon starts faster
    from clew.engine.rules import decide


class RequestInspection(Struct, frozen=True):
    """What clew found out about a request in its workspace when it arrived. Files may change before it is answered."""

    command: decide.Inspection | None = None
    offer: str | None = None  # the pattern of the rule to offer
    links: tuple[tuple[str, str], ...] = ()  # its names that are links, with their targets


NOT_INSPECTED = RequestInspection()


async def inspect_request(asked: Asked, thread: Thread) -> RequestInspection:
    """Inspect a request before its gate is opened. Searching a workspace takes a while, so it runs in a thread: neither
    the store's writer nor the event loop waits for the file system."""
    if _is_command_in_folder(asked):
        return await asyncio.to_thread(_inspect, asked, thread.workspace)
    return _inspect(asked, thread.workspace)


def _inspect(asked: Asked, workspace: str) -> RequestInspection:
    """Links are resolved by the original names: cleaned for the store, a name may mean another file."""
    from clew.engine.gates import links
    from clew.engine.rules import decide
    from clew.engine.rules.offered import suggest

    targets, asked = links.resolve_links(asked, workspace), clean_request(asked)
    can_have_rule = asked.kind in (GateKind.COMMAND, GateKind.CHANGE)
    return RequestInspection(
        decide.inspect_command(asked, workspace) if _is_command_in_folder(asked) else None,
        suggest.suggest_pattern(asked, workspace) if can_have_rule else None,
        targets,
    )


def _is_command_in_folder(asked: Asked) -> bool:
    return asked.shown_as is GateKind.COMMAND and asked.folder is not None
