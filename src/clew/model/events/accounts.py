"""An account that refuses turns because it is at its usage limit. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

MARGIN = 180_000  # milliseconds after the reset
LITTLE_MARGIN = 5_000  # after a short wait


class AccountState(StrEnum):
    REFUSED = "refused"
    ASKED = "asked"  # its time has passed, and one turn asks it again
    FREE = "free"


class Refusal(Struct, frozen=True):
    """It ends with the next turn that works; once its time has passed, one turn at a time asks the account again."""

    until: int  # when the account is free again, or is asked again
    is_known: bool  # the agent said so
    is_short: bool = False  # so short that its threads are not parked

    @property
    def wake_at(self) -> int:
        margin = 0 if not self.is_known else LITTLE_MARGIN if self.is_short else MARGIN
        return self.until + margin


class LimitView(Struct, frozen=True):
    """A usage limit of an agent's account, as the agent reported it last."""

    runtime: str
    window: str  # the agent's name for it; `refusal`: the account refused a turn
    used: float | None  # from 0 to 1
    resets_at: int | None
    status: str  # `ok`, `warning` or `reached`; `unreported`: the agent was asked, and told nothing
    minutes: int | None  # how long the window is
    seen_at: int
