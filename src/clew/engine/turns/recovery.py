"""Recovers turns that an earlier daemon left running, or whose runtime died: looks up the runtime's record and goes on
from there.

Four cases: absent (never ran: queue it again), alive (reattach), complete (end it normally), cut off (continue it
automatically if nothing can be done twice, else ask a person). Recovering twice is harmless: each step is fenced by the
turn's generation."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.gates.lifecycle import unapproved_items
from clew.engine.progress import GATE, may_have_acted
from clew.engine.turns import completion
from clew.engine.turns.completion import (
    End,
    end_and_ask,
    end_and_continue,
    end_in_silence,
    end_turn,
    newest_text,
    send_again,
    send_elsewhere,
)
from clew.engine.turns.queueing import own_words
from clew.engine.turns.runner import Runner, end_of_record
from clew.engine.turns.sessions import Sessions
from clew.model.events import Phase
from clew.model.gates import GateState
from clew.model.messages import CLEW, PromptMessage
from clew.model.runtime import RecordState, Session, TurnRecord
from clew.model.threads import SuspendedBy, Thread, ThreadKind
from clew.model.turns import TEXT, Item, Origin, Steer, SteerState, Turn, TurnState
from clew.store import Tx
from clew.store.tables import gates, inbox, items, threads, turns
from clew.support import crash
from clew.support.display.as_code import plain_or_code
from clew.support.errors import RuntimeTrouble
from clew.texts import chat_messages
from clew.texts.catalogue import say

STARTS = 2  # after how many of them another runtime may take it
ATTEMPTS = 5  # how often a turn that never started is sent to its runtime
LOOKUPS = (0.0, 0.5, 2.0, 8.0)  # seconds before each attempt to ask a runtime
_log = logging.getLogger(__name__)


class Leftover(Struct, frozen=True):
    """What is known of a turn that was cut off."""

    thread: Thread
    turn: Turn
    items: tuple[Item, ...]
    taken: tuple[PromptMessage, ...]  # steers that its record contains
    held: frozenset[str] = frozenset()  # activities whose gate was not accepted
    at_gate: bool = False  # it waited at an open gate

    @property
    def begun(self) -> list[Item]:
        return [item for item in self.items if item.item not in self.held]


def continues_by_itself(leftover: Leftover, record: TurnRecord) -> bool:
    """Whether a cut turn continues without asking: if it has not acted, or if it is a task. A continuation that is cut
    again continues only if it waited at a gate and has not acted: then it asks a person again anyway."""
    acted = has_acted(leftover, record)
    if leftover.turn.origin is Origin.CONTINUATION:
        return leftover.at_gate and not acted
    return leftover.thread.kind is ThreadKind.TASK or not acted


def has_acted(leftover: Leftover, record: TurnRecord) -> bool:
    """Whether the turn may have changed something, by our items or the runtime's record."""
    recorded = [Item(done.item, done.kind, done.phase, outcome=done.outcome) for done in record.activities]
    return may_have_acted([*leftover.begun, *recorded])


def begun_without_end(leftover: Leftover, record: TurnRecord) -> list[str]:
    """Activities that started, and neither we nor the record know how they ended."""
    ended = {done.item for done in record.activities if done.phase is Phase.DONE}
    return [
        f"{item.kind}: {item.title}"
        for item in leftover.begun
        if item.kind not in (TEXT, GATE) and item.phase != Phase.DONE and item.item not in ended and item.title
    ]


def repeated_request(clock_id: str, leftover: Leftover, begun: Sequence[str]) -> tuple[PromptMessage, ...]:
    """The original request, and a note that says why it comes again."""
    note = PromptMessage(clock_id, CLEW, chat_messages.continuation(begun))
    return (*own_words(leftover.turn), *leftover.taken, note)


