"""The counts of a soak: while it runs, what people sent and received; at its end, the rows and leftover processes. It
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
from clew.texts import chat_messages
from tests.helpers.daemons import carrying

MARKS = {
    "continued, and says so": str(chat_messages.CONTINUED),
    "repeats that say so": str(chat_messages.POSSIBLE_REPEAT),
    "recovered, and says so": str(chat_messages.RECOVERED),
}


class Received(Struct, frozen=True):
    """A delivery at the receiver, as in its body."""

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
    """The counts while it runs."""

    seen: Counter[str] = field(default_factory=Counter)  # events by name
    taken: set[str] = field(default_factory=set)  # acknowledged messages
    untaken: set[str] = field(default_factory=set)  # messages that were never acknowledged
    told: dict[str, list[Received]] = field(default_factory=dict)  # by idempotency key: all different bodies
    yes: set[str] = field(default_factory=set)  # codes of accepted gates
    weights: dict[int, list[Weight]] = field(default_factory=dict)  # by the daemon's pid

    def add_received(self, key: str, body: bytes) -> Received | None:
        """Count a delivery at the receiver; None: its key came before, so a receiver ignores it."""
        told = msgspec.json.decode(body, type=Received)
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
    asked: bool  # the question was delivered, or is shown locally


class Rows(Struct, frozen=True):
    """The rows of the store at the end."""

    heard: list[ReceivedMessage]
    turns: list[Turn]
    deliveries: list[Delivery]
    gates: list[Gate]
    suspended: list[Suspended]
    unfinished: list[str]
    unowed: list[str]  # ended turns without a delivery


@dataclass(frozen=True)
class Counted:
    """All data for the verdict."""

    count: Count
    rows: Rows
    fates: dict[str, int]  # as in `clew status`
    runs: Counter[int]  # how often each command ran, by its number
    rested: bool  # everything ended in time
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
    """Count the runs of each command: each run wrote its number."""
    return Counter(map(int, path.read_text().split())) if path.exists() else Counter()


def left_running(home: Home) -> list[str]:
    """Return leftover processes: daemons, supervisors, marked ones, and others of this home."""
    holder = lock.read(home.lock)
    marked = scan.children(holder.store) if holder and holder.store else []
    pids = {*carrying(f"CLEW_HOME={home.root}"), *(each.pid for each in marked)}
    found = (scan.get(pid) for pid in sorted(pids))
    return [f"{each.pid} {each.command}" for each in found if each is not None]


def _is_asked(tx: Tx, thread: str, by: str) -> bool:
    """Whether its question was asked; a failed turn's answer says so itself."""
    asked = deliveries.newest_ask(tx, thread)
    there = asked is not None and asked.state in (DeliveryState.SENT, DeliveryState.NO_TARGET)
    return there or by == SuspendedBy.FAILURE
