"""Hangs what decides which agent works, and when, on the seams of the engine."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from clew.engine.agents.fallback import Fallback
from clew.engine.agents.parking import Parking
from clew.engine.agents.refusals import Refusals
from clew.engine.core import Core
from clew.engine.seams import Hooks


def with_agents(hooks: Hooks, core: Callable[[], Core]) -> Hooks:
    """`core` is called when something happens: the core has these hooks itself. What others hung there comes first;
    who may take a turn is asked before whether it waits."""
    refusals, fallback, parking = Refusals(core), Fallback(core), Parking(core)
    return replace(
        hooks,
        turn_end_listeners=(refusals, *hooks.turn_end_listeners),
        claim_guards=(*hooks.claim_guards, fallback, parking),
        failure_handlers=(refusals, *hooks.failure_handlers, fallback, parking),
    )
