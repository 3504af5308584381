"""Describes a daemon that runs but does not respond: its pid, what its supervisor knows, and what to do."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from clew.process import heartbeat, lock
from clew.support.home import Home

TODO = "`clew logs` may tell why; `clew restart` starts another one"


def pid(home: Home) -> int | None:
    """The pid of the daemon that should respond."""
    holder = lock.read(home.lock)
    return holder.pid if holder else None


def describe(home: Home) -> str:
    found = pid(home)
    who = f"the daemon (pid {found})" if found else "the daemon"
    return f"{who} does not answer; it may be hung, or have far too much to do{_supervisor_note(home, found)}. {TODO}"


def _supervisor_note(home: Home, found: int | None) -> str:
    """What the supervisor has noted about this daemon."""
    import json

    with suppress(OSError, ValueError, KeyError, TypeError):
        note: dict[str, Any] = json.loads((home.run / heartbeat.HUNG).read_bytes())
        if note["pid"] == found:
            plan = f" and restarts it at {_clock(note['restart'])}" if note["restart"] else ""
            return f"; its supervisor has noticed, at {_clock(note['since'])},{plan}".rstrip(",")
    return ""


def _clock(millis: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(millis / 1000))
