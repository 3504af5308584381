"""Runs a turn on its runtime: consumes its events, passes on stops, steers and answers, and records its end. It never
decides what a lost connection means; recovery does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.artifacts import FOLDER, NOTHING_MADE, Artifacts, gather
from clew.engine.delivery.enqueue import answer_target
from clew.engine.delivery.placeholder import show
from clew.engine.gates.dispatch import send_answers
from clew.engine.progress import may_have_acted
from clew.engine.seams import Preparer, prepare
from clew.engine.turns.completion import End, end_turn
from clew.engine.turns.consumer import RuntimeSilent, TurnConsumer
from clew.engine.turns.images import has_unseen_images, tell_unseen_images
from clew.engine.turns.sessions import Sessions
from clew.engine.turns.signals import Signals, interrupt, is_stopping, watch_steers, watch_stop
from clew.model.events import Event, TurnEnded
from clew.model.runtime import RecordState, Session, TurnRecord, TurnRequest
from clew.model.threads import Thread
from clew.model.turns import Item, Problem, Turn, TurnState
from clew.store import Tx
from clew.store.tables import continuity, items, threads
from clew.support import crash
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts import chat_messages
from clew.texts.catalogue import say

_log = logging.getLogger(__name__)


class Unfinished(Struct, frozen=True):
    """Why it is not known how a turn ended."""

    reason: str
    was_sent: bool = True  # its runtime may have got it


class Runner:
    """Runs claimed turns. `preparers` may add to the request of a turn before its runtime gets it."""

    def __init__(self, core: Core, sessions: Sessions, preparers: Sequence[Preparer] = ()) -> None:
        self._core = core
        self._sessions = sessions
        self._preparers = tuple(preparers)
        self._signals: dict[str, Signals] = {}
        self._consumers: dict[str, TurnConsumer] = {}
        self.changed = asyncio.Event()  # a turn started, ended or reached a gate

    def signal(self, turn: str | None, kind: str) -> None:
        """Wake the watcher of a running turn for a kind of log entry: a stop, a steer or an answer."""
        if turn in self._signals:
            self._signals[turn].set(kind)

    def is_at_gate(self, turn: str) -> bool:
        """Whether the turn waits for the answer to a gate."""
        return turn in self._consumers and self._consumers[turn].is_at_gate

    def outlives(self, turn: str) -> bool:
        """Whether its runtime works on after this daemon ends. A shared session does not: it is closed for others."""
        work = self._consumers.get(turn)
        if work is None or self._sessions.is_shared(work.turn.session):
            return False
        runtime = self._core.runtimes.get(work.turn.runtime)
        return runtime is not None and runtime.can.outlives

    async def run(self, turn: Turn) -> Unfinished | None:
        """Run a claimed turn to its end. Returns why it is not known to have ended."""
        crash.point("turn.claimed-not-sent")
        thread = await self._thread(turn)
        try:
            session, request = await self._opened(thread, turn)
        except RuntimeLost as lost:
            _log.warning("turn %s could not be given to its runtime: %s", turn.id, lost.message)
            await self._sessions.drop(turn.session)
            return Unfinished(lost.words, was_sent=False)
        except RuntimeTrouble as trouble:
            await self._core.write_with_retry(partial(self._fail, turn=turn, trouble=trouble))
            return None
        await self._sessions.record_policy(thread, turn)
        await self._tell_unseen_images(turn)
        signals, mode = Signals(), self._sessions.attach_mode(turn.session, is_known=True)
        work = TurnConsumer(self._core, turn, thread, session, signals.set_all, signals.answer.set, mode)
        reason = await self._follow(work, signals, session.run(request))
        return Unfinished(reason) if reason is not None else None

    async def _opened(self, thread: Thread, turn: Turn) -> tuple[Session, TurnRequest]:
        """The session, and the request for it. It is opened first: what it must be told depends on how it began."""
        session = await self._sessions.open(thread, turn.session, for_turn=True)
        try:
            return session, await prepare(self._preparers, thread, turn)
        except BaseException:
            await self._sessions.release(turn.session)
            raise

    async def _tell_unseen_images(self, turn: Turn) -> None:
        """Only now, with an open session, is it known whether its runtime takes images."""
        said, where = turn.request, turn.conversation
        if turn.continues is None and has_unseen_images(self._core, turn, said):
            await self._core.write_with_retry(lambda tx: tell_unseen_images(tx, self._core, turn, said, where))

    async def reattach(self, turn: Turn, session: Session) -> str | None:
        """Follow a turn that its runtime still works on. Returns the reason if the connection was lost again."""
        so_far = await self._core.read_with_retry(lambda tx: items.of_turn(tx, turn.id))
        signals, thread = Signals(), await self._thread(turn)
        work = TurnConsumer(self._core, turn, thread, session, signals.set_all, signals.answer.set, so_far=so_far)
        work.started.set()
        return await self._follow(work, signals, session.attach(turn.sent_as))

    async def end(self, turn: Turn, end: End) -> None:
        complete = replace(end, made=await self._artifacts_or_none(turn, end))
        await self._core.write_with_retry(lambda tx: end_turn(tx, self._core, turn, complete))

    async def _artifacts_or_none(self, turn: Turn, end: End) -> Artifacts:
        """A problem with files must not hold up the answer."""
        try:
            return await self._artifacts(turn, end)
        except Exception:
            _log.exception("the files of turn %s could not be collected", turn.id)
            return NOTHING_MADE

    async def _artifacts(self, turn: Turn, end: End) -> Artifacts:
        """Copies of the files that the answer links to, if they can be sent where the answer goes."""
        thread = await self._thread(turn)
        where = await self._core.read_with_retry(lambda tx: answer_target(tx, self._core, thread, turn))
        largest, files = self._core.max_file_size(where), self._core.files
        if files is None or not largest or not (end.text or end.images):
            return NOTHING_MADE
        folder = files / f"{FOLDER}{turn.id}"
        return await asyncio.to_thread(gather, end.text, end.images, Path(thread.workspace), folder, largest)

    def _fail(self, tx: Tx, turn: Turn, trouble: RuntimeTrouble) -> None:
        continuity.record_failure(tx, turn.session, trouble.words, self._core.clock.now())
        end_turn(tx, self._core, turn, End(TurnState.FAILED, problem=_problem(trouble)))

    async def _thread(self, turn: Turn) -> Thread:
        thread = await self._core.read_with_retry(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        return thread

    async def _follow(self, work: TurnConsumer, signals: Signals, events: AsyncIterator[Event]) -> str | None:
        """Follow a turn to its end. Returns the reason if its outcome is unknown."""
        self._signals[work.turn.id] = signals
        self._consumers[work.turn.id] = work
        self.changed.set()
        beside = (
            watch_stop(self._core, work, signals.stop),
            watch_steers(self._core, work, signals.steer),
            send_answers(self._core, work.turn.id, work.session, work.asked, signals.answer),
            work.keep_writing(),
        )
        control = [asyncio.create_task(task) for task in beside]
        try:
            ended = await self._consume(work, events)
        except RuntimeSilent:
            await self._give_up(work)
        except RuntimeLost as lost:
            await self._sessions.drop(work.turn.session)
            return lost.words
        except RuntimeTrouble as trouble:
            await self.end(work.turn, work.end(TurnEnded(TurnState.FAILED, problem=_problem(trouble))))
        else:
            return await self._ended(work, ended)
        finally:
            for task in control:
                task.cancel()
            del self._signals[work.turn.id], self._consumers[work.turn.id]
            self._core.live.turn_over(work.thread.id)
            await self._sessions.release(work.turn.session)
        return None

    async def _consume(self, work: TurnConsumer, events: AsyncIterator[Event]) -> TurnEnded:
        """Consume the events and keep the placeholder up to date until the end; then it may become the answer."""
        shown = asyncio.create_task(show(self._core, work.turn, lambda: work.progress, work.partial, work.changed))
        try:
            return await work.consume(events)
        finally:
            shown.cancel()
            await asyncio.wait((shown,))  # no edit may arrive after the answer

    async def _ended(self, work: TurnConsumer, ended: TurnEnded) -> str | None:
        crash.point("turn.ended-not-owed")
        if ended.state is TurnState.INTERRUPTED and not await is_stopping(self._core, work.turn):
            return say("turns.interrupted_by_runtime")
        await self.end(work.turn, work.end(ended))
        await self._sessions.save_continuity(work.turn.session, work.session)
        return None

    async def _give_up(self, work: TurnConsumer) -> None:
        """Interrupt a silent runtime, then read its record: the turn may have completed after all."""
        await interrupt(work.session)
        record = await _record_or_none(work.session, work.turn.sent_as)
        await self._sessions.drop(work.turn.session)
        if record is not None and record.state is RecordState.COMPLETED:
            await self.end(work.turn, end_of_record(self._core, record))
            return
        heard = record.messages if record is not None else frozenset()
        if work.stop_expected:
            ended = TurnEnded(TurnState.INTERRUPTED, messages=heard)
        else:
            problem = chat_messages.silence(self._core.config.turns.silence)
            ended = TurnEnded(TurnState.FAILED, problem=problem, messages=heard)
        await self.end(work.turn, replace(work.end(ended), has_acted=not _proves_idle(record)))


def end_of_record(core: Core, record: TurnRecord) -> End:
    """The end of a turn according to its runtime's record."""
    state = TurnState.COMPLETED if record.state is RecordState.COMPLETED else TurnState.FAILED
    images = tuple(done.image for done in record.activities if done.image is not None)
    text, acted = core.storable(record.text), may_have_acted(_done(record))
    return End(state, text, record.problem, record.usage, record.messages, images=images, has_acted=acted)


def _done(record: TurnRecord) -> list[Item]:
    return [Item(each.item, each.kind, each.phase, outcome=each.outcome) for each in record.activities]


def _proves_idle(record: TurnRecord | None) -> bool:
    """Whether a silent turn is over and has done nothing, by its runtime's own record. Else another agent must not take
    it by itself: this one may still work."""
    if record is None or record.state is RecordState.ALIVE:
        return False
    return not may_have_acted(_done(record))


async def _record_or_none(session: Session, turn: str) -> TurnRecord | None:
    try:
        return await session.record(turn)
    except RuntimeTrouble:
        return None


def _problem(trouble: RuntimeTrouble) -> Problem:
    return Problem.of(trouble.code, trouble.words, trouble.unable)
