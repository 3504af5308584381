"""The end of a turn and all that follows from it, written in one transaction: history, the thread's status, what became
of the messages that were steered into it, and what is owed for it. It never sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.artifacts import NOTHING_MADE, Artifacts
from clew.engine.delivery.enqueue import (
    answer_target,
    enqueue_answer,
    enqueue_delivery,
    enqueue_dropped_notices,
    enqueue_files,
    mark_superseded,
)
from clew.engine.delivery.placeholder import enqueue_end
from clew.engine.gates.gates import settle_cancelled, settle_completed, settle_cut, settle_ended
from clew.engine.gates.suspension_prompt import ask
from clew.engine.turns.queueing import queue_turn
from clew.model import history
from clew.model.delivery import DeliveryKind
from clew.model.events import ActivityKind, NoticeKind, Phase
from clew.model.history import Deed
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SuspendedBy, Thread, ThreadKind, ThreadStatus
from clew.model.turns import Origin, Problem, Steer, SteerState, Turn, TurnState, Usage
from clew.store import Tx
from clew.store.tables import bindings, inbox, items, nodes, threads, turns
from clew.store.tables.items import TEXT, Item
from clew.support.clock import Clock
from clew.texts import bilingual, gate_messages
from clew.texts import messages as text_messages

UNENDED = "unended"
Settle = Callable[[Tx, Core, Turn], None]


class End(Struct, frozen=True):
    """How a turn ended, as the runtime's record says it."""

    state: TurnState
    text: str = ""
    problem: Problem | None = None
    usage: Usage | None = None
    messages: frozenset[str] = frozenset()
    items: tuple[Item, ...] = ()  # what was not written yet
    images: tuple[str, ...] = ()  # paths of pictures that the runtime made
    made: Artifacts = NOTHING_MADE  # what the answer names, as it is now


def end_turn(tx: Tx, core: Core, turn: Turn, end: End) -> bool:
    """False: somebody else holds the turn by now, and nothing was changed."""
    done = items.of_turn(tx, turn.id)
    declined = sum(item.outcome == NoticeKind.DECLINED for item in done)
    settle = settle_completed if end.state is TurnState.COMPLETED else settle_ended
    thread = _close(tx, core, turn, end, settle)
    if thread is None:
        return False
    body = bilingual.joined("\n\n", text_messages.final(end.state, end.text, end.problem), *end.made.untold)
    where, note = (
        answer_target(tx, core, thread, turn),
        text_messages.note(turn.origin is Origin.CONTINUATION, declined),
    )
    enqueue_answer(tx, core, turn, where, body, _with_footer(core, turn, end, where, note))
    enqueue_files(tx, core, turn, where, end.made.files if core.takes_files(where) else ())
    enqueue_end(tx, core, turn, end.state, done)
    if turn.origin is not Origin.GREETING:
        _move_thread(tx, core, thread, end)
    return True


def end_in_silence(tx: Tx, core: Core, turn: Turn, end: End) -> bool:
    """Nobody asked for it, and nobody misses it."""
    if _close(tx, core, turn, end, settle_cut) is None:
        return False
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, end.state, ())
    return True


def end_and_continue(tx: Tx, core: Core, turn: Turn, end: End, request: tuple[PromptMessage, ...]) -> bool:
    """It was cut off, and goes on by itself in a new turn. The answer comes from that one."""
    if turns.is_stopping(tx, turn.id):
        return end_turn(tx, core, turn, end)
    if _close(tx, core, turn, end, settle_cut) is None:
        return False
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, end.state, ())
    queue_continuation(tx, core.clock, turn, request, Origin.CONTINUATION)
    return True


def end_and_ask(tx: Tx, core: Core, turn: Turn, end: End, by: SuspendedBy, question: str) -> bool:
    """It was cut off, and a person has to say whether it goes on."""
    if turns.is_stopping(tx, turn.id):
        return end_turn(tx, core, turn, end)
    thread = _close(tx, core, turn, end, settle_cut)
    if thread is None:
        return False
    ask(tx, core, thread, turn, by, question)
    enqueue_end(tx, core, turn, end.state, ())
    if threads.suspend(tx, thread.id, by, question):
        log_status(tx, core, thread.id, ThreadStatus.SUSPENDED)
    return True


