"""Prints usage and budgets as lines."""

from __future__ import annotations

from clew.cli.language import labels, phrase, word
from clew.cli.view.text_width import duration, fit, one_line, table
from clew.model.budgets import BudgetRow, Measure, UsageRow, UsageView

HEAD = ("turns", "tokens", "input", "cached", "output", "time", "money")
WIDTH = 40  # columns of a title


def usage_lines(view: UsageView) -> list[str]:
    return table([labels(view.by, *HEAD), *map(_cells, view.rows)]) if view.rows else []


def _cells(row: UsageRow) -> tuple[str, ...]:
    counts = (row.turns, row.tokens, row.input_tokens, row.cached_input_tokens, row.output_tokens)
    label = fit(one_line(row.label), WIDTH)
    return (label, *(f"{count:,}" for count in counts), duration(row.time / 1000), _money(row))


def _money(row: UsageRow) -> str:
    """What agents report counts for itself: it is in US dollars, the estimate in the currency of the prices."""
    known = [] if row.money is None else [f"{row.money:.2f}"]
    told = [] if row.reported is None else [phrase("cli_threads.reported_cost", cost=f"{row.reported:.2f}")]
    return " + ".join([*known, *told]) or "-"


def budget_lines(view: UsageView) -> list[str]:
    if not view.budgets:
        return []
    return ["", *table([labels("budget", "of", "used", "limit", ""), *map(_budget, view.budgets)])]


def _budget(row: BudgetRow) -> tuple[str, ...]:
    is_raised = row.usual is not None and row.limit > row.usual
    note = _note(row.used >= row.limit, is_raised)
    name = f"{word(row.scope)} {row.name}".strip()
    return name, word(row.measure), _amount(row.measure, row.used), _amount(row.measure, row.limit), note


def _note(is_used_up: bool, is_raised: bool) -> str:
    if is_used_up:
        return phrase("cli_threads.budget_used_up")
    return phrase("cli_threads.budget_raised") if is_raised else ""


def _amount(measure: str, value: int) -> str:
    return duration(value / 1000) if measure == Measure.TIME else f"{value:,}"
