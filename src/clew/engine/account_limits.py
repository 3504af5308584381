"""What is known of the usage limits of each runtime's account: what agents report, stored if it changed noticeably,
and whether the account refuses turns now. A refusal is a window of its own, which ends with the next completed turn.

Times are taken as they are only if they make sense: one that is missing, past or absurd counts as unknown, and then the
waits grow from 15 minutes to an hour, so that no wrong time makes a hot loop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clew.engine.core import Core
from clew.model.events import LimitStatus, LimitWindow
from clew.model.events.accounts import AccountState, Refusal
from clew.model.events.kinds import EventKind
from clew.model.events.logged import AccountLimit
from clew.model.runtime import Installed
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Entry, Tx
from clew.store.tables import limits, threads
from clew.store.tables.limits import Asking, SeenLimit
from clew.support.coded import Text
from clew.support.errors import Refused
from clew.support.text import agent_name
from clew.texts import limit_messages
from clew.texts.catalogue import say

REFUSAL = "refusal"
NOTICEABLE = 0.01  # of a window
LOOK = 60.0  # seconds that a look for a program counts
MINUTE = 60_000  # milliseconds
IN_PLACE = 2 * MINUTE  # a shorter wait is waited for without parking the thread
PROBE = 2 * MINUTE  # after which another turn may ask an account whose time has passed
DAY = 24 * 60 * MINUTE
LONGEST = 35 * DAY  # a month of a plan, and some days
BACK = MINUTE  # the clock may be set back so far without notice
WAITS = (15, 30, 60)  # minutes, if it is not known when the account is free again


async def load_limits(core: Core) -> None:
    """Read what an earlier daemon stored."""
    for seen in await core.read_with_retry(limits.everything):
        core.limits.setdefault(seen.runtime, {})[seen.window.name] = seen.window
        if seen.window.name == REFUSAL and (found := _refusal(seen.window)) is not None:
            core.refusals[seen.runtime] = found


def note_committed(core: Core, entries: Sequence[Entry]) -> None:
    """Remember which accounts refuse turns, once that is committed."""
    for entry in entries:
        if entry.kind != EventKind.ACCOUNT_LIMIT:
            continue
        data = entry.data
        if data["state"] == AccountState.REFUSED:
            core.refusals[data["runtime"]] = Refusal(data["until"], data["known"], data["short"])
        elif data["state"] == AccountState.FREE:
            core.refusals.pop(data["runtime"], None)
            _forget_reached(core, data["runtime"])


def _forget_reached(core: Core, runtime: str) -> None:
    """As `clear_reached` does in the store: what is known of the other windows stays."""
    known = core.limits.get(runtime, {})
    core.limits[runtime] = {name: each for name, each in known.items() if each.status is not LimitStatus.REACHED}


async def note_limits(core: Core, runtime: str, windows: Sequence[LimitWindow]) -> None:
    """Store what an agent reports, if it is news: a report comes with each answer."""
    known = core.limits.setdefault(runtime, {})
    news = [window for window in windows if window.name != REFUSAL and _is_news(known.get(window.name), window)]
    if not news:
        return

    def body(tx: Tx) -> None:
        for window in news:
            limits.put(tx, runtime, window, core.clock.now())

    await core.write_with_retry(body)
    known.update({window.name: window for window in news})


def _refusal(window: LimitWindow) -> Refusal | None:
    """The refusal that is stored as a window: `minutes` has the wait of an unknown end, `used` marks a short one."""
    if window.status is not LimitStatus.REACHED or window.resets_at is None:
        return None
    return Refusal(window.resets_at, window.minutes is None, window.used is not None)


def is_refusing(core: Core, runtime: str) -> bool:
    """Whether the account would refuse a turn now."""
    found = core.refusals.get(runtime)
    return found is not None and core.clock.now() < found.wake_at


def waits_in_place(core: Core, runtime: str) -> Text | None:
    """Why a turn waits whose account is at its limit for so short a time that threads are not parked."""
    found = core.refusals.get(runtime)
    return limit_messages.short(runtime, found.wake_at) if found is not None and found.is_short else None


def stored_refusal(tx: Tx, core: Core, runtime: str) -> Refusal | None:
    """The refusal of an account that has completed no turn since, as it is in this transaction."""
    seen = _stored(tx, runtime)
    if seen is not None and _is_from_the_future(seen, core.clock.now()):
        return _refusal(_unknown(None, core.clock.now(), is_again=False))
    return _refusal(seen.window) if seen is not None else None


def correct_refusal(tx: Tx, core: Core, runtime: str) -> Refusal | None:
    """Store anew what was stored while the clock was ahead: nobody knows when that refusal ends. None: it is right."""
    seen, now = _stored(tx, runtime), core.clock.now()
    if seen is None or not _is_from_the_future(seen, now):
        return None
    window = _unknown(None, now, is_again=False)
    limits.put(tx, runtime, window, now)
    found = _refusal(window)
    if found is not None:
        tx.after(partial(core.refusals.__setitem__, runtime, found))
    return found


def _stored(tx: Tx, runtime: str) -> SeenLimit | None:
    return next((seen for seen in limits.of(tx, runtime) if seen.window.name == REFUSAL), None)


def _is_from_the_future(seen: SeenLimit, now: int) -> bool:
    """Whether the clock was ahead when a refusal was stored."""
    found = _refusal(seen.window)
    return found is not None and (seen.seen_at > now + BACK or found.until > now + LONGEST)


def record_refusal(tx: Tx, core: Core, turn: Turn, until: int | None) -> Refusal:
    """An account refused a turn. `until`: when the agent says that it is free again."""
    now, runtime = core.clock.now(), turn.runtime
    seen, stored = {each.window.name: each.window for each in limits.of(tx, runtime)}, _stored(tx, runtime)
    holds = stored is not None and _refusal(stored.window) is not None and not _is_from_the_future(stored, now)
    before = stored.window if stored is not None and holds else None
    known = _sane(until, now) or _reported(seen, now)
    is_again = before is not None and before.resets_at is not None and before.resets_at <= now
    is_short = known is not None and known - now <= IN_PLACE
    if known is not None and not (is_short and is_again):
        window = LimitWindow(REFUSAL, LimitStatus.REACHED, 1.0 if is_short else None, known)
    else:
        window = _unknown(before, now, is_again=is_again)
    limits.put(tx, runtime, window, now)
    limits.set_asking(tx, runtime, REFUSAL, None)
    found = _refusal(window) or Refusal(now + WAITS[0] * MINUTE, False)
    if before != window:
        refused = AccountLimit(runtime, AccountState.REFUSED, found.until, found.is_known, found.is_short)
        tx.log(turn.thread, turn.id, now, refused)
    return found


def record_asking(tx: Tx, core: Core, runtime: str, thread: str) -> None:
    """A turn of this thread asks an account that refused the last one."""
    limits.set_asking(tx, runtime, REFUSAL, Asking(thread, core.clock.now()))
    tx.log(thread, None, core.clock.now(), AccountLimit(runtime, AccountState.ASKED))


def asking_until(tx: Tx, core: Core, runtime: str) -> int | None:
    """Until when a turn asks the account again; None: none does."""
    asks, now = limits.asking(tx, runtime, REFUSAL), core.clock.now()
    return asks.at + PROBE if asks is not None and now - PROBE < asks.at <= now else None


def is_asking(tx: Tx, runtime: str, thread: str) -> bool:
    """Whether it is this thread whose turn asks the account again."""
    asks = limits.asking(tx, runtime, REFUSAL)
    return asks is not None and asks.thread == thread


def stop_asking(tx: Tx, runtime: str, thread: str) -> None:
    """The turn that asked has ended; it told nothing of the account."""
    if is_asking(tx, runtime, thread):
        limits.set_asking(tx, runtime, REFUSAL, None)


def record_success(tx: Tx, core: Core, runtime: str, thread: str) -> None:
    """A turn of the account works, so none of its windows is at its limit."""
    limits.clear_reached(tx, runtime, core.clock.now())
    limits.set_asking(tx, runtime, REFUSAL, None)
    tx.log(thread, None, core.clock.now(), AccountLimit(runtime, AccountState.FREE))


def _unknown(before: LimitWindow | None, now: int, *, is_again: bool) -> LimitWindow:
    """Wait longer each time. Another turn that was refused at the same time changes nothing."""
    if before is not None and before.minutes is not None and not is_again:
        return before
    last = before.minutes if before is not None and before.minutes is not None else 0
    minutes = next((wait for wait in WAITS if wait > last), WAITS[-1])
    return LimitWindow(REFUSAL, LimitStatus.REACHED, None, now + minutes * MINUTE, minutes)


def _sane(until: int | None, now: int) -> int | None:
    return until if until is not None and now < until <= now + LONGEST else None


def _reported(seen: dict[str, LimitWindow], now: int) -> int | None:
    """When all windows are free that the agent reported as used up. Those of another model tell nothing."""
    full = [
        window.resets_at
        for window in seen.values()
        if window.name != REFUSAL
        and window.is_main
        and window.status is LimitStatus.REACHED
        and (window.resets_at or now + 1) > now
    ]
    times = [sane for at in full if (sane := _sane(at, now)) is not None]
    return max(times) if times and len(times) == len(full) else None


def _is_news(known: LimitWindow | None, now: LimitWindow) -> bool:
    if known is None or (known.status, known.resets_at) != (now.status, now.resets_at):
        return True
    if known.used is None or now.used is None:
        return known.used is not now.used
    return abs(known.used - now.used) >= NOTICEABLE


def fallback_of(core: Core, thread: Thread) -> tuple[str, ...]:
    """Who takes the turns of a thread whose agent cannot work. A thread on an agent outside the list of the settings
    keeps it; a list of its own is meant for it."""
    if thread.choices.fallback is not None:
        return thread.choices.fallback
    order = core.config.threads.fallback
    return order if thread.runtime in order else ()


def usable_agent(core: Core, thread: Thread, turn: Turn) -> str | None:
    """An agent that a person could let take a turn, if no list says which: first those that the settings name."""
    tried = {*turn.tried, turn.runtime}
    named = core.config.runtimes
    order = sorted(core.runtimes, key=lambda name: (name not in named, name))
    able = (name for name in order if name not in tried and not is_refusing(core, name))
    return next((name for name in able if is_there(core, name)), None)


def is_there(core: Core, name: str) -> bool:
    """Whether its program is installed. Looked at once in a while, since lists ask for many threads."""
    runtime, now = core.runtimes[name], core.clock.monotonic()
    if not isinstance(runtime, Installed):
        return True
    at, found = core.there.get(name, (-LOOK, False))
    if now - at >= LOOK:
        found = runtime.is_there()
        core.there[name] = now, found
    return found


def require_installed(core: Core, name: str) -> None:
    """Raises Refused if the program of an agent that somebody chooses is not there: it would fail at the next turn.
    Looks anew, since it may just have been installed."""
    core.there.pop(name, None)
    if not is_there(core, name):
        there = [each for each in sorted(core.runtimes) if is_there(core, each)]
        known = ", ".join(there) or say("agents.none_installed")
        raise Refused(say("agents.not_installed", agent=agent_name(name), name=name, known=known))


def alternative(core: Core, thread: Thread, turn: Turn) -> str | None:
    """The next agent that may take a turn, in the order of its list. Each takes it at most once; one whose
    account refuses turns now is left out."""
    order = fallback_of(core, thread)
    tried = {*turn.tried, turn.runtime}
    able = (name for name in order if name in core.runtimes and name not in tried and not is_refusing(core, name))
    return next(able, None)


def default_account(tx: Tx, core: Core) -> str:
    """The runtime of a thread for which none is named: the default, or another account of the same agent that is in
    `threads.fallback`, as `threads.accounts` says."""
    settings = core.config.threads
    accounts = _accounts(core, settings.runtime)
    if len(accounts) < 2:
        return settings.runtime
    able = [name for name in accounts if not is_refusing(core, name)] or accounts
    if settings.accounts == "most-left":
        return min(able, key=lambda name: _used(core, name))
    if settings.accounts == "round-robin":
        last = threads.newest_runtime(tx, accounts)
        turned = accounts[accounts.index(last) + 1 :] + accounts if last else accounts
        return next(name for name in turned if name in able)
    return able[0]


def _accounts(core: Core, default: str) -> list[str]:
    """The accounts of the default agent, in the order of the list."""
    kind = getattr(core.runtimes.get(default), "kind", None)
    order = core.config.threads.fallback
    if kind is None or default not in order:
        return []
    return [name for name in dict.fromkeys(order) if getattr(core.runtimes.get(name), "kind", None) == kind]


def _used(core: Core, runtime: str) -> float:
    """How much of its fullest window an account has used; nothing if that window has been reset since."""
    now, windows = core.clock.now(), core.limits.get(runtime, {}).values()
    return max((each.used or 0.0 for each in windows if each.resets_at is None or each.resets_at > now), default=0.0)
