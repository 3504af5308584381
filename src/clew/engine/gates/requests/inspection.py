"""Inspects the files that a request names, before its gate is opened: what the rules need to know of a command, the
rule to offer, and links."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates.requests.cleaning import clean_request
from clew.model.gates import Asked, Effect, GateKind, Rule, Verdict
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import rules

if TYPE_CHECKING:  # loaded by the first request, so that the daemon starts faster
    from clew.engine.rules import decide


class RequestInspection(Struct, frozen=True):
    """What clew found out about a request in its workspace when it arrived. Files may change before it is answered."""

    command: decide.Inspection | None = None
    offer: str | None = None  # the pattern of the rule to offer
    links: tuple[tuple[str, str], ...] = ()  # its names that are links, with their targets
    verdict: Verdict = Verdict(Effect.ASK)
    rules: tuple[Rule, ...] | None = None  # by which it was decided; None: it was not
    at: int = 0  # when


NOT_INSPECTED = RequestInspection()


class RulesChanged(Exception):
    """A rule was made or removed between the inspection of a request and its transaction: inspect it again."""


async def inspect_request(core: Core, asked: Asked, thread: Thread) -> RequestInspection:
    """Inspect a request before its gate is opened, and decide it: the store's writer never waits for the file system.
    Searching a workspace for a command takes a while, so it runs in a thread."""
    known = await core.read_with_retry(lambda tx: rules.of_scopes(tx, thread.id, thread.workspace))
    now = core.clock.now()
    if is_command_in_folder(asked):
        return await asyncio.to_thread(_inspect, asked, thread, known, now)
    return _inspect(asked, thread, known, now)


def check_rules(tx: Tx, thread: Thread, inspection: RequestInspection, now: int) -> None:
    """Raises RulesChanged, also if a rule has expired since."""
    if inspection.rules is None:
        return
    has_expired = any(rule.until is not None and inspection.at < rule.until <= now for rule in inspection.rules)
    if has_expired or inspection.rules != tuple(rules.of_scopes(tx, thread.id, thread.workspace)):
        raise RulesChanged


def _inspect(asked: Asked, thread: Thread, known: Sequence[Rule], now: int) -> RequestInspection:
    """Links are resolved by the original names: cleaned for the store, a name may mean another file."""
    from clew.engine.gates.requests import links
    from clew.engine.rules import decide
    from clew.engine.rules.offered import suggest

    workspace = thread.workspace
    asked = replace(clean_request(asked), links=links.resolve_links(asked, workspace))
    can_have_rule = asked.kind in (GateKind.COMMAND, GateKind.CHANGE)
    command = decide.inspect_command(asked, workspace) if is_command_in_folder(asked) else None
    return RequestInspection(
        command,
        suggest.suggest_pattern(asked, workspace) if can_have_rule else None,
        asked.links,
        decide.decide(asked, thread.policy, workspace, known, now, thread.id, command),
        tuple(known),
        now,
    )


def is_command_in_folder(asked: Asked) -> bool:
    return asked.shown_as is GateKind.COMMAND and asked.folder is not None
