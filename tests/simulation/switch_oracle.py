"""Checks what the agents of a thread know of each other: every turn was told everything that its session did not know,
once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from clew.model import history
from clew.model.messages import CLEW
from clew.model.turns import without_refusals
from clew.store import Tx
from clew.store.tables import nodes, threads
from clew.testing.scripted_runtime.ledger import Played
from clew.testing.scripted_runtime.session import told
from tests.simulation.world import World

UNIQUE = re.compile(r"^(please \d+|errand \w+)$")  # requests that nobody says twice
_ANSWERS = re.compile(r"answered:\n> (answer to[^\n]*)\n")


def told_once(world: World, tx: Tx) -> Iterator[str]:
    """12. No message of the thread is missing from what a session knows, and none was told it twice. A session may have
    kept nothing of a turn that another agent took over."""
    for name in threads.ids(tx, "", 100_000):
        walked = nodes.back_from(tx, threads.head(tx, name), 100_000)
        past = [history.read(node) for node in reversed(walked)]
        worked = {content.turn: content.runtime for content in past if isinstance(content, history.Outcome)}
        for runtime, ledger in world.ledgers.items():
            entries = ledger.load(f"scripted-{name}")
            kept = [entry for entry in entries if worked.get(without_refusals(entry.turn), runtime) == runtime]
            newest = {without_refusals(entry.turn): entry for entry in kept}  # an earlier try may have left nothing
            played = [entry for entry in newest.values() if not _was_refused(entry)]
            if played:
                yield from _of_session(name, runtime, past, played)


def _was_refused(entry: Played) -> bool:
    """A turn that came to a usage limit before it did anything is sent again, under another id."""
    is_limit = entry.problem is not None and entry.problem.code == "usage_limit"
    return is_limit and not entry.activities


def _of_session(name: str, runtime: str, past: Sequence[history.Content], played: Sequence[Played]) -> Iterator[str]:
    known = _before_its_last_turn(past, {without_refusals(entry.turn) for entry in played})
    ended = {content.turn for content in known if isinstance(content, history.Outcome)}
    heard = Counter(said.text for entry in played for said in (*entry.messages, *entry.steers) if said.author != CLEW)
    quoted = Counter(text for entry in played for text in told(entry.prelude))
    for content in known:
        if isinstance(content, history.Spoken) and UNIQUE.match(content.text) and content.turn in ended:
            if not heard[content.text] + quoted[content.text]:
                yield f"{runtime} was never told in {name}: {content.text}"
            if quoted[content.text] > 1 or (quoted[content.text] and heard[content.text]):
                yield f"{runtime} was told twice in {name}: {content.text}"
    given = Counter(answer for entry in played for answer in _ANSWERS.findall(entry.prelude))
    others = [content for content in known if isinstance(content, history.Outcome) and content.runtime != runtime]
    owed = Counter(
        content.text.partition("\n")[0].rstrip() for content in others if content.state == "completed" and content.text
    )
    for answer, times in owed.items():
        if given[answer] != times:
            yield f"{runtime} was told {given[answer]} of {times} times in {name}: {answer}"


def _before_its_last_turn(past: Sequence[history.Content], turns: set[str]) -> Sequence[history.Content]:
    """What had happened before the request of the newest turn of a session that is in the history."""
    requests = [at for at, each in enumerate(past) if isinstance(each, history.Spoken) and each.turn in turns]
    if not requests:
        return ()
    newest = past[requests[-1]]
    first = next(at for at, each in enumerate(past) if isinstance(each, history.Spoken) and each.turn == _turn(newest))
    return past[:first]


def _turn(content: history.Content) -> str:
    assert isinstance(content, history.Spoken)
    return content.turn
