"""What a soak counts: while it runs, what people said and were told; at its end, what the rows say and what is left. It
judges nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from clew.model.delivery import Delivery, DeliveryState
from clew.model.gates import Gate
from clew.model.threads import SuspendedBy
from clew.model.turns import Turn
from clew.process import lock, scan
from clew.store import Tx, audit
from clew.store.audit import ReceivedMessage
from clew.store.sqlite.driver import connect
from clew.store.tables import deliveries
from clew.support.home import Home
from clew.texts import messages
from tests.helpers.daemons import carrying

MARKS = {
    "continued, and says so": str(messages.CONTINUED),
    "repeats that say so": str(messages.POSSIBLE_REPEAT),
    "recovered, and says so": str(messages.RECOVERED),
}


class Told(Struct, frozen=True):
    """What came to the receiver, as its body says it."""

    kind: str
    text: str
    conversation: str = ""
    thread: str = ""
    turn: str | None = None
    note: str = ""

    @property
    def is_marked(self) -> bool:
        return any(mark in self.note for mark in MARKS.values())


class Weight(Struct, frozen=True):
    at: float  # seconds
    megabytes: float
    files: int  # that are open


@dataclass
class Count:
    """What happened while it ran."""

    seen: Counter[str] = field(default_factory=Counter)  # anything, by name
    taken: set[str] = field(default_factory=set)  # the messages that were acknowledged
    untaken: set[str] = field(default_factory=set)  # those that were sent again and again, and never were
    told: dict[str, list[Told]] = field(default_factory=dict)  # by idempotency key: all that differed
    yes: set[str] = field(default_factory=set)  # the codes of what somebody allowed
    weights: dict[int, list[Weight]] = field(default_factory=dict)  # by the daemon's pid

    def took(self, key: str, body: bytes) -> Told | None:
        """What came to the receiver. None: it had come before, and a receiver leaves it out by its key."""
        told = msgspec.json.decode(body, type=Told)
        before = self.told.setdefault(key, [])
        is_new = not before
        if told not in before:
            before.append(told)
        if not is_new:
            self.seen["repeats with the same key"] += 1
            return None
        for name, mark in MARKS.items():
            self.seen[name] += mark in told.note
        return told


class Suspended(Struct, frozen=True):
    thread: str
    by: str
    asked: bool  # somebody has the question, or finds it at the desk


class Rows(Struct, frozen=True):
    """What the store says when all is over."""

    heard: list[ReceivedMessage]
    turns: list[Turn]
    deliveries: list[Delivery]
    gates: list[Gate]
    suspended: list[Suspended]
    unfinished: list[str]
    unowed: list[str]  # turns that ended, and nobody gets anything for them


@dataclass(frozen=True)
class Counted:
    """All that there is to judge by."""

    count: Count
    rows: Rows
    fates: dict[str, int]  # as `clew status` tells them
    runs: Counter[int]  # how often each command ran, by its number
    rested: bool  # everything came to its end in time
    left: list[str]  # processes


def read(tx: Tx) -> Rows:
    return Rows(
        heard=audit.all_messages(tx),
        turns=audit.all_turns(tx),
        deliveries=audit.all_deliveries(tx),
        gates=audit.all_gates(tx),
        suspended=[Suspended(name, by, _is_asked(tx, name, by)) for name, by in audit.all_suspended(tx).items()],
        unfinished=audit.unfinished(tx),
        unowed=audit.ended_without_delivery(tx),
    )


def read_home(home: Home) -> Rows:
    connection = connect(home.database, read_only=True)
    try:
        return read(Tx(connection))
    finally:
        connection.raw.close()


def read_runs(path: Path) -> Counter[int]:
    """Each run of a command has written its number."""
    return Counter(map(int, path.read_text().split())) if path.exists() else Counter()


def left_running(home: Home) -> list[str]:
    """A daemon, a supervisor, what carries a daemon's mark, and whatever else was started for this home."""
    holder = lock.read(home.lock)
    marked = scan.children(holder.store) if holder and holder.store else []
    pids = {*carrying(f"CLEW_HOME={home.root}"), *(each.pid for each in marked)}
    found = (scan.get(pid) for pid in sorted(pids))
    return [f"{each.pid} {each.command}" for each in found if each is not None]


def _is_asked(tx: Tx, thread: str, by: str) -> bool:
    """A failure was told by the answer itself."""
    asked = deliveries.newest_ask(tx, thread)
    there = asked is not None and asked.state in (DeliveryState.SENT, DeliveryState.NO_TARGET)
    return there or by == SuspendedBy.FAILURE
