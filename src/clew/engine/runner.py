"""The life of one turn on its runtime: what it says is stored or shown, what people send meanwhile reaches it, and how
it ended is written down. It never decides what a lost connection means: that is asked in recovery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from clew import crash
from clew.engine import words
from clew.engine.core import Core
from clew.engine.ending import End, end_turn, requeue_steer
from clew.engine.gates import close_gate, open_gate
from clew.engine.giving import give_answers
from clew.engine.made import NOTHING_MADE, Made, gather
from clew.engine.owing import owed_to
from clew.engine.progress import Progress, advance, cleaned, gate_item, is_sign_of_life
from clew.engine.sessions import Sessions
from clew.engine.showing import show, streams
from clew.errors import RuntimeLost, RuntimeTrouble
from clew.events import (
    MISSED,
    Activity,
    Event,
    GateClosed,
    GateOpened,
    Notice,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
)
from clew.model import Problem, Steer, SteerState, Thread, Turn, TurnState
from clew.runtimes.base import RecordState, Session, TurnRecord, TurnRequest
from clew.store import Tx, bindings, inbox, items, threads, turns
from clew.store.items import Item
from clew.text import clean

FLUSH = 0.25  # seconds between two writes of the text that is being written
STEER_TIMEOUT = 30.0
STOP_PATIENCE = 20.0  # seconds that a runtime has to end a turn that a person stopped
_log = logging.getLogger(__name__)


class Silence(Exception):
    """The runtime gave no sign of life for too long."""


class Runner:
    """Runs the turns that were claimed. Recovery answers what it cannot know: `doubt`, where the outcome of a turn is
    unknown, and `unsent`, where it was never given to its runtime."""

    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._nudges: dict[str, Nudges] = {}
        self._works: dict[str, _Work] = {}
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
            await self._core.write_down(partial(self._could_not, turn=turn, thread=thread, trouble=trouble))
            return
        work = _Work(self._core, turn, thread, session, self._sessions.came(thread.id, is_known=True))
        reason = await self._follow(work, session.run(TurnRequest(turn.id, turn.request)))
        if reason is not None:
            await self.doubt(turn, reason)

    async def reattach(self, turn: Turn, session: Session) -> str | None:
        """A turn that its runtime still works on. Returns why it was lost again, if it was."""
        so_far = await self._core.store.read(lambda tx: items.of_turn(tx, turn.id))
        work = _Work(self._core, turn, await self._thread(turn), session, so_far=so_far)
        work.started.set()
        return await self._follow(work, session.attach(turn.id))

    async def end(self, turn: Turn, end: End) -> None:
        whole = replace(end, made=await self._made(turn, end))
        await self._core.write_down(lambda tx: end_turn(tx, self._core, turn, whole))

    async def _made(self, turn: Turn, end: End) -> Made:
        """The files that its answer names, where they can be brought along."""
        thread = await self._thread(turn)
        where = await self._core.store.read(lambda tx: owed_to(tx, self._core, thread, turn))
        largest, files = self._core.takes_files(where), self._core.files
        if files is None or not largest or not (end.text or end.images):
            return NOTHING_MADE
        folder = files / f"made-{turn.id}"
        return await asyncio.to_thread(gather, end.text, end.images, Path(thread.workspace), folder, largest)

    def _could_not(self, tx: Tx, turn: Turn, thread: Thread, trouble: RuntimeTrouble) -> None:
        bindings.failed(tx, thread.id, thread.runtime, trouble.message, self._core.clock.now())
        end_turn(tx, self._core, turn, End(TurnState.FAILED, problem=_problem(trouble)))

    async def _thread(self, turn: Turn) -> Thread:
        thread = await self._core.store.read(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        return thread

    async def _follow(self, work: _Work, events: AsyncIterator[Event]) -> str | None:
        """To its end; or until its outcome is in doubt, and then why."""
        nudges = self._nudges[work.turn.id] = Nudges()
        self._works[work.turn.id] = work
        self.on_following()
        work.on_started, work.on_asked = nudges.give, nudges.answer.set
        beside = (
            self._stop(work, nudges),
            self._steer(work, nudges),
            give_answers(self._core, work.turn.id, work.session, work.asked, nudges.answer),
            work.keep_writing(),
        )
        control = [asyncio.create_task(task) for task in beside]
        try:
            ended = await self._consume(work, events)
        except Silence:
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

    async def _consume(self, work: _Work, events: AsyncIterator[Event]) -> TurnEnded:
        """And show it for so long: once it is over the placeholder may become the answer."""
        shown = asyncio.create_task(show(self._core, work.turn, lambda: work.progress, work.partial, work.moved))
        try:
            return await work.consume(events)
        finally:
            shown.cancel()
            await asyncio.wait((shown,))  # an edit that is on its way must not come after what follows

    async def _ended(self, work: _Work, ended: TurnEnded) -> str | None:
        crash.point("turn.ended-not-owed")
        if ended.state is TurnState.INTERRUPTED and not await self._is_stopping(work.turn):
            return "the runtime interrupted it, and nobody here had asked for that"
        await self.end(work.turn, work.end(ended))
        await self._sessions.keep(work.thread, work.session)
        return None

    async def _is_stopping(self, turn: Turn) -> bool:
        return await self._core.store.read(lambda tx: turns.is_stopping(tx, turn.id))

    async def _stop(self, work: _Work, nudges: Nudges) -> None:
        """A person's stop, once the turn has begun: before that no runtime could hear it."""
        while True:
            await nudges.stop.wait()
            nudges.stop.clear()
            try:
                if work.started.is_set() and await self._is_stopping(work.turn):
                    work.hurry()
                    crash.point("stop.asked-not-sent")
                    await _interrupt(work.session)
                    return
            except Exception:  # a stop must not be lost: it is tried again
                _log.exception("turn %s cannot be stopped now", work.turn.id)
                await self._core.clock.sleep(1.0)
                nudges.stop.set()

    async def _steer(self, work: _Work, nudges: Nudges) -> None:
        """What people say meanwhile, in order."""
        while True:
            await nudges.steer.wait()
            nudges.steer.clear()
            try:
                if work.started.is_set():
                    await self._offer(work)
            except Exception:  # what was offered is settled at the turn's end at the latest
                _log.exception("turn %s cannot be steered now", work.turn.id)

    async def _offer(self, work: _Work) -> None:
        for steer in await self._core.store.read(lambda tx: inbox.open_steers(tx, work.turn.id)):
            if steer.state is SteerState.OFFERED:
                crash.point("steer.offered-not-sent")
                taken = await _taken(work.session, steer)
                crash.point("steer.sent-not-recorded")
                await self._core.write_down(partial(self._steered, steer=steer, taken=taken))

    def _steered(self, tx: Tx, steer: Steer, taken: bool) -> None:
        if not taken:
            requeue_steer(tx, self._core, steer)
        elif inbox.move_steer(tx, steer, SteerState.SENT):
            tx.log(steer.thread, steer.turn, "steer.sent", self._core.clock.now(), message=steer.message.id)

    async def _give_up(self, work: _Work) -> None:
        """Ask it to end, then ask its record: it may have finished after all."""
        await _interrupt(work.session)
        record = await _quietly(work.session, work.turn.id)
        await self._sessions.drop(work.thread.id)
        if record is not None and record.state is RecordState.COMPLETED:
            await self.end(work.turn, of_record(record))
            return
        heard = record.messages if record is not None else frozenset()
        if work.hurried:
            ended = TurnEnded(TurnState.INTERRUPTED, messages=heard)
        else:
            problem = words.silence(self._core.config.turns.silence)
            ended = TurnEnded(TurnState.FAILED, problem=problem, messages=heard)
        await self.end(work.turn, work.end(ended))


