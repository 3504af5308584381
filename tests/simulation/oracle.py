"""Checks the promises after a story. Returns the broken ones as texts; an empty list is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clew.model import history
from clew.model.handoff import HandoffState
from clew.model.messages import Fate
from clew.store import Tx, audit
from clew.store.tables import handoffs, inbox, nodes, threads
from clew.texts import chat_messages
from tests.simulation.answer_oracle import read_by_people
from tests.simulation.budget_oracle import adds_up, within_budgets
from tests.simulation.fake_platform import GONE
from tests.simulation.gate_oracle import asked_and_answered
from tests.simulation.limit_oracle import one_asks
from tests.simulation.switch_oracle import told_once
from tests.simulation.word_oracle import heard_by_the_agent, repeated_with_the_work
from tests.simulation.world import World

MARKS = [text for mark in (chat_messages.POSSIBLE_REPEAT, chat_messages.RECOVERED) for text in (str(mark), mark.zh)]


def judge(world: World) -> list[str]:
    tx = Tx(world.connection)
    checks = (
        _never_silent,
        _accepted_once,
        heard_by_the_agent,
        repeated_with_the_work,
        _nothing_stuck,
        _waits_end,
        _owed_with_the_end,
        _delivered_once,
        read_by_people,
        asked_and_answered,
        _ran_once,
        _handed,
        _history,
        told_once,
        adds_up,
        within_budgets,
        one_asks,
    )
    return [f"seed {world.seed}: {broken}" for check in checks for broken in check(world, tx)]


def _never_silent(world: World, tx: Tx) -> Iterator[str]:
    """1. Every message has exactly one fate, and the counts add up."""
    if (counted := inbox.fates(tx)) != (rows := inbox.count_rows(tx)):
        yield f"the counters say {counted}, the rows {rows}"
    yield from (f"{act.id} ({act.kind}) was never answered" for act in world.acts if not act.done)
    for letter in world.platform.letters:
        if letter.copies > 0:
            yield f"{letter.id} was never acknowledged"
        if len(found := audit.fates_of(tx, letter.id)) != 1:
            yield f"{letter.id} has the fates {found}"


def _accepted_once(world: World, tx: Tx) -> Iterator[str]:
    """2. A message is in one request, steered into one turn, or an answer; only a continuation repeats it."""
    asked = audit.times_asked(tx)
    for message, fate in audit.all_fates(tx):
        if fate in (Fate.ANSWER, Fate.REFUSED):
            continue
        if asked[message] > 1 or (fate == Fate.STEER and asked[message]):
            yield f"{message} ({fate}) is in {asked[message]} turns"


def _nothing_stuck(world: World, tx: Tx) -> Iterator[str]:
    """7. It settles: then nothing runs, nothing waits in a queue without a hold, and nothing is half sent. A delivery
    to a room that is gone is marked as refused."""
    if not world.rested:
        yield "it never comes to rest"
    yield from world.fallen
    yield from (left for left in audit.unfinished(tx) if f"is failed ({GONE})" not in left)
    yield from (f"turn {turn} was begun in a thread that waits for a word" for turn in audit.begun_while_suspended(tx))
    yield from (f"{thread} asks about messages that wait, and none does" for thread in audit.suspended_for_nothing(tx))


def _waits_end(world: World, tx: Tx) -> Iterator[str]:
    """14. When it has settled no thread waits for a time, and who waits for a person says why."""
    for thread, wake_at, why in audit.parked(tx):
        if wake_at is not None:
            yield f"{thread} was not woken"
        elif not why:
            yield f"{thread} waits, and does not say for what"


def _owed_with_the_end(world: World, tx: Tx) -> Iterator[str]:
    """4. Every ended turn has its delivery row."""
    for turn in audit.ended_without_delivery(tx):
        yield f"turn {turn} ended and nothing is owed for it"


def _delivered_once(world: World, tx: Tx) -> Iterator[str]:
    """5. A sent delivery is there once; a second copy exists only if the platform cannot prevent it, and it is
    marked."""
    shown: dict[str, list[str]] = {}
    for post in world.platform.posts:
        for key, showing in post.told.items():
            shown.setdefault(key, []).append(showing.note)
    known = {post.id for post in world.platform.posts}
    for copy, message in audit.copies(tx):
        if message not in known:
            yield f"{copy} is a copy of what was never sent"
    for delivery in audit.sent(tx):
        notes = shown.get(delivery, [])
        unmarked = [note for note in notes if not any(mark in note for mark in MARKS)]
        if not notes:
            yield f"{delivery} counts as sent and is not there"
        if len(unmarked) > 1:
            yield f"{delivery} is there {len(unmarked)} times without a mark"
        if len(notes) > 1 and world.platform.kind in ("keyed", "readable"):
            yield f"{delivery} is there {len(notes)} times on a {world.platform.kind} platform"


def _ran_once(world: World, tx: Tx) -> Iterator[str]:
    """3. A turn with a record in a runtime is never started there again, unless it is tried anew under another id: it
    has not acted then, on no runtime."""
    acted = Counter[str]()
    for ledger in world.ledgers.values():
        for (_, attempt), times in ledger.tries.items():
            if times > 1:
                yield f"turn {attempt} was begun {times} times"
        acted.update(ledger.acted)
    for turn, runtimes in acted.items():
        if runtimes > 1:
            yield f"turn {turn} has acted on {runtimes} runtimes"


def _handed(world: World, tx: Tx) -> Iterator[str]:
    """Every handoff ends, with a reason if it failed; messages at its target go to the same thread."""
    for row in handoffs.newest(tx, 10_000):
        if row.ended_at is None:
            yield f"handoff {row.id} is {row.state} for ever"
        if row.state is HandoffState.FAILED and not row.error:
            yield f"handoff {row.id} failed, and nobody knows why"
        if row.state is not HandoffState.COMPLETED or row.opened is None:
            continue
        for said in audit.threads_of(tx, row.opened, row.ended_at or 0):
            if row.opened.address in world.platform.topics and said != row.thread:
                yield f"what was said where {row.thread} was handed to went to {said}"
    for thread in audit.with_two_drivers(tx):
        yield f"{thread} has two drivers"


def _history(world: World, tx: Tx) -> Iterator[str]:
    """11. History is complete, and has each message once per turn that got it."""
    for name in threads.ids(tx, "", 100_000):
        walked = nodes.back_from(tx, threads.head(tx, name), 100_000)
        if not walked or walked[-1].prev is not None:
            yield f"the history of {name} is broken"
        yield from (f"node {node.hash} is damaged" for node in walked if not history.is_sound(node))
        spoken = Counter((said.turn, said.id) for said in map(history.read, walked) if isinstance(said, history.Spoken))
        yield from (f"{key} stands {times} times in the history" for key, times in spoken.items() if times > 1)
