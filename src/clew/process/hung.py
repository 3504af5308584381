"""A daemon that runs and gives no answer: which process it is, what its supervisor knows of it, and what to do."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

from clew.process import heartbeat, lock
from clew.support.home import Home

TODO = "`clew logs` may tell why; `clew restart` starts another one"


def pid(home: Home) -> int | None:
    """Of the daemon that should answer."""
    holder = lock.read(home.lock)
    return holder.pid if holder else None


def describe(home: Home) -> str:
    found = pid(home)
    who = f"the daemon (pid {found})" if found else "the daemon"
    return f"{who} does not answer; it may be hung, or have far too much to do{_seen(home, found)}. {TODO}"


def _seen(home: Home, found: int | None) -> str:
    """What its supervisor has written down about this very daemon."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        note: dict[str, Any] = json.loads((home.run / heartbeat.HUNG).read_bytes())
        if note["pid"] == found:
            plan = f" and restarts it at {_clock(note['restart'])}" if note["restart"] else ""
            return f"; its supervisor has noticed, at {_clock(note['since'])},{plan}".rstrip(",")
    return ""


def _clock(millis: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(millis / 1000))
