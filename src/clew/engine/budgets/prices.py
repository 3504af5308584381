"""Estimates what usage costs, by the prices of the settings. Money is only shown; it stops nothing. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clew.config.settings import Price
from clew.store.tables.usage import ModelUsage

MILLION = 1_000_000


def estimate(prices: Mapping[str, Price], used: Iterable[ModelUsage]) -> float | None:
    """None: the price of a part of it is not known."""
    costs = [_cost(prices, each) for each in used if each.spent.tokens]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if known and len(known) == len(costs) else None


def _cost(prices: Mapping[str, Price], used: ModelUsage) -> float | None:
    price = prices.get(used.model) or prices.get(used.runtime)
    if price is None:
        return None
    spent, cached = used.spent, price.cached_input if price.cached_input is not None else price.input
    fresh = max(0, spent.input_tokens - spent.cached_input_tokens)
    whole = fresh * price.input + spent.cached_input_tokens * cached + spent.output_tokens * price.output
    return whole / MILLION
