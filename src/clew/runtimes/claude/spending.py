"""What a turn has used. Claude reports running totals of the session, also over resumes and forks, which count
sub-agents, summing up and helpers too; the usage that it reports of a turn is that of its main loop only."""

from __future__ import annotations

from typing import Any

from clew.model.turns import Usage
from clew.runtimes.claude import wire
from clew.runtimes.claude.wire import Frame

MILLION = 1_000_000


class Meter:
    """Takes each result of a process, in order. `before`: what the session had used when the process was started."""

    def __init__(self, before: Usage | None = None) -> None:
        self._total = before or Usage()

    def spent(self, frame: Frame) -> Usage:
        """What was used since the result before. If the totals make no sense, that of the main loop counts."""
        own = tokens(frame.usage)
        now = totals(frame.model_usage, frame.total_cost_usd)
        if now is None:
            return own
        before, self._total = self._total, now
        since = now.since(before)
        since = since.costing(since.reported_cost)
        return since if since.total_tokens >= own.total_tokens else own


def tokens(given: object) -> Usage:
    """The usage of one request or loop, as the Messages API says it."""
    found = given if isinstance(given, dict) else {}
    fresh = wire.number(found.get("input_tokens")) + wire.number(found.get("cache_creation_input_tokens"))
    return _usage(fresh, wire.number(found.get("cache_read_input_tokens")), wire.number(found.get("output_tokens")))


def totals(models: object, cost: object) -> Usage | None:
    """The running totals, by model; None if Claude does not say them."""
    if not isinstance(models, dict):
        return None
    used = sum((_of_model(each) for each in models.values() if isinstance(each, dict)), Usage())
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < MILLION
    return used.costing(round(cost * MILLION) if is_cost else 0)  # type: ignore[operator]


def _of_model(told: dict[str, Any]) -> Usage:
    fresh = wire.number(told.get("inputTokens")) + wire.number(told.get("cacheCreationInputTokens"))
    return _usage(fresh, wire.number(told.get("cacheReadInputTokens")), wire.number(told.get("outputTokens")))


def _usage(fresh: int, cached: int, written: int) -> Usage:
    return Usage(fresh + cached, cached, written, 0, fresh + cached + written)