def _with_footer(core: Core, turn: Turn, end: End, where: Conversation | None, note: str) -> str:
    """In a chat people want to know what it took, and which thread it was."""
    surface = core.surfaces.get(where.surface) if where else None
    if surface is None or not surface.can.chat:
        return note
    elapsed = max(0, core.clock.now() - (turn.started_at or turn.queued_at)) / 1000
    footer = text_messages.footer(elapsed, end.usage.total_tokens if end.usage else 0, turn.thread)
    return bilingual.joined(" ", note, footer)


def queue_continuation(
    tx: Tx,
    clock: Clock,
    cut: Turn,
    request: tuple[PromptMessage, ...],
    origin: Origin,
    where: Conversation | None = None,
) -> str:
    """A turn right behind the one it continues, before anything else that waits; for where it is wanted, else for where
    that one was, or has moved to."""
    now = turns.get(tx, cut.id) or cut
    turn = Turn(
        id=clock.ulid(),
        thread=cut.thread,
        seq=cut.seq + 1,
        state=TurnState.QUEUED,
        origin=origin,
        request=request,
        conversation=where or now.conversation,
        queued_at=clock.now(),
        continues=cut.id,
    )
    turns.insert(tx, turn)
    tx.log(turn.thread, turn.id, "turn.queued", turn.queued_at, origin=origin, continues=cut.id)
    return turn.id


def _close(tx: Tx, core: Core, turn: Turn, end: End, settle: Settle) -> Thread | None:
    """Settle what it asked, fold the turn into history and end its row, if the lease is still ours. In a cancelled
    thread nothing waits after it."""
    held = turns.get(tx, turn.id)
    thread = threads.get(tx, turn.thread)
    if held is None or thread is None or held.generation != turn.generation or held.owner != turn.owner:
        return None
    now = core.clock.now()
    for item in end.items:
        items.put(tx, turn.id, item)
    settle(tx, core, turn)
    head = _settle_steers(tx, core, thread, turn, end)
    outcome = history.Outcome(
        turn=turn.id,
        at=now,
        state=end.state,
        runtime=thread.runtime,
        text=end.text,
        deeds=activities(items.of_turn(tx, turn.id), end.text),
        problem=end.problem,
        usage=end.usage,
    )
    node = nodes.append(tx, thread.id, head, outcome)
    if not turns.end(tx, turn, end.state, now, node, end.problem, end.usage):
        raise AssertionError(f"turn {turn.id} changed hands within a transaction")
    items.clear(tx, turn.id)
    threads.set_last_turn(tx, thread.id, turn.id)
    tx.log(thread.id, turn.id, "turn.ended", now, state=end.state, error=end.problem.message if end.problem else None)
    if thread.status is ThreadStatus.CANCELLED:
        drop_all_queued(tx, core, thread.id)
    return thread


def activities(done: Sequence[Item], answer: str) -> tuple[Deed, ...]:
    """Everything on the way; the answer itself is not repeated."""
    kept = [item for item in done if item.body or item.kind != TEXT]
    if kept and _is_answer(kept[-1], answer):
        kept.pop()
    return tuple(_deed(item) for item in kept if item.kind != ActivityKind.THOUGHT or item.body)


def _is_answer(item: Item, answer: str) -> bool:
    """Or as much of it as was written down before a daemon died."""
    begins_it = item.phase != Phase.DONE and answer.startswith(item.body)
    return item.kind == TEXT and (item.body == answer or begins_it)


def _deed(item: Item) -> Deed:
    """What was begun and has no recorded end says so, for whoever has to decide how to go on."""
    unended = item.kind != TEXT and item.phase != Phase.DONE
    outcome = UNENDED if unended else item.outcome
    return Deed(item.kind, item.title, item.body, outcome, item.exit_code, item.folder)


