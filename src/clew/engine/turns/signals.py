"""Brings stop requests and steers to a running turn. The rows say what is wanted; a signal only says when to look."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from clew.engine.core import Core
from clew.engine.turns.completion import requeue_steer
from clew.engine.turns.consumer import TurnConsumer
from clew.model.events.kinds import EventKind
from clew.model.events.logged import SteerSent
from clew.model.runtime import Session
from clew.model.turns import Steer, SteerState, Turn
from clew.store import Tx
from clew.store.tables import inbox, turns
from clew.support import crash
from clew.support.errors import RuntimeTrouble

STEER_TIMEOUT = 30.0
_log = logging.getLogger(__name__)


class Signals:
    """Events that wake the watchers of a running turn. All are set at the start, for requests made before it."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.steer = asyncio.Event()
        self.answer = asyncio.Event()
        self._by_kind: dict[str, asyncio.Event] = {
            EventKind.TURN_STOP_ASKED: self.stop,
            EventKind.STEER_OFFERED: self.steer,
            EventKind.GATE_ANSWERED: self.answer,
            EventKind.GATE_EXPIRED: self.answer,
        }
        self.set_all()

    def set(self, kind: str) -> None:
        """Wake the watcher for a kind of log entry."""
        self._by_kind[kind].set()

    def set_all(self) -> None:
        self.stop.set()
        self.steer.set()
        self.answer.set()


async def watch_stop(core: Core, work: TurnConsumer, signal: asyncio.Event) -> None:
    """Interrupt the runtime when a person stops the turn, but not before the turn has started there."""
    while True:
        await signal.wait()
        signal.clear()
        try:
            if work.started.is_set() and await is_stopping(core, work.turn):
                work.expect_stop()
                crash.point("stop.asked-not-sent")
                await interrupt(work.session)
                return
        except Exception:  # a stop must not be lost: retry
            _log.exception("turn %s cannot be stopped now", work.turn.id)
            await core.clock.sleep(1.0)
            signal.set()


async def watch_steers(core: Core, work: TurnConsumer, signal: asyncio.Event) -> None:
    """Send the messages that people write during the turn to the runtime, in order."""
    while True:
        await signal.wait()
        signal.clear()
        try:
            if work.started.is_set():
                await _send_steers(core, work)
        except Exception:  # open steers are settled at the turn's end at the latest
            _log.exception("turn %s cannot be steered now", work.turn.id)


async def _send_steers(core: Core, work: TurnConsumer) -> None:
    for steer in await core.read_with_retry(lambda tx: inbox.open_steers(tx, work.turn.id)):
        if steer.state is SteerState.OFFERED:
            crash.point("steer.offered-not-sent")
            taken = await _send(work.session, steer)
            crash.point("steer.sent-not-recorded")
            await core.write_with_retry(partial(_record_steer, core=core, steer=steer, taken=taken))


def _record_steer(tx: Tx, core: Core, steer: Steer, taken: bool) -> None:
    if not taken:
        requeue_steer(tx, core, steer)
    elif inbox.move_steer(tx, steer, SteerState.SENT):
        tx.log(steer.thread, steer.turn, core.clock.now(), SteerSent(steer.message.id))


async def is_stopping(core: Core, turn: Turn) -> bool:
    return await core.read_with_retry(lambda tx: turns.is_stopping(tx, turn.id))


async def _send(session: Session, steer: Steer) -> bool:
    """Send a steer; True if the runtime took it. If that is unknown it counts as taken until the turn's end, when the
    record decides."""
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
