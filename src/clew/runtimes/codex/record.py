"""Finds one of our turns in Codex's own record, by the id that we sent with it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable

from msgspec.structs import replace

from clew.model.events import Activity, Phase
from clew.model.runtime import RecordState, TurnRecord
from clew.runtimes.codex import wire
from clew.runtimes.codex.items import NO_ANSWER, SILENT, activity
from clew.runtimes.codex.problems import no_answer_to_turn, problem
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.translate import final_text
from clew.runtimes.codex.turn.sub_agents import Below, Spawned, spawned
from clew.runtimes.jsonrpc import METHOD_NOT_FOUND, RpcError
from clew.support.text import LONGEST

log = logging.getLogger(__name__)

PAGE = 20
ATTEMPTS, PAUSE = 100, 0.05  # to read a turn that is just starting, and seconds between them
_STATES = {
    "completed": RecordState.COMPLETED,
    "failed": RecordState.FAILED,
    wire.RUNNING: RecordState.ALIVE,
}


async def find(connection: Connection, thread: str, turn: str) -> wire.Turn | None:
    """Return Codex's record of our turn; None: Codex does not know it."""
    for _ in range(ATTEMPTS):
        newest: wire.Turn | None = None
        async for found in turns(connection, thread):
            newest = newest or found
            if turn in messages(found):
                return found
        if newest is None or not is_starting(newest):
            return None
        await connection.pause(PAUSE)
    return None


async def has_turns(connection: Connection, thread: str) -> bool:
    async for _ in turns(connection, thread):
        return True
    return False


def is_starting(turn: wire.Turn) -> bool:
    """Whether the turn runs without its first message yet: then it may be the one we look for."""
    return turn.status == wire.RUNNING and not messages(turn)


def messages(turn: wire.Turn) -> frozenset[str]:
    """Return our ids of the people's messages in the turn."""
    items = map(wire.read_item, turn.items)
    return frozenset(item.client_id for item in items if item.type == "userMessage" and item.client_id)


def as_record(turn: wire.Turn, longest_text: int = LONGEST, workspace: str = "") -> TurnRecord:
    """Convert to a TurnRecord. An interrupted turn is `cut`: only our own rows know whether a person stopped it."""
    items = [wire.read_item(raw) for raw in turn.items]
    state, text = _STATES.get(turn.status, RecordState.CUT), final_text(items, longest_text)
    why = problem(turn.error) if state is RecordState.FAILED else None
    if state is RecordState.COMPLETED and not text and all(item.type in NO_ANSWER for item in items):
        state, why = RecordState.FAILED, no_answer_to_turn()
    return TurnRecord(
        state=state,
        runtime_turn=turn.id,
        text=text,
        problem=why,
        activities=tuple(activity(item, Phase.DONE, workspace) for item in _acts(turn)),
        messages=messages(turn),
    )


async def below(connection: Connection, turn: wire.Turn) -> list[Below]:
    """The sub-agents of a turn, each after the one that began it."""
    found: list[Below] = []
    left: list[tuple[Spawned, str | None]] = [(agent, None) for agent in _spawned(turn)]
    while left:
        agent, caller = left.pop(0)
        if any(agent.thread == each.agent.thread for each in found):
            continue
        worked = await _turns_below(connection, agent.thread, turn.id)
        found.append(Below(agent, caller, tuple(worked)))
        left += [(next_one, agent.thread) for each in worked for next_one in _spawned(each)]
    return found


def acts_below(found: Iterable[Below], workspace: str = "") -> list[Activity]:
    """What sub-agents did, each under the item that began it."""
    return [
        replace(activity(item, Phase.DONE, workspace), parent=each.agent.item)
        for each in found
        for turn in each.turns
        for item in _acts(turn)
    ]


def _spawned(turn: wire.Turn) -> list[Spawned]:
    return [each for item in map(wire.read_item, turn.items) for each in spawned(item)]


async def _turns_below(connection: Connection, thread: str, root: str) -> list[wire.Turn]:
    """The turns of a sub-agent that belong to this turn, oldest first."""
    try:
        below = [each async for each in turns(connection, thread) if each.root_turn_id == root]
    except RpcError as error:
        log.info("Codex does not tell what a sub-agent did: %s", error.message)
        return []
    return below[::-1]


def _acts(turn: wire.Turn) -> list[wire.Item]:
    return [item for item in map(wire.read_item, turn.items) if item.type not in SILENT]


async def turns(connection: Connection, thread: str) -> AsyncIterator[wire.Turn]:
    """Yield the turns of a thread, newest first."""
    cursor: str | None = None
    while True:
        page = await _page(connection, thread, cursor)
        for turn in page.data:
            yield turn
        if (cursor := page.next_cursor) is None:
            return


async def _page(connection: Connection, thread: str, cursor: str | None) -> wire.TurnPage:
    params = {"threadId": thread, "limit": PAGE, "sortDirection": "desc", "itemsView": "full", "cursor": cursor}
    try:
        return await connection.ask("thread/turns/list", params, wire.TurnPage)
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND or "not materialized" in error.message:
            return wire.TurnPage()  # the thread has no turn yet
        raise
