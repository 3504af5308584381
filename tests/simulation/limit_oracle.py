"""Checks how accounts at their usage limit are asked again: by one thread at a time, whatever the others wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from clew.engine.account_limits import PROBE
from clew.model.events.accounts import AccountState
from clew.model.events.kinds import EventKind
from clew.store import Tx
from tests.simulation.world import World

_KINDS = (EventKind.ACCOUNT_LIMIT, EventKind.TURN_ENDED, EventKind.THREAD_STATUS, EventKind.NOTICE)


class _Asking(NamedTuple):
    thread: str
    at: int


def one_asks(world: World, tx: Tx) -> Iterator[str]:
    """14. No thread asks an account while another one does, unless that has told nothing for two minutes."""
    asking: dict[str, _Asking] = {}
    places = ", ".join("?" for _ in _KINDS)
    for row in tx.all(f"SELECT thread, kind, data, at FROM log WHERE kind IN ({places}) ORDER BY seq", *_KINDS):
        if row["kind"] != EventKind.ACCOUNT_LIMIT:  # whoever asked has been told something, or waits for a person
            asking = {runtime: each for runtime, each in asking.items() if each.thread != row["thread"]}
            continue
        said = msgspec.json.decode(row["data"])
        before = asking.pop(said["runtime"], None)
        if said["state"] != AccountState.ASKED:
            continue
        if before is not None and before.thread != row["thread"] and 0 <= row["at"] - before.at < PROBE:
            yield f"{row['thread']} asked the account of {said['runtime']} while {before.thread} did"
        asking[said["runtime"]] = _Asking(row["thread"], row["at"])
