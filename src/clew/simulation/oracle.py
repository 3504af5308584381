"""The promises, checked from outside after a story is over. Returns what was broken, in words; nothing is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clew import chain
from clew.engine import words
from clew.model import Fate
from clew.simulation.world import World
from clew.store import Tx, inbox, nodes, threads


def judge(world: World) -> list[str]:
    tx = Tx(world.connection)
    checks = (_never_silent, _accepted_once, _nothing_stuck, _owed_with_the_end, _delivered_once, _ran_once, _history)
    return [f"seed {world.seed}: {broken}" for check in checks for broken in check(world, tx)]


def _never_silent(world: World, tx: Tx) -> Iterator[str]:
    """1. Every message has exactly one fate, and the counts add up."""
    if (counted := inbox.fates(tx)) != (rows := inbox.count_rows(tx)):
        yield f"the counters say {counted}, the rows {rows}"
    for letter in world.platform.letters:
        if letter.copies > 0:
            yield f"{letter.id} was never acknowledged"
        found = tx.all("SELECT fate FROM inbox WHERE message_id = ?", letter.id)
        if len(found) != 1:
            yield f"{letter.id} has {len(found)} fates"


def _accepted_once(world: World, tx: Tx) -> Iterator[str]:
    """2. A message is in one request, or steered into one turn, or an answer; only a continuation repeats it."""
    asked: Counter[str] = Counter()
    for row in tx.all("SELECT request FROM turns WHERE continues IS NULL"):
        asked.update(said["id"] for said in _json(row["request"]))
    for row in tx.all("SELECT message_id, fate FROM inbox"):
        steered = row["fate"] == Fate.STEER
        if row["fate"] in (Fate.ANSWER, Fate.REFUSED):
            continue
        times = asked[row["message_id"]]
        if times > 1 or (steered and times):
            yield f"{row['message_id']} ({row['fate']}) is in {times} turns"


def _nothing_stuck(world: World, tx: Tx) -> Iterator[str]:
    """7. At rest nothing runs, nothing waits in a queue that nobody holds, nothing is half sent."""
    sql = (
        "SELECT t.id, t.state, h.status FROM turns t JOIN threads h ON h.id = t.thread"
        " WHERE t.state IN ('running', 'waiting') OR (t.state = 'queued' AND h.status != 'suspended')"
    )
    for row in tx.all(sql):
        yield f"turn {row['id']} is {row['state']} in a thread that is {row['status']}"
    for row in tx.all("SELECT id, state, error FROM deliveries WHERE state IN ('pending', 'sending', 'failed')"):
        yield f"delivery {row['id']} is {row['state']} ({row['error']})"
    for row in tx.all("SELECT message_id, state FROM steers WHERE state IN ('offered', 'sent')"):
        yield f"steer {row['message_id']} is {row['state']}"


def _owed_with_the_end(world: World, tx: Tx) -> Iterator[str]:
    """4. No turn ended without its delivery row."""
    sql = (
        "SELECT id FROM turns WHERE state IN ('completed', 'failed', 'interrupted')"
        " AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.turn = turns.id AND d.kind IN ('final', 'ask'))"
    )
    for row in tx.all(sql):
        yield f"turn {row['id']} ended and nothing is owed for it"


def _delivered_once(world: World, tx: Tx) -> Iterator[str]:
    """5. What was sent is there once; a second copy only where the platform offers no way to know, and then marked."""
    shown: dict[str, list[str]] = {}
    for post in world.platform.posts:
        shown.setdefault(post.key, []).append(post.note)
    for row in tx.all("SELECT id FROM deliveries WHERE state = 'sent' AND kind != 'placeholder'"):
        notes = shown.get(row["id"], [])
        unmarked = [note for note in notes if words.POSSIBLE_REPEAT not in note and words.RECOVERED not in note]
        if not notes:
            yield f"{row['id']} counts as sent and is not there"
        if len(unmarked) > 1:
            yield f"{row['id']} is there {len(unmarked)} times without a mark"
        if len(notes) > 1 and world.platform.kind in ("keyed", "readable"):
            yield f"{row['id']} is there {len(notes)} times on a {world.platform.kind} platform"


def _ran_once(world: World, tx: Tx) -> Iterator[str]:
    """3. A turn that the runtime has a record of is never given to it again."""
    for turn, times in world.ledger.begun.items():
        if times > 1:
            yield f"turn {turn} was begun {times} times"


def _history(world: World, tx: Tx) -> Iterator[str]:
    """11. History is whole, and says each message once per turn that was given it."""
    for row in tx.all("SELECT id, head FROM threads"):
        walked = nodes.back_from(tx, threads.head(tx, row["id"]), 100_000)
        if not walked or walked[-1].prev is not None:
            yield f"the history of {row['id']} is broken"
        for node in walked:
            if not chain.is_sound(node):
                yield f"node {node.hash} is damaged"
        spoken = Counter((said.turn, said.id) for said in map(chain.read, walked) if isinstance(said, chain.Spoken))
        for (turn, message), times in spoken.items():
            if times > 1:
                yield f"{message} stands {times} times in turn {turn} of the history"


def _json(text: str) -> list[dict[str, str]]:
    import msgspec

    return msgspec.json.decode(text, type=list[dict[str, object]])  # type: ignore[return-value]
