"""Describes a daemon that runs but does not respond: its pid, what its supervisor knows, and what to do."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from clew.process import heartbeat, lock
from clew.support.coded import worded
from clew.support.home import Home


def pid(home: Home) -> int | None:
    """The pid of the daemon that should respond."""
    holder = lock.read(home.lock)
    return holder.pid if holder else None


def describe(home: Home) -> str:
    found = pid(home)
    who = worded("process.daemon_pid", "the daemon (pid {pid})", pid=f"{found}") if found else None
    return worded(
        "process.hangs",
        "{who} does not answer; it may be hung, or have far too much to do{note}. `clew logs` may tell why;"
        " `clew restart` starts another one",
        who=who or worded("process.the_daemon", "the daemon"),
        note=_supervisor_note(home, found),
    )


def _supervisor_note(home: Home, found: int | None) -> str:
    """What the supervisor has noted about this daemon."""
    import json

    with suppress(OSError, ValueError, KeyError, TypeError):
        note: dict[str, Any] = json.loads((home.run / heartbeat.HUNG).read_bytes())
        if note["pid"] == found:
            since = _clock(note["since"])
            if not note["restart"]:
                return worded("process.noticed", "; its supervisor has noticed, at {since}", since=since)
            return worded(
                "process.will_restart",
                "; its supervisor has noticed, at {since}, and restarts it at {restart}",
                since=since,
                restart=_clock(note["restart"]),
            )
    return ""


def _clock(millis: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(millis / 1000))
