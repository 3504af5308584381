"""Usage and budgets: what is counted, for whom, and how much is allowed. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class BudgetScope(StrEnum):
    """For whom usage is counted."""

    THREAD = "thread"
    PERSON = "person"
    ACCOUNT = "account"  # a runtime: each has its own login
    DAY = "day"  # everything of a day


class Measure(StrEnum):
    TOKENS = "tokens"
    TURNS = "turns"
    TIME = "time"  # milliseconds of work, without those in which a turn waited at a gate


class Payer(Struct, frozen=True):
    """Whose usage: a scope, its name, and the day. An empty day: the whole life of a thread."""

    scope: BudgetScope
    name: str
    day: str


class Spent(Struct, frozen=True):
    turns: int = 0
    tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    time: int = 0  # milliseconds
    cost: int = 0  # that agents report, in millionths of a US dollar

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.turns + other.turns,
            self.tokens + other.tokens,
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            self.time + other.time,
            self.cost + other.cost,
        )

    def of(self, measure: Measure) -> int:
        return {Measure.TOKENS: self.tokens, Measure.TURNS: self.turns, Measure.TIME: self.time}[measure]


class Reached(Struct, frozen=True):
    """A budget that is used up."""

    payer: Payer
    measure: Measure
    used: int
    limit: int


class UsageRow(Struct, frozen=True):
    """What somebody or something used. Of a thread `name` is its id, of a person SURFACE:ID."""

    name: str
    label: str  # the thread's title, or the person's name; else the name
    turns: int
    tokens: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    time: int  # milliseconds of work
    money: float | None  # of what no agent reports, estimated by the settings `prices`; null: a price is not known
    reported: float | None = None  # US dollars that agents report themselves; null: none does


class BudgetRow(Struct, frozen=True):
    """A budget that holds today. Of a thread it holds for its whole life."""

    scope: str
    name: str
    measure: str
    used: int
    limit: int
    usual: int | None  # the limit of the config; null: only this thread has one


class UsageView(Struct, frozen=True):
    by: str
    since: str  # a day, such as 2026-11-18
    rows: tuple[UsageRow, ...]
    budgets: tuple[BudgetRow, ...]
