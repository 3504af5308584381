"""What people want of a turn that runs: that it stops, or hears more. Rows say what; a nudge only says when to look."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from clew.engine.core import Core
from clew.engine.turns.completion import requeue_steer
from clew.engine.turns.consumer import TurnConsumer
from clew.model.runtime import Session
from clew.model.turns import Steer, SteerState, Turn
from clew.store import Tx
from clew.store.tables import inbox, turns
from clew.support import crash
from clew.support.errors import RuntimeTrouble

STEER_TIMEOUT = 30.0
_log = logging.getLogger(__name__)


class Signals:
    """Wakes those who listen for people while a turn runs. Given once at the start, for what came before."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.steer = asyncio.Event()
        self.answer = asyncio.Event()
        self._by_kind = {
            "turn.stop_asked": self.stop,
            "steer.offered": self.steer,
            "gate.answered": self.answer,
            "gate.expired": self.answer,
        }
        self.give()

    def hears(self, kind: str) -> None:
        """Of what was logged: only who it is for looks at the rows."""
        self._by_kind[kind].set()

    def give(self) -> None:
        self.stop.set()
        self.steer.set()
        self.answer.set()


async def hear_stop(core: Core, work: TurnConsumer, nudged: asyncio.Event) -> None:
    """A person's stop, once the turn has begun: before that no runtime could hear it."""
    while True:
        await nudged.wait()
        nudged.clear()
        try:
            if work.started.is_set() and await is_stopping(core, work.turn):
                work.hurry()
                crash.point("stop.asked-not-sent")
                await interrupt(work.session)
                return
        except Exception:  # a stop must not be lost: it is tried again
            _log.exception("turn %s cannot be stopped now", work.turn.id)
            await core.clock.sleep(1.0)
            nudged.set()


async def hear_steers(core: Core, work: TurnConsumer, nudged: asyncio.Event) -> None:
    """What people say meanwhile, in order."""
    while True:
        await nudged.wait()
        nudged.clear()
        try:
            if work.started.is_set():
                await _offer(core, work)
        except Exception:  # what was offered is settled at the turn's end at the latest
            _log.exception("turn %s cannot be steered now", work.turn.id)


async def _offer(core: Core, work: TurnConsumer) -> None:
    for steer in await core.read_with_retry(lambda tx: inbox.open_steers(tx, work.turn.id)):
        if steer.state is SteerState.OFFERED:
            crash.point("steer.offered-not-sent")
            taken = await _taken(work.session, steer)
            crash.point("steer.sent-not-recorded")
            await core.write_with_retry(partial(_steered, core=core, steer=steer, taken=taken))


def _steered(tx: Tx, core: Core, steer: Steer, taken: bool) -> None:
    if not taken:
        requeue_steer(tx, core, steer)
    elif inbox.move_steer(tx, steer, SteerState.SENT):
        tx.log(steer.thread, steer.turn, "steer.sent", core.clock.now(), message=steer.message.id)


async def is_stopping(core: Core, turn: Turn) -> bool:
    return await core.read_with_retry(lambda tx: turns.is_stopping(tx, turn.id))


async def _taken(session: Session, steer: Steer) -> bool:
    """Whether the runtime took it. In doubt it counts as taken, and the record decides at the turn's end."""
    try:
        async with asyncio.timeout(STEER_TIMEOUT):
            return await session.steer(steer.message)
    except (RuntimeTrouble, TimeoutError) as trouble:
        _log.warning("a steer is in doubt: %s", trouble)
        return True


async def interrupt(session: Session) -> None:
    try:
        await session.interrupt()
    except RuntimeTrouble as trouble:
        _log.warning("interrupt failed: %s", trouble.message)