class Nudges:
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


class _Work:
    """One turn while it runs: folds its events, stores what matters, shows the rest."""

    def __init__(
        self,
        core: Core,
        turn: Turn,
        thread: Thread,
        session: Session,
        came: str = "warm",
        so_far: Sequence[Item] = (),
    ) -> None:
        """`so_far`: what an earlier daemon heard of it."""
        self._core = core
        self._came = came
        self.turn = turn
        self.thread = thread
        self.session = session
        self.started = asyncio.Event()
        self._progress = Progress({item.item: item for item in so_far})
        self._unsaved: set[str] = set()
        self._grown = asyncio.Event()
        self.moved = asyncio.Event()  # what can be seen from afar has changed
        self._streams = streams(core, turn)
        self._patience: asyncio.Timeout | None = None
        self.hurried = False
        self.asked: set[str] = set()  # references of gates that the runtime has told us about
        self.on_started: Callable[[], None] = lambda: None
        self.on_asked: Callable[[], None] = lambda: None

    @property
    def progress(self) -> Progress:
        return self._progress

    @property
    def stands(self) -> bool:
        """At a gate."""
        return bool(self._progress.gates)

    async def consume(self, events: AsyncIterator[Event]) -> TurnEnded:
        """Until the last event. Raises Silence where nothing came for too long, RuntimeLost where it broke off."""
        ended = None
        limit = None if self._progress.busy else self._core.config.turns.silence or None
        try:
            async with asyncio.timeout(limit) as self._patience:
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
        unwritten = tuple(map(cleaned, self._unwritten()))
        tokens, images = self._progress.tokens, self._progress.images
        return End(ended.state, clean(text), ended.problem, tokens, ended.messages, unwritten, images)

    def partial(self) -> str:
        """The newest text that was shown, whole or not."""
        open_now = list(self._core.live.open_texts(self.thread.id).values())
        done = [item.body for item in self._progress.items.values() if item.kind == items.TEXT and item.body]
        texts = [text for text in (*done, *open_now) if text]
        return texts[-1] if texts else ""

    async def _take(self, event: Event) -> None:
        self._progress = advance(self._progress, event)
        match event:
            case TextDelta(offset=offset) if offset == MISSED:
                pass  # nowhere to put it; the end of its item brings the whole
            case TextDelta(item, offset, text):
                self._core.live.text(self.thread.id, self.turn.id, item, offset, text)
                self._due(item)
                if self._streams:
                    self.moved.set()
                crash.point("turn.text-not-stored")
            case TextDone(item, text, cut):
                self._core.live.text_done(self.thread.id, self.turn.id, item, text, cut=cut)
                self._due(item)  # the runtime's own record has it: no need to hurry
            case Activity():
                await self._activity(event)
            case TurnStarted(runtime_turn):
                await self._begun(runtime_turn)
            case Notice(kind, text):
                await self._store(*(item for item in self._progress.items.values() if item.title == text))
                await self._log("notice", notice=kind, text=clean(text))
            case GateOpened():
                await self._asked(event)
            case GateClosed(ref, ran_out):
                crash.point("gate.taken-not-recorded")
                await self._core.write_down(partial(close_gate, core=self._core, ref=ref, ran_out=ran_out))
            case _:
                pass

    async def _asked(self, event: GateOpened) -> None:
        """With what was said before it, so that nobody is asked about words that they cannot see."""
        item, told = self._progress.items[gate_item(event.ref)], event.ref in self.asked
        said = list(map(cleaned, self._unwritten()))

        def body(tx: Tx) -> None:
            for text in said:
                items.put(tx, self.turn.id, text)
            open_gate(tx, self._core, self.thread, self.turn, event, cleaned(item), told=told)

        crash.point("gate.asked-not-stored")
        await self._core.write_down(body)
        crash.point("gate.stored-not-shown")
        self.asked.add(event.ref)
        self.on_asked()

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
        item = self._progress.items[event.item]
        self.moved.set()
        await self._store(*self._unwritten(), item, told=item)

    async def _begun(self, runtime_turn: str) -> None:
        def body(tx: Tx) -> None:
            now = self._core.clock.now()
            turns.begun(tx, self.turn, self.thread.runtime, runtime_turn)
            bindings.used(tx, self.thread.id, self.thread.runtime, self._came, now)
            tx.log(self.thread.id, self.turn.id, "turn.started", now)

        crash.point("turn.sent-not-recorded")
        await self._core.write_down(body)
        self.started.set()
        self.on_started()

    async def keep_writing(self) -> None:
        """The text that is being written, at most four times a second, for whoever comes back after a crash."""
        while True:
            await self._grown.wait()
            self._grown.clear()
            await self._core.clock.sleep(FLUSH)
            await self._store(*self._unwritten())

    def _due(self, item: str) -> None:
        self._unsaved.add(item)
        self._grown.set()

    def _unwritten(self) -> list[Item]:
        """Texts that have grown since they were last written."""
        texts = self._core.live.open_texts(self.thread.id)
        due = [self._progress.items[item] for item in self._progress.items if item in self._unsaved]
        self._unsaved.clear()
        return [replace(item, body=texts.get(item.item, item.body)) for item in due]

    async def _store(self, *changed: Item, told: Item | None = None) -> None:
        if not changed:
            return

        def body(tx: Tx) -> None:
            for item in map(cleaned, changed):
                items.put(tx, self.turn.id, item)
            if told is not None:
                data = {"item": told.item, "activity": told.kind, "phase": told.phase, "title": clean(told.title)}
                tx.log(self.thread.id, self.turn.id, "activity", self._core.clock.now(), **data, outcome=told.outcome)

        await self._core.write_down(body)

    async def _log(self, kind: str, **data: str) -> None:
        now = self._core.clock.now()
        await self._core.write_down(lambda tx: tx.log(self.thread.id, self.turn.id, kind, now, **data))


def of_record(record: TurnRecord) -> End:
    """The end of a turn as its runtime's record tells it."""
    state = TurnState.COMPLETED if record.state is RecordState.COMPLETED else TurnState.FAILED
    images = tuple(done.image for done in record.activities if done.image is not None)
    return End(state, clean(record.text), record.problem, record.usage, record.messages, images=images)


async def _taken(session: Session, steer: Steer) -> bool:
    """Whether the runtime took it. In doubt it counts as taken, and the record decides at the turn's end."""
    try:
        async with asyncio.timeout(STEER_TIMEOUT):
            return await session.steer(steer.message)
    except (RuntimeTrouble, TimeoutError) as trouble:
        _log.warning("a steer is in doubt: %s", trouble)
        return True


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
