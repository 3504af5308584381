"""What people said, followed to the agent: it heard all of it, as it was said, or somebody knows why it did not."""

from __future__ import annotations

from collections.abc import Iterator

from clew.engine import words
from clew.simulation.answers import is_request
from clew.simulation.world import World
from clew.store import Tx, audit


def heard_by_the_agent(world: World, tx: Tx) -> Iterator[str]:
    """1. What was taken for the agent was given to one; or it waits; or its turn ended before there was an agent, and
    that is owed as any end is."""
    heard = {said.id: said.text for said in world.ledger.heard()}
    texts = {letter.id: letter.text for letter in world.platform.letters}
    waiting = audit.never_given(tx)
    for message, fate in audit.for_the_agent(tx):
        text = texts.get(message)  # none where it came from the desk
        if text in words.CONTINUE:
            continue  # about the work, and no part of it
        if message not in heard and message not in waiting:
            yield f"{message} ({fate}) was taken, and no agent ever heard it"
        elif text and is_request(text) and not _is_it(text, heard.get(message, text)):
            yield f"{message} said {text!r}, and the agent heard {heard[message]!r}"


def _is_it(said: str, heard: str) -> bool:
    """A command before it is clew's, and stays here."""
    return bool(heard) and said.endswith(heard)
