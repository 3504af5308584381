"""Checks that every message reached the agent of its thread unchanged, or that somebody was told why not."""

from __future__ import annotations

from collections.abc import Iterator

from clew.store import Tx, audit
from clew.texts import chat_messages, limit_messages
from tests.simulation.answers import is_request
from tests.simulation.world import World


def heard_by_the_agent(world: World, tx: Tx) -> Iterator[str]:
    """1. A message accepted for the agent reached its thread's agent, or waits, or its turn ended before the agent
    started, which is delivered like any end."""
    heard = _heard(world, tx)
    texts = {act.id: act.words for act in world.acts} | {letter.id: letter.text for letter in world.platform.letters}
    waiting = audit.not_given_to_agents(tx)
    for message, thread in audit.messages_for_agents(tx):
        text = texts.get(message)
        if text in chat_messages.CONTINUE or limit_messages.named_agent(text) is not None:
            continue  # about the work, not part of it
        if (thread, message) not in heard and message not in waiting:
            yield f"{message} was taken, and no agent of {thread} ever heard it"
        for other in heard.get((thread, message), ()):
            if text and is_request(text) and not _is_it(text, other):
                yield f"{message} said {text!r}, and the agent heard {other!r}"


def repeated_with_the_work(world: World, tx: Tx) -> Iterator[str]:
    """3. Cut-off work continues with all its messages, or somebody is asked."""
    for message, turn in audit.cut_and_forgotten(tx):
        yield f"{message} was said into turn {turn}, which was cut off, and nobody goes on with it"
    for turn, message in audit.not_repeated(tx):
        yield f"turn {turn} goes on without {message}"


def _heard(world: World, tx: Tx) -> dict[tuple[str, str], set[str]]:
    """Return all messages to agents, by thread and message."""
    threads = audit.thread_of_turns(tx)
    found: dict[tuple[str, str], set[str]] = {}
    for turn, said in world.heard():
        found.setdefault((threads[turn], said.id), set()).add(said.text)
    return found


def _is_it(said: str, heard: str) -> bool:
    """Whether the texts match; in a chat a leading command is for clew and not for the agent."""
    return heard in ((said, said.partition(" ")[2]) if said.startswith("/") else (said,))