class Recovery:
    def __init__(self, core: Core, sessions: Sessions, runner: Runner) -> None:
        self._core = core
        self._sessions = sessions
        self._runner = runner
        self.in_doubt: dict[str, list[Steer]] = {}  # by turn: steers that an earlier daemon may have sent

    async def resolve(self, turn: Turn, reason: str) -> None:
        """Find out what became of a turn, and continue from there."""
        thread = await self._core.read_with_retry(lambda tx: threads.get(tx, turn.thread))
        assert thread is not None, turn.thread
        try:
            await self._resolve(thread, turn, reason)
        finally:
            await self._sessions.release(turn.session)

    async def _resolve(self, thread: Thread, turn: Turn, reason: str) -> None:
        lost: str | None = reason
        for _ in range(ATTEMPTS):
            _log.info("looking up turn %s: %s", turn.id, lost)
            try:
                session, record = await self._look_up(thread, turn)
            except RuntimeTrouble as trouble:
                lost = trouble.words
                break
            crash.point("recovery.looked-up-not-settled")
            lost = await self._go_on(thread, turn, session, record)
            if lost is None:
                return
        await self.ask_about_unknown(turn, lost or reason)

    async def _look_up(self, thread: Thread, turn: Turn) -> tuple[Session, TurnRecord | None]:
        """Read the runtime's record of a turn, with retries while the runtime starts."""
        trouble = RuntimeTrouble(say("turns.never_asked"))
        for wait in LOOKUPS:
            await self._core.clock.sleep(wait)
            try:
                session = await self._sessions.open(thread, turn.session)
                return session, await session.record(turn.sent_as)
            except RuntimeTrouble as failure:
                await self._sessions.drop(turn.session)
                trouble = failure
        raise trouble

    async def _go_on(self, thread: Thread, turn: Turn, session: Session, record: TurnRecord | None) -> str | None:
        """Act on the record. Returns the reason if the connection was lost again."""
        if record is None and await self._acted(turn):
            await self._cut(thread, turn, TurnRecord(RecordState.CUT, turn.runtime_turn or ""))
        elif record is None:
            await self.requeue(turn)
        elif record.state is RecordState.ALIVE:
            await self._core.write_with_retry(lambda tx: self._count_as_sent(tx, turn))
            self.in_doubt.pop(turn.id, None)
            return await self._runner.reattach(turn, session)
        elif record.state is RecordState.CUT:
            await self._cut(thread, turn, record)
        else:
            await self._runner.end(turn, end_of_record(self._core, record))
        return None

    def _count_as_sent(self, tx: Tx, turn: Turn) -> None:
        """Do not send a steer again that may have reached the turn, though the record does not contain it yet; at the
        turn's end the record decides."""
        for steer in self.in_doubt.get(turn.id, ()):
            inbox.move_steer(tx, steer, SteerState.SENT)

    async def _acted(self, turn: Turn) -> bool:
        """Whether a turn without a record may have acted, by our own items. If the runtime keeps no records, any turn
        that it started may have."""
        runtime = self._core.runtimes.get(turn.runtime)
        keeps_none = runtime is not None and not runtime.can.record
        return await self._core.read_with_retry(
            lambda tx: completion.has_acted(tx, turn) or (keeps_none and _was_begun(tx, turn))
        )

    async def requeue(self, turn: Turn) -> None:
        """Queue a turn again that never ran; or end it, if a person stopped it or it was sent too often."""

        never_began = chat_messages.never_began(turn.attempts)

        def body(tx: Tx) -> None:
            if turns.is_stopping(tx, turn.id):
                end_turn(tx, self._core, turn, End(TurnState.INTERRUPTED))
            elif turn.attempts < STARTS or not send_elsewhere(tx, self._core, turn, never_began):
                send_again(tx, self._core, turn)

        if turn.attempts >= ATTEMPTS:
            await self._runner.end(turn, End(TurnState.FAILED, problem=never_began))
        else:
            await self._core.write_with_retry(body)

    async def _cut(self, thread: Thread, turn: Turn, record: TurnRecord) -> None:
        leftover = await self._core.read_with_retry(lambda tx: _leftover(tx, thread, turn, record))
        text = self._core.storable(newest_text(record.text, _texts(leftover)))
        end = End(TurnState.INTERRUPTED, text, None, record.usage, record.messages)
        begun = begun_without_end(leftover, record)
        if turn.origin is Origin.GREETING and not leftover.taken:  # nobody has asked for anything
            await self._core.write_with_retry(lambda tx: end_in_silence(tx, self._core, turn, end))
            return
        if continues_by_itself(leftover, record):
            request = repeated_request(self._core.clock.ulid(), leftover, begun)
            await self._core.write_with_retry(lambda tx: end_and_continue(tx, self._core, turn, end, request))
            return
        acted = has_acted(leftover, record)
        question = chat_messages.cut_off(list(map(plain_or_code, begun))) if acted else chat_messages.CUT_AGAIN
        await self._core.write_with_retry(lambda tx: end_and_ask(tx, self._core, turn, end, SuspendedBy.CUT, question))

    async def ask_about_unknown(self, turn: Turn, reason: str) -> None:
        end = End(TurnState.INTERRUPTED)
        question = chat_messages.unknown_outcome(reason)
        await self._core.write_with_retry(lambda tx: end_and_ask(tx, self._core, turn, end, SuspendedBy.CUT, question))


def _leftover(tx: Tx, thread: Thread, turn: Turn, record: TurnRecord) -> Leftover:
    now = turns.get(tx, turn.id)
    assert now is not None, turn.id
    taken = [steer.message for steer in inbox.open_steers(tx, turn.id) if steer.message.id in record.messages]
    asked = gates.of_turn(tx, turn.id)
    at_gate = any(gate.state is GateState.OPEN and gate.asked.blocking for gate in asked)
    return Leftover(thread, now, tuple(items.of_turn(tx, turn.id)), tuple(taken), unapproved_items(asked), at_gate)


def _was_begun(tx: Tx, turn: Turn) -> bool:
    found = turns.get(tx, turn.id)
    return found is not None and found.runtime_turn is not None


def _texts(leftover: Leftover) -> list[str]:
    return [item.body for item in leftover.items if item.kind == TEXT and item.body]
