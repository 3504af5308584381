"""The life of one turn on its runtime: what it says is stored or shown, what people send meanwhile reaches it, and how
it ended is written down. It never decides what a lost connection means: that is asked in recovery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.artifacts import FOLDER, NOTHING_MADE, Artifacts, gather
from clew.engine.delivery.enqueue import answer_target
from clew.engine.delivery.placeholder import show
from clew.engine.gates.dispatch import send_answers
from clew.engine.turns.completion import End, end_turn
from clew.engine.turns.consumer import RuntimeSilent, TurnConsumer
from clew.engine.turns.sessions import Sessions
from clew.engine.turns.signals import Signals, hear_steers, hear_stop, interrupt, is_stopping
from clew.model.events import Event, TurnEnded
from clew.model.runtime import RecordState, Session, TurnRecord, TurnRequest
from clew.model.threads import Thread
from clew.model.turns import Problem, Turn, TurnState
from clew.store import Tx
from clew.store.tables import bindings, items, threads
from clew.support import crash
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts import messages

_log = logging.getLogger(__name__)


class Runner:
    """Runs the turns that were claimed. Recovery answers what it cannot know: `doubt`, where the outcome of a turn is
    unknown, and `unsent`, where it was never given to its runtime."""

    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._nudges: dict[str, Signals] = {}
        self._works: dict[str, TurnConsumer] = {}
        self.doubt: Callable[[Turn, str], Awaitable[None]]
        self.unsent: Callable[[Turn], Awaitable[None]]
        self.on_following: Callable[[], None] = lambda: None

    def nudge(self, turn: str | None, kind: str) -> None:
        """Somebody steered it or wants it stopped: its row says which."""
        if turn in self._nudges:
            self._nudges[turn].hears(kind)

    def waits(self, turn: str) -> bool:
        """Whether it stands at a gate."""
        return turn in self._works and self._works[turn].stands

    def outlives(self, turn: str) -> bool:
        """Whether its runtime works on when the daemon is gone. What is lent ends with us: only that frees it."""
        work = self._works.get(turn)
        if work is None or self._sessions.is_lent(work.thread.id):
            return False
        runtime = self._core.runtimes.get(work.thread.runtime)
        return runtime is not None and runtime.can.outlives

    async def run(self, turn: Turn) -> None:
        """From a fresh claim to its end."""
        crash.point("turn.claimed-not-sent")
        thread = await self._thread(turn)
        try:
            session = await self._sessions.open(thread)
        except RuntimeLost as lost:
            _log.warning("turn %s could not be given to its runtime: %s", turn.id, lost.message)
            await self._sessions.drop(thread.id)
            await self.unsent(turn)
            return
        except RuntimeTrouble as trouble:
            await self._core.write_with_retry(partial(self._could_not, turn=turn, thread=thread, trouble=trouble))
            return
        work = TurnConsumer(self._core, turn, thread, session, self._sessions.came(thread.id, is_known=True))
        reason = await self._follow(work, session.run(TurnRequest(turn.id, turn.request)))
        if reason is not None:
            await self.doubt(turn, reason)

    async def reattach(self, turn: Turn, session: Session) -> str | None:
        """A turn that its runtime still works on. Returns why it was lost again, if it was."""
        so_far = await self._core.read_with_retry(lambda tx: items.of_turn(tx, turn.id))
        work = TurnConsumer(self._core, turn, await self._thread(turn), session, so_far=so_far)
        work.started.set()
        return await self._follow(work, session.attach(turn.id))

    async def end(self, turn: Turn, end: End) -> None:
        whole = replace(end, made=await self._made_or_nothing(turn, end))
        await self._core.write_with_retry(lambda tx: end_turn(tx, self._core, turn, whole))

    async def _made_or_nothing(self, turn: Turn, end: End) -> Artifacts:
        """Whatever is wrong with files, the answer comes."""
        try:
            return await self._made(turn, end)
        except Exception:
            _log.exception("what turn %s made could not be looked at", turn.id)
            return NOTHING_MADE

    async def _made(self, turn: Turn, end: End) -> Artifacts:
        """The files that its answer names, where they can be brought along."""
        thread = await self._thread(turn)
        where = await self._core.read_with_retry(lambda tx: answer_target(tx, self._core, thread, turn))
        largest, files = self._core.takes_files(where), self._core.files
        if files is None or not largest or not (end.text or end.images):
            return NOTHING_MADE
        folder = files / f"{FOLDER}{turn.id}"
        return await asyncio.to_thread(gather, end.text, end.images, Path(thread.workspace), folder, largest)

    def _could_not(self, tx: Tx, turn: Turn, thread: Thread, trouble: RuntimeTrouble) -> None:
        bindings.record_failure(tx, thread.id, thread.runtime, trouble.message, self._core.clock.now())
        end_turn(tx, self._core, turn, End(TurnState.FAILED, problem=_problem(trouble)))

    async def _thread(self, turn: Turn) -> Thread:
        thread = await self._core.read_with_retry(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        return thread

    async def _follow(self, work: TurnConsumer, events: AsyncIterator[Event]) -> str | None:
        """To its end; or until its outcome is in doubt, and then why."""
        nudges = self._nudges[work.turn.id] = Signals()
        self._works[work.turn.id] = work
        self.on_following()
        work.on_started, work.on_asked = nudges.give, nudges.answer.set
        beside = (
            hear_stop(self._core, work, nudges.stop),
            hear_steers(self._core, work, nudges.steer),
            send_answers(self._core, work.turn.id, work.session, work.asked, nudges.answer),
            work.keep_writing(),
        )
        control = [asyncio.create_task(task) for task in beside]
        try:
            ended = await self._consume(work, events)
        except RuntimeSilent:
            await self._give_up(work)
        except RuntimeLost as lost:
            await self._sessions.drop(work.thread.id)
            return lost.message
        except RuntimeTrouble as trouble:
            await self.end(work.turn, work.end(TurnEnded(TurnState.FAILED, problem=_problem(trouble))))
        else:
            return await self._ended(work, ended)
        finally:
            for task in control:
                task.cancel()
            del self._nudges[work.turn.id], self._works[work.turn.id]
            self._core.live.turn_over(work.thread.id)
            await self._sessions.release(work.thread.id)
        return None

    async def _consume(self, work: TurnConsumer, events: AsyncIterator[Event]) -> TurnEnded:
        """And show it for so long: once it is over the placeholder may become the answer."""
        shown = asyncio.create_task(show(self._core, work.turn, lambda: work.progress, work.partial, work.moved))
        try:
            return await work.consume(events)
        finally:
            shown.cancel()
            await asyncio.wait((shown,))  # an edit that is on its way must not come after what follows

    async def _ended(self, work: TurnConsumer, ended: TurnEnded) -> str | None:
        crash.point("turn.ended-not-owed")
        if ended.state is TurnState.INTERRUPTED and not await is_stopping(self._core, work.turn):
            return "the runtime interrupted it, and nobody here had asked for that"
        await self.end(work.turn, work.end(ended))
        await self._sessions.keep(work.thread, work.session)
        return None

    async def _give_up(self, work: TurnConsumer) -> None:
        """Ask it to end, then ask its record: it may have finished after all."""
        await interrupt(work.session)
        record = await _quietly(work.session, work.turn.id)
        await self._sessions.drop(work.thread.id)
        if record is not None and record.state is RecordState.COMPLETED:
            await self.end(work.turn, of_record(self._core, record))
            return
        heard = record.messages if record is not None else frozenset()
        if work.hurried:
            ended = TurnEnded(TurnState.INTERRUPTED, messages=heard)
        else:
            problem = messages.silence(self._core.config.turns.silence)
            ended = TurnEnded(TurnState.FAILED, problem=problem, messages=heard)
        await self.end(work.turn, work.end(ended))


def of_record(core: Core, record: TurnRecord) -> End:
    """The end of a turn as its runtime's record tells it."""
    state = TurnState.COMPLETED if record.state is RecordState.COMPLETED else TurnState.FAILED
    images = tuple(done.image for done in record.activities if done.image is not None)
    return End(state, core.storable(record.text), record.problem, record.usage, record.messages, images=images)


async def _quietly(session: Session, turn: str) -> TurnRecord | None:
    try:
        return await session.record(turn)
    except RuntimeTrouble:
        return None


def _problem(trouble: RuntimeTrouble) -> Problem:
    return Problem(trouble.code, trouble.message)
