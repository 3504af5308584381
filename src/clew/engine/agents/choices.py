"""What happens to a thread whose agent is at its usage limit: as its person chose for it, else as the settings say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from clew.engine.account_limits import LONGEST
from clew.engine.agents.quiet_hours import after_quiet_hours
from clew.engine.agents.switching import require_known
from clew.engine.core import Core
from clew.engine.turns.parked import Wait
from clew.model.events.accounts import MARGIN, Refusal
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables.choices import set_choices
from clew.store.tables.parked import Waits
from clew.support.errors import BadInput
from clew.texts import limit_messages
from clew.texts.catalogue import say

MOST_WAITS = 1000
ON_LIMIT = ("auto", "ask", "never")
QUIET_HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d")
_KNOWN = {
    "on_limit": "auto, ask, never, default",
    "limit_waits": "1, 2, …, default",
    "quiet_hours": "23:00-07:00, none, default",
}
UNKNOWN_WINDOW = 5 * 3_600_000  # milliseconds that tries count as one window, if no agent said how long it is


def on_limit(core: Core, thread: Thread) -> str:
    return thread.choices.on_limit or core.config.threads.on_limit


def limit_waits(core: Core, thread: Thread) -> int:
    return thread.choices.limit_waits or core.config.threads.limit_waits


def wake_time(core: Core, thread: Thread, at: int) -> int:
    """When a thread goes on whose account may work again at this time."""
    own = thread.choices.quiet_hours
    return after_quiet_hours(at, core.config.threads.quiet_hours if own is None else own or None)


def wait_for(core: Core, thread: Thread, agent: str, found: Refusal) -> Wait:
    """Until the account may work again."""
    at, now, is_known = wake_time(core, thread, found.wake_at), core.clock.now(), found.is_known
    why = limit_messages.parked(agent, at, now, is_known=is_known, with_wait=False)
    return Wait(at, why, limit_messages.parked(agent, at, now, is_known=is_known))


def wait_in_line(core: Core, thread: Thread, agent: str, at: int) -> Wait:
    """Behind others, for an account that works again."""
    at, now = wake_time(core, thread, at), core.clock.now()
    return Wait(at, limit_messages.in_line(agent, at, now, with_wait=False), limit_messages.in_line(agent, at, now))


def waits_with(thread: Thread, found: Refusal, now: int) -> Waits:
    """For how many usage windows in a row the thread has waited, with this one. A window is counted once, however often
    the account is tried in it; another time of reset is another window."""
    last = thread.limit_window
    end = found.until if found.is_known else now + UNKNOWN_WINDOW
    if last is not None and now < last <= now + LONGEST and (not found.is_known or end <= last + MARGIN):
        return Waits(thread.limit_waits, last)
    return Waits(thread.limit_waits + 1, end)


def choose(tx: Tx, core: Core, thread: Thread, words: Mapping[str, str]) -> None:
    """Store what a person chose for a thread, as words: `default` is what the settings say. Raises BadInput."""
    found = {name: _choice(core, name, word.strip()) for name, word in words.items()}
    set_choices(tx, thread.id, replace(thread.choices, **found))


def _choice(core: Core, name: str, word: str) -> tuple[str, ...] | str | int | None:
    if word == "default":
        return None
    match name:
        case "fallback":
            return () if word == "none" else _agents(core, word)
        case "on_limit" if word in ON_LIMIT:
            return word
        case "limit_waits" if word.isdecimal() and 0 < int(word) <= MOST_WAITS:
            return int(word)
        case "quiet_hours" if word == "none" or QUIET_HOURS.fullmatch(word):
            return "" if word == "none" else word
    raise BadInput(say("threads.not_a_choice", name=name, value=repr(word), known=_KNOWN.get(name, "")))


def _agents(core: Core, word: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(each.strip() for each in word.split(",") if each.strip()))
    for name in names:
        require_known(core, name)
    return names
