"""Messages about usage limits."""

from __future__ import annotations

import re
from datetime import datetime

from clew.model.events.accounts import Refusal
from clew.support.coded import Text
from clew.texts.bilingual import Bilingual
from clew.texts.catalogue import say

NOW = frozenset({"now", "try now", "现在", "马上", "现在就试"})
NOW_BUTTON = Bilingual("▶ Now", "▶ 现在")
TO_PARKED = Bilingual("`now` or `stop`", "「现在」或「停止」")
STOP_BUTTON = Bilingual("⏹ Stop", "⏹ 停止")
NEAR = 18 * 3600_000  # milliseconds; a time that is farther away is shown with its date
_ON = re.compile(r"(?:on|用)\s*([a-z0-9][a-z0-9_-]*)")


def on_button(agent: str) -> Bilingual:
    return Bilingual(f"On {agent}", f"用 {agent}")


def says_on(agent: str) -> str:
    return f"on {agent}"


def named_agent(word: str | None) -> str | None:
    """The agent of `on claude`."""
    found = _ON.fullmatch(word or "")
    return found[1] if found else None


def parked(agent: str, until: int, now: int, *, is_known: bool, with_wait: bool = True) -> Text:
    """`Resumes 01:20 (in 2 h 13 m).`"""
    code = "limits.parked" if is_known else "limits.parked_unknown"
    wait = from_now(until - now) if with_wait else ""
    return say(code, agent=agent, at=moment(until, now), wait=wait)


def short(agent: str, until: int) -> Text:
    """For a wait without parking. With seconds, since it is at most two minutes."""
    return say("limits.short", agent=agent, at=datetime.fromtimestamp(until / 1000).astimezone().strftime("%H:%M:%S"))


def in_line(agent: str, at: int, now: int, *, with_wait: bool = True) -> Text:
    """`codex works again. Resumes 01:20 (in 2 m).`"""
    wait = from_now(at - now) if with_wait else ""
    return say("limits.in_line", agent=agent, at=moment(at, now), wait=wait)


def asks(agent: str, until: int, now: int, waits: int) -> Text:
    """For a thread that does not resume by itself. `waits`: for how many windows in a row, with this one; 0: it never
    does."""
    if not waits:
        return say("limits.asks", agent=agent, at=moment(until, now))
    return say("limits.asks_again", agent=agent, at=moment(until, now), count=waits)


def took_over(agent: str, found: Refusal | None, why: str, other: str, now: int) -> Text:
    """Another agent takes a turn. A time that the agent did not say is not told as one."""
    if found is not None and found.is_known:
        return say("limits.at_limit_until", agent=agent, at=moment(found.until, now), next=other)
    if found is not None:
        return say("limits.at_limit_unknown", agent=agent, next=other)
    return say("limits.cannot_begin", agent=agent, why=why, next=other)


def hint(other: str | None) -> Text:
    return say("limits.now_on_or_stop", agent=other) if other else say("limits.now_or_stop")


def cut_hint(other: str) -> Text:
    return say("limits.continue_on_or_stop", agent=other)


def moment(at: int, now: int) -> str:
    """A time of this machine's clock, with its date if it is not soon."""
    shown = datetime.fromtimestamp(at / 1000).astimezone()
    return shown.strftime("%H:%M" if at - now < NEAR else "%Y-%m-%d %H:%M")


def from_now(millis: int) -> Text:
    """` (in 2 h 13 m)`"""
    return say("limits.wait", time=duration(millis))


def duration(millis: int) -> Text:
    minutes = max(1, round(millis / 60_000))
    if minutes < 60:
        return say("limits.minutes", minutes=minutes)
    return say("limits.hours", hours=minutes // 60, minutes=minutes % 60)
