"""What a soak counts while it runs, and the verdict at its end: from the rows, the receiver, and what runs still."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression

from clew import lock, processes
from clew.engine import words
from clew.home import Home
from clew.store import Tx, audit, inbox, measures
from clew.store.sqlite import connect

MARKS = {
    "continued, and says so": str(words.CONTINUED),
    "repeats that say so": str(words.POSSIBLE_REPEAT),
    "recovered, and says so": str(words.RECOVERED),
}
WARM = 30.0  # seconds until what a daemon needs anyway has been loaded


@dataclass
class Count:
    """What happened, by name."""

    seen: Counter[str] = field(default_factory=Counter)
    bodies: dict[str, set[bytes]] = field(default_factory=dict)  # by idempotency key
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB of the daemon
    files: list[int] = field(default_factory=list)  # that the daemon has open

    def took(self, key: str, body: bytes, note: str) -> bool:
        """What came to the receiver. False: it had come before, and a receiver leaves it out by its key."""
        is_new = key not in self.bodies
        self.bodies.setdefault(key, set()).add(body)
        if not is_new:
            self.seen["repeats with the same key"] += 1
            return False
        for name, mark in MARKS.items():
            self.seen[name] += mark in note
        return True

    def weighed(self, at: float, megabytes: float, files: int) -> None:
        self.memory.append((at, megabytes))
        self.files.append(files)

    def tell(self) -> None:
        for name in sorted(self.seen):
            print(f"  {name}: {self.seen[name]}")
        print(f"  answers, notices and asks at the receiver: {len(self.bodies)}")
        print(f"  memory of the daemon: {self._memory()}")
        print(f"  open files of the daemon: {self.files[-1]} at last, {max(self.files)} at most" if self.files else "")

    def _memory(self) -> str:
        warm = [each for each in self.memory if each[0] >= WARM]
        if len(warm) < 3:
            return "too short to tell"
        slope = linear_regression(*zip(*warm, strict=True)).slope * 60
        return f"{warm[0][1]:.0f} MB at first, {warm[-1][1]:.0f} MB at last, {slope:+.2f} MB a minute"


def verdict(home: Home, count: Count, ran: Path, fates: dict[str, int]) -> list[str]:
    """What is wrong, by name; all of it is also told."""
    connection = connect(home.database, read_only=True)
    tx = Tx(connection)
    kept = [name for name, _ in audit.all_fates(tx) if name.startswith(("m", "re-"))]
    ended, rows = measures.turns_since(tx, 0), inbox.count_rows(tx)
    stuck, unowed = list(audit.unfinished(tx)), list(audit.ended_without_owing(tx))
    connection.raw.close()
    runs = len(ran.read_text().split()) if ran.exists() else 0
    count.tell()
    print(f"  fates: {fates}, rows: {rows}")
    print(f"  turns: {len(ended)}, of them failed: {sum(each.failed for each in ended)}; commands run: {runs}")
    troubles = {
        "lost": count.seen["acknowledged"] - len(kept),
        "doubled (a repeat without a mark)": sum(len(bodies) > 1 for bodies in count.bodies.values()),
        "stuck": stuck,
        "ended and not owed": unowed,
        "runs without a yes": max(0, runs - count.seen["yes"]),
        "fates that do not add up": 0 if fates == rows else (fates, rows),
        "left running": _left(home),
    }
    for name, trouble in troubles.items():
        print(f"{'✗' if trouble else '✓'} {name}: {trouble or 0}")
    return [name for name, trouble in troubles.items() if trouble]


def _left(home: Home) -> list[str]:
    holder = lock.read(home.lock)
    found = processes.children(holder.store) if holder and holder.store else []
    return [f"{each.pid} {each.command}" for each in found]
