"""The life of one turn on its runtime: what it says is stored or shown, what people send meanwhile reaches it, and how
it ended is written down. It never decides what a lost connection means: that is asked in recovery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from clew import crash
from clew.engine import words
from clew.engine.core import Core
from clew.engine.ending import End, end_turn, requeue_steer
from clew.engine.progress import Progress, advance, is_sign_of_life
from clew.engine.sessions import Sessions
from clew.errors import RuntimeLost, RuntimeTrouble, StoreError
from clew.events import Activity, Event, Notice, Phase, TextDelta, TextDone, TurnEnded, TurnStarted
from clew.model import Problem, Steer, SteerState, Thread, Turn, TurnState
from clew.runtimes.base import RecordState, Session, TurnRecord, TurnRequest
from clew.store import Tx, inbox, items, threads, turns
from clew.store.items import Item
from clew.text import clean

FLUSH = 0.25  # seconds between two writes of the text that is being written
STEER_TIMEOUT = 30.0
STOP_PATIENCE = 20.0  # seconds that a runtime has to end a turn that a person stopped
_log = logging.getLogger(__name__)


class Silence(Exception):
    """The runtime gave no sign of life for too long."""


class Runner:
    """Runs the turns that were claimed. `doubt` is recovery's answer to a turn whose outcome is unknown."""

    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._nudges: dict[str, asyncio.Event] = {}
        self.doubt: Callable[[Turn, str], Awaitable[None]]

    def nudge(self, turn: str | None) -> None:
        """Somebody steered it or wants it stopped: its row says which."""
        if turn in self._nudges:
            self._nudges[turn].set()

    async def run(self, turn: Turn) -> None:
        """From a fresh claim to its end."""
        crash.point("turn.claimed-not-sent")
        thread = await self._thread(turn)
        try:
            session = await self._sessions.open(thread)
        except RuntimeTrouble as trouble:
            await self.end(turn, End(TurnState.FAILED, problem=Problem(trouble.code, trouble.message)))
            return
        lost = await self._follow(turn, thread, session, session.run(TurnRequest(turn.id, turn.request)))
        if lost is not None:
            await self.doubt(turn, lost)

    async def reattach(self, turn: Turn, session: Session) -> str | None:
        """A turn that its runtime still works on. Returns why it was lost again, if it was."""
        return await self._follow(turn, await self._thread(turn), session, session.attach(turn.id))

    async def end(self, turn: Turn, end: End) -> None:
        await self._core.write_down(lambda tx: end_turn(tx, self._core, turn, end))

    async def _thread(self, turn: Turn) -> Thread:
        thread = await self._core.store.read(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        return thread

    async def _follow(self, turn: Turn, thread: Thread, session: Session, events: AsyncIterator[Event]) -> str | None:
        """To its end; or until the runtime is lost, and then why."""
        work = _Work(self._core, turn, thread, session)
        if turn.runtime_turn is not None:
            work.started.set()
        nudge = self._nudges[turn.id] = asyncio.Event()
        nudge.set()  # what was said or asked before we listened
        work.on_started = nudge.set
        control = asyncio.create_task(self._control(work, nudge))
        try:
            ended = await work.consume(events)
        except Silence:
            await self._give_up(work)
        except RuntimeLost as lost:
            await self._sessions.drop(thread.id)
            return lost.message
        except RuntimeTrouble as trouble:
            await self.end(turn, work.end(TurnEnded(TurnState.FAILED, problem=_problem(trouble))))
        else:
            crash.point("turn.ended-not-owed")
            await self.end(turn, work.end(ended))
            await self._sessions.keep(thread, session)
        finally:
            control.cancel()
            del self._nudges[turn.id]
            self._core.live.turn_over(thread.id)
            await self._sessions.release(thread.id)
        return None

    async def _control(self, work: _Work, nudge: asyncio.Event) -> None:
        """Between the rows and the running session: steers, in order, and a stop."""
        while True:
            await nudge.wait()
            nudge.clear()
            try:
                if await self._core.store.read(lambda tx: turns.is_stopping(tx, work.turn.id)):
                    work.hurry()
                    await _interrupt(work.session)
                    return
                if work.started.is_set():
                    await self._steer(work)
            except StoreError as error:
                _log.error("turn %s cannot be steered or stopped now: %s", work.turn.id, error.message)
                await self._core.clock.sleep(1.0)
                nudge.set()

    async def _steer(self, work: _Work) -> None:
        for steer in await self._core.store.read(lambda tx: inbox.open_steers(tx, work.turn.id)):
            if steer.state is not SteerState.OFFERED:
                continue
            try:
                async with asyncio.timeout(STEER_TIMEOUT):
                    taken = await work.session.steer(steer.message)
            except (RuntimeLost, TimeoutError):
                return  # in doubt: the record decides at the turn's end
            crash.point("steer.sent-not-recorded")
            await self._core.write_down(partial(self._steered, steer=steer, taken=taken))

    def _steered(self, tx: Tx, steer: Steer, taken: bool) -> None:
        if not taken:
            requeue_steer(tx, self._core.clock, steer)
        elif inbox.move_steer(tx, steer, SteerState.SENT):
            tx.log(steer.thread, steer.turn, "steer.sent", self._core.clock.now(), message=steer.message.id)

    async def _give_up(self, work: _Work) -> None:
        """Ask it to end, then ask its record: it may have finished after all."""
        if not work.hurried:
            await _interrupt(work.session)
        record = await _quietly(work.session, work.turn.id)
        await self._sessions.drop(work.thread.id)
        if record is not None and record.state is RecordState.COMPLETED:
            await self.end(work.turn, of_record(record))
        elif work.hurried:
            await self.end(work.turn, work.end(TurnEnded(TurnState.INTERRUPTED)))
        else:
            problem = words.silence(self._core.config.turns.silence)
            await self.end(work.turn, work.end(TurnEnded(TurnState.FAILED, problem=problem)))


class _Work:
    """One turn while it runs: folds its events, stores what matters, shows the rest."""

    def __init__(self, core: Core, turn: Turn, thread: Thread, session: Session) -> None:
        self._core = core
        self.turn = turn
        self.thread = thread
        self.session = session
        self.started = asyncio.Event()
        self._progress = Progress()
        self._flushed = 0.0
        self._flush_due: set[str] = set()
        self._patience: asyncio.Timeout | None = None
        self.hurried = False
        self.on_started: Callable[[], None] = lambda: None

    async def consume(self, events: AsyncIterator[Event]) -> TurnEnded:
        """Until the last event. Raises Silence where nothing came for too long, RuntimeLost where it broke off."""
        ended = None
        try:
            async with asyncio.timeout(self._core.config.turns.silence or None) as self._patience:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        ended = event
                    await self._take(event)
                    self._wait_on(event)
        except TimeoutError:
            raise Silence from None
        if ended is None:
            raise RuntimeLost("the runtime broke off without an end")
        return ended

    def hurry(self) -> None:
        """A person wants it to end: from now on patience is short, whatever it says."""
        self.hurried = True
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time() + STOP_PATIENCE)

    def _wait_on(self, event: Event) -> None:
        limit = self._core.config.turns.silence
        if self.hurried or not limit or self._patience is None or not is_sign_of_life(event):
            return
        now = asyncio.get_running_loop().time()
        self._patience.reschedule(None if self._progress.busy else now + limit)

    def end(self, ended: TurnEnded) -> End:
        text = ended.text or ("" if ended.state is TurnState.COMPLETED else self.partial())
        return End(ended.state, clean(text), ended.problem, self._progress.tokens, ended.messages)

    def partial(self) -> str:
        """The newest text that was shown, whole or not."""
        open_now = list(self._core.live.open_texts(self.thread.id).values())
        done = [item.body for item in self._progress.items.values() if item.kind == items.TEXT and item.body]
        texts = [text for text in (*done, *open_now) if text]
        return texts[-1] if texts else ""

    async def _take(self, event: Event) -> None:
        self._progress = advance(self._progress, event)
        match event:
            case TextDelta(item, offset, text):
                self._core.live.text(self.thread.id, self.turn.id, item, offset, text)
                self._flush_due.add(item)
                crash.point("turn.text-not-stored")
                await self._flush()
            case TextDone(item, text, cut):
                self._core.live.text_done(self.thread.id, self.turn.id, item, text, cut=cut)
                self._flush_due.discard(item)
                await self._store(self._progress.items[item])
            case Activity():
                await self._activity(event)
            case TurnStarted(runtime_turn):
                await self._begun(runtime_turn)
            case Notice(kind, text):
                await self._log("notice", notice=kind, text=clean(text))
            case _:
                pass

    async def _activity(self, event: Activity) -> None:
        """Its beginning and its end are stored, since a crash between them matters; the rest is only shown."""
        if event.phase is Phase.UPDATED:
            self._core.live.say(
                self.thread.id,
                "activity.live",
                turn=self.turn.id,
                item=event.item,
                activity=event.kind,
                phase=event.phase,
                title=event.title,
                detail=event.detail,
            )
            return
        await self._store(self._progress.items[event.item], log=True)

    async def _begun(self, runtime_turn: str) -> None:
        def body(tx: Tx) -> None:
            turns.begun(tx, self.turn, self.thread.runtime, runtime_turn)
            tx.log(self.thread.id, self.turn.id, "turn.started", self._core.clock.now())

        crash.point("turn.sent-not-recorded")
        await self._core.write_down(body)
        self.started.set()
        self.on_started()

    async def _flush(self) -> None:
        """The text that is being written, at most four times a second."""
        now = self._core.clock.monotonic()
        if now - self._flushed < FLUSH:
            return
        self._flushed = now
        texts = self._core.live.open_texts(self.thread.id)
        for item in self._flush_due & texts.keys():
            await self._store(Item(item, items.TEXT, Phase.STARTED, body=texts[item]))
        self._flush_due.clear()

    async def _store(self, item: Item, *, log: bool = False) -> None:
        def body(tx: Tx) -> None:
            now = self._core.clock.now()
            items.put(tx, self.turn.id, _cleaned(item), now)
            if log:
                data = {"item": item.item, "activity": item.kind, "phase": item.phase, "title": clean(item.title)}
                tx.log(self.thread.id, self.turn.id, "activity", now, **data, outcome=item.outcome)

        await self._core.write_down(body)

    async def _log(self, kind: str, **data: str) -> None:
        now = self._core.clock.now()
        await self._core.write_down(lambda tx: tx.log(self.thread.id, self.turn.id, kind, now, **data))


def of_record(record: TurnRecord) -> End:
    """The end of a turn as its runtime's record tells it."""
    state = TurnState.COMPLETED if record.state is RecordState.COMPLETED else TurnState.FAILED
    return End(state, clean(record.text), record.problem, record.usage, record.messages)


async def _interrupt(session: Session) -> None:
    try:
        await session.interrupt()
    except RuntimeTrouble as trouble:
        _log.warning("interrupt failed: %s", trouble.message)


async def _quietly(session: Session, turn: str) -> TurnRecord | None:
    try:
        return await session.record(turn)
    except RuntimeTrouble:
        return None


def _problem(trouble: RuntimeTrouble) -> Problem:
    return Problem(trouble.code, trouble.message)


def _cleaned(item: Item) -> Item:
    return Item(
        item.item,
        item.kind,
        item.phase,
        clean(item.title),
        clean(item.body),
        item.outcome,
        item.exit_code,
        item.folder,
    )
