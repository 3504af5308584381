"""Waking up: what an earlier daemon left running is looked up in its runtime, and goes on from what the record says.

Four answers: absent (it never ran: queued again), alive (attached again), complete (ended and owed, as if nothing had
happened), cut off (continued, by itself where nothing can have been done twice, else after asking once). Doing it twice
is harmless: every step is fenced by the turn's generation. The same room answers a runtime that died under a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.gates.gates import held_back, settle_cut
from clew.engine.progress import GATE, may_have_acted
from clew.engine.turns.completion import End, end_and_ask, end_and_continue, end_in_silence, end_turn
from clew.engine.turns.runner import Runner, of_record
from clew.engine.turns.scheduler import Scheduler
from clew.engine.turns.sessions import Sessions
from clew.engine.turns.suspension import hold_backlog, own_words
from clew.model.events import Phase
from clew.model.gates import GateState
from clew.model.messages import CLEW, PromptMessage
from clew.model.runtime import RecordState, Session, TurnRecord
from clew.model.threads import SuspendedBy, Thread, ThreadKind
from clew.model.turns import Origin, Steer, SteerState, Turn, TurnState
from clew.store import Tx
from clew.store.tables import deliveries, gates, inbox, items, log, threads, turns
from clew.store.tables.items import TEXT, Item
from clew.support import crash
from clew.support.display_code import plain_or_code
from clew.support.errors import RuntimeTrouble
from clew.texts import messages

ATTEMPTS = 5  # how often a turn that never began is given to its runtime
LOOKUPS = (0.0, 0.5, 2.0, 8.0)  # seconds before each try to ask a runtime
_log = logging.getLogger(__name__)


class Leftover(Struct, frozen=True):
    """What is known of a turn that was cut off."""

    thread: Thread
    turn: Turn
    items: tuple[Item, ...]
    taken: tuple[PromptMessage, ...]  # steers that its record contains
    held: frozenset[str] = frozenset()  # activities that stood at a gate without a yes
    stood: bool = False  # at an open gate

    @property
    def begun(self) -> list[Item]:
        return [item for item in self.items if item.item not in self.held]


def continues_by_itself(remains: Leftover, record: TurnRecord) -> bool:
    """Where nothing can have been done twice, and once for a task. Twice in a row only where it stood at a gate and had
    done nothing: it waits for a person anyhow, and has to ask again."""
    acted = has_acted(remains, record)
    if remains.turn.origin is Origin.CONTINUATION:
        return remains.stood and not acted
    return remains.thread.kind is ThreadKind.TASK or not acted


def has_acted(remains: Leftover, record: TurnRecord) -> bool:
    recorded = [Item(done.item, done.kind, done.phase, outcome=done.outcome) for done in record.activities]
    return may_have_acted([*remains.begun, *recorded])


def begun_without_end(remains: Leftover, record: TurnRecord) -> list[str]:
    """What was begun, and no record says how it ended."""
    ended = {done.item for done in record.activities if done.phase is Phase.DONE}
    return [
        f"{item.kind}: {item.title}"
        for item in remains.begun
        if item.kind not in (TEXT, GATE) and item.phase != Phase.DONE and item.item not in ended and item.title
    ]


def again(clock_id: str, remains: Leftover, begun: Sequence[str]) -> tuple[PromptMessage, ...]:
    """The request, word for word, and why it comes again."""
    note = PromptMessage(clock_id, CLEW, messages.continuation(begun))
    return (*own_words(remains.turn), *remains.taken, note)


class Recovery:
    def __init__(self, core: Core, sessions: Sessions, runner: Runner, turns_: Scheduler) -> None:
        self._core = core
        self._sessions = sessions
        self._runner = runner
        self._turns = turns_
        self.taken_over = asyncio.Event()
        self._in_doubt: dict[str, list[Steer]] = {}  # by turn: what an earlier daemon may have given to it
        runner.doubt = self.settle
        runner.unsent = self.absent

    async def run(self) -> None:
        """Once, at the start. Threads that were running dispatch nothing until they are recovered."""
        orphans, waiting = await self._core.store.write(self._take_over)
        for turn in orphans:
            self._turns.hold(turn.thread)
        for thread in waiting:
            self._turns.wake(thread)
        self.taken_over.set()
        async with asyncio.TaskGroup() as group:
            for turn in orphans:
                task = group.create_task(self._recover(turn))
                self._turns.recovers(task, turn.id)

    async def settle(self, turn: Turn, reason: str) -> None:
        """Find out what became of a turn, and go on from there."""
        thread = await self._core.read_with_retry(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        try:
            await self._settle(thread, turn, reason)
        finally:
            await self._sessions.release(thread.id)

    async def _settle(self, thread: Thread, turn: Turn, reason: str) -> None:
        lost: str | None = reason
        for _ in range(ATTEMPTS):
            _log.info("looking up turn %s: %s", turn.id, lost)
            try:
                session, record = await self._look_up(thread, turn)
            except RuntimeTrouble as trouble:
                lost = trouble.message
                break
            crash.point("recovery.looked-up-not-settled")
            lost = await self._go_on(thread, turn, session, record)
            if lost is None:
                return
        await self._ask_about_unknown(turn, lost or reason)

    def _take_over(self, tx: Tx) -> tuple[list[Turn], list[str]]:
        """Void the leases of dead daemons, in one transaction."""
        now = self._core.clock.now()
        self._hold_backlog(tx, now)
        deliveries.release_sending(tx, now)
        deliveries.retry_now(tx, now)
        adopted = [turns.adopt(tx, turn, self._core.incarnation) for turn in turns.all_live(tx)]
        self._in_doubt = {turn.id: _offered(tx, turn) for turn in adopted if turn is not None}
        return [turn for turn in adopted if turn is not None], turns.threads_with_queued(tx)

    def _hold_backlog(self, tx: Tx, now: int) -> None:
        """After a long absence, what waited is kept and asked about, once, instead of run in a flood."""
        _, last_alive = log.newest(tx)
        if now - last_alive <= self._core.config.inbox.stale_after * 1000:
            return
        busy = {turn.thread for turn in turns.all_live(tx)}  # those go on with what they were at
        for thread in turns.threads_with_queued(tx):
            if thread not in busy:
                hold_backlog(tx, self._core, thread)

    async def _recover(self, turn: Turn) -> None:
        crash.point("recovery.taken-over-not-looked-up")
        try:
            await self.settle(turn, "an earlier daemon left it running")
        except Exception:
            _log.exception("turn %s could not be recovered", turn.id)
            await self._ask_about_unknown(turn, "clew itself failed; `clew logs` has the details")
        finally:
            self._turns.release(turn.thread)

    async def _look_up(self, thread: Thread, turn: Turn) -> tuple[Session, TurnRecord | None]:
        """Ask the runtime, more than once if it has to come up first."""
        trouble = RuntimeTrouble("it was never asked")
        for wait in LOOKUPS:
            await self._core.clock.sleep(wait)
            try:
                session = await self._sessions.open(thread)
                return session, await session.record(turn.id)
            except RuntimeTrouble as again:
                await self._sessions.drop(thread.id)
                trouble = again
        raise trouble

    async def _go_on(self, thread: Thread, turn: Turn, session: Session, record: TurnRecord | None) -> str | None:
        """Returns why it was lost again, if it was."""
        if record is None and await self._acted(thread, turn):
            await self._cut(thread, turn, TurnRecord(RecordState.CUT, turn.runtime_turn or ""))
        elif record is None:
            await self.absent(turn)
        elif record.state is RecordState.ALIVE:
            await self._core.write_with_retry(lambda tx: self._count_as_sent(tx, turn))
            self._in_doubt.pop(turn.id, None)
            return await self._runner.reattach(turn, session)
        elif record.state is RecordState.CUT:
            await self._cut(thread, turn, record)
        else:
            await self._runner.end(turn, of_record(self._core, record))
        return None

    def _count_as_sent(self, tx: Tx, turn: Turn) -> None:
        """A steer that was on its way may be in the turn already, though its record does not say so yet: it is not sent
        again, and at the end of the turn the record decides."""
        for steer in self._in_doubt.get(turn.id, ()):
            inbox.move_steer(tx, steer, SteerState.SENT)

    async def _acted(self, thread: Thread, turn: Turn) -> bool:
        """A record may be lost; what we saw of the turn with our own eyes counts too. And it is all that counts where
        a runtime keeps none: a turn that was begun may have been heard."""
        runtime = self._core.runtimes.get(thread.runtime)
        keeps_none = runtime is not None and not runtime.can.record
        return await self._core.read_with_retry(
            lambda tx: _has_acted(tx, turn) or (keeps_none and _was_begun(tx, turn))
        )

    async def absent(self, turn: Turn) -> None:
        """It never ran. Whoever wanted it stopped has got that; else it is sent again, and nobody is bothered."""
        now = self._core.clock.now()

        def again(tx: Tx) -> None:
            if turns.is_stopping(tx, turn.id):
                end_turn(tx, self._core, turn, End(TurnState.INTERRUPTED))
            elif turns.requeue(tx, turn):
                settle_cut(tx, self._core, turn)
                tx.log(turn.thread, turn.id, "turn.queued", now, origin=turn.origin, again=True)

        if turn.attempts >= ATTEMPTS:
            await self._runner.end(turn, End(TurnState.FAILED, problem=messages.never_began(turn.attempts)))
        else:
            await self._core.write_with_retry(again)

    async def _cut(self, thread: Thread, turn: Turn, record: TurnRecord) -> None:
        remains = await self._core.read_with_retry(lambda tx: _remains(tx, thread, turn, record))
        text = self._core.storable(record.text or _last_text(remains))
        end = End(TurnState.INTERRUPTED, text, None, record.usage, record.messages)
        begun = begun_without_end(remains, record)
        if turn.origin is Origin.GREETING and not remains.taken:  # nobody has asked for anything
            await self._core.write_with_retry(lambda tx: end_in_silence(tx, self._core, turn, end))
            return
        if continues_by_itself(remains, record):
            request = again(self._core.clock.ulid(), remains, begun)
            await self._core.write_with_retry(lambda tx: end_and_continue(tx, self._core, turn, end, request))
            return
        question = (
            messages.cut_off(list(map(plain_or_code, begun))) if has_acted(remains, record) else messages.CUT_AGAIN
        )
        await self._core.write_with_retry(lambda tx: end_and_ask(tx, self._core, turn, end, SuspendedBy.CUT, question))

    async def _ask_about_unknown(self, turn: Turn, reason: str) -> None:
        end = End(TurnState.INTERRUPTED)
        question = messages.unknown_outcome(reason)
        await self._core.write_with_retry(lambda tx: end_and_ask(tx, self._core, turn, end, SuspendedBy.CUT, question))


def _remains(tx: Tx, thread: Thread, turn: Turn, record: TurnRecord) -> Leftover:
    now = turns.get(tx, turn.id)
    assert now is not None, turn.id
    taken = [steer.message for steer in inbox.open_steers(tx, turn.id) if steer.message.id in record.messages]
    asked = gates.of_turn(tx, turn.id)
    stood = any(gate.state is GateState.OPEN and gate.asked.blocking for gate in asked)
    return Leftover(thread, now, tuple(items.of_turn(tx, turn.id)), tuple(taken), held_back(asked), stood)


def _offered(tx: Tx, turn: Turn) -> list[Steer]:
    return [steer for steer in inbox.open_steers(tx, turn.id) if steer.state is SteerState.OFFERED]


def _has_acted(tx: Tx, turn: Turn) -> bool:
    held = held_back(gates.of_turn(tx, turn.id))
    return may_have_acted([item for item in items.of_turn(tx, turn.id) if item.item not in held])


def _was_begun(tx: Tx, turn: Turn) -> bool:
    found = turns.get(tx, turn.id)
    return found is not None and found.runtime_turn is not None


def _last_text(remains: Leftover) -> str:
    texts = [item.body for item in remains.items if item.kind == TEXT and item.body]
    return texts[-1] if texts else ""