def _settle_steers(tx: Tx, core: Core, thread: Thread, turn: Turn, end: End) -> str | None:
    """What the runtime's record contains is history; what it does not contain becomes a turn of its own."""
    head = thread.head
    for steer in inbox.open_steers(tx, turn.id):
        if steer.message.id not in end.messages:
            requeue_steer(tx, core, steer, over=thread.status is ThreadStatus.CANCELLED)
            continue
        said = steer.message
        node = history.Spoken(turn.id, core.clock.now(), said.id, said.author, said.text, said.attachments, steer=True)
        head = nodes.append(tx, thread.id, head, node)
        inbox.move_steer(tx, steer, SteerState.TAKEN)
    return head


def requeue_steer(tx: Tx, core: Core, steer: Steer, *, over: bool = False) -> None:
    """It was not taken: it runs as a turn of its own, and its sender is told. Where its thread is over, that turn is
    dropped in the same transaction, and its sender hears of that instead."""
    if not inbox.move_steer(tx, steer, SteerState.QUEUED):
        return
    where = steer.conversation if over else _driven_from(tx, core, steer)
    turn = queue_turn(tx, core.clock, steer.thread, Origin.MESSAGE, (steer.message,), where)
    inbox.change_fate(tx, steer, turn.id)
    tx.log(steer.thread, turn.id, "steer.queued", core.clock.now(), message=steer.message.id)
    if not over:
        enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, steer.conversation, text_messages.STEER_QUEUED)


def _driven_from(tx: Tx, core: Core, steer: Steer) -> Conversation | None:
    """Where it was said, or where its thread has moved to since."""
    said, driver = steer.conversation, bindings.driver(tx, steer.thread)
    if said is None or driver is None:
        return said
    is_of_the_thread = said.surface == core.local_surface or bindings.thread_at(tx, said) == steer.thread
    return driver if is_of_the_thread else said


def drop_queued(tx: Tx, core: Core, turn: Turn, *, over: bool = False) -> None:
    """A queued turn that a person does not want any more. No answer is owed for it, and that is written down too. What
    was said into it, before it turned out that it had never run, is not lost with it."""
    now = core.clock.now()
    if not turns.drop_queued(tx, turn.id, now):
        return
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, TurnState.INTERRUPTED, ())
    tx.log(turn.thread, turn.id, "turn.ended", now, state=TurnState.INTERRUPTED, error=None)
    for steer in inbox.open_steers(tx, turn.id):
        requeue_steer(tx, core, steer, over=over)


def drop_all_queued(tx: Tx, core: Core, thread: str) -> None:
    """In a cancelled thread nothing waits."""
    dropped: list[Turn] = []
    while waiting := turns.queued(tx, thread):
        for turn in waiting:
            drop_queued(tx, core, turn, over=True)
        dropped += waiting
    enqueue_dropped_notices(tx, core, dropped, gate_messages.THREAD_OVER, None)
    settle_cancelled(tx, core, thread)


def log_status(tx: Tx, core: Core, thread: str, status: ThreadStatus) -> None:
    tx.log(thread, None, "thread.status", core.clock.now(), status=status)


def _move_thread(tx: Tx, core: Core, thread: Thread, end: End) -> None:
    """A task is over when its turn is; one that failed waits for a person."""
    if thread.kind is not ThreadKind.TASK or thread.status is not ThreadStatus.IDLE:
        return
    if end.state is TurnState.COMPLETED and not turns.count_queued(tx, thread.id):
        threads.finish(tx, thread.id, ThreadStatus.IDLE, ThreadStatus.COMPLETED, core.clock.now())
        log_status(tx, core, thread.id, ThreadStatus.COMPLETED)
    elif end.state is TurnState.FAILED:
        threads.suspend(tx, thread.id, SuspendedBy.FAILURE, text_messages.task_failed(end.problem))
        log_status(tx, core, thread.id, ThreadStatus.SUSPENDED)
