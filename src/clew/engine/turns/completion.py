"""Ends a turn, in one transaction: history, the thread's status, the fate of the messages steered into it, and the
deliveries for its answer. It never sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, json
from msgspec.structs import replace

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
from clew.engine.gates.lifecycle import (
    settle_cancelled,
    settle_completed,
    settle_cut,
    settle_ended,
    unapproved_items,
)
from clew.engine.gates.suspension_prompt import ask
from clew.engine.progress import GATE, NOTICE, may_have_acted
from clew.engine.seams import AskPerson, ContinueLater, EndedTurn, FailedTurn, Follow, Recourse, SendAgain
from clew.engine.turns.queueing import next_session, queue_turn, request_again
from clew.model import history
from clew.model.delivery import DeliveryKind
from clew.model.events import ActivityKind, NoticeKind, Phase
from clew.model.events.kinds import EventKind
from clew.model.events.logged import StatusChanged, SteerQueued, TurnEnded, TurnQueued
from clew.model.history import Deed
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SuspendedBy, Thread, ThreadKind, ThreadStatus
from clew.model.turns import (
    TEXT,
    USAGE_LIMIT,
    Item,
    Origin,
    Problem,
    Steer,
    SteerState,
    Turn,
    TurnState,
    Usage,
    in_tree_order,
)
from clew.store import Tx
from clew.store.tables import bindings, continuity, gates, inbox, items, log, nodes, threads, turns
from clew.support.clock import Clock
from clew.support.coded import coded_of
from clew.support.display.as_code import plain_or_code
from clew.support.text import agent_name
from clew.texts import bilingual, gate_messages
from clew.texts import chat_messages as text_messages

UNENDED = "unended"
Settle = Callable[[Tx, Core, Turn], None]


class End(Struct, frozen=True):
    """How a turn ended, according to the runtime's record."""

    state: TurnState
    text: str = ""
    problem: Problem | None = None
    usage: Usage | None = None
    messages: frozenset[str] = frozenset()
    items: tuple[Item, ...] = ()  # not stored yet
    images: tuple[str, ...] = ()  # paths of pictures that the runtime made
    has_acted: bool = False  # by the runtime's record; our own items may say so too
    made: Artifacts = NOTHING_MADE  # copies of the files that the answer links to


def newest_text(recorded: str, seen: Sequence[str]) -> str:
    """The answer of a turn that did not complete: the newest of the runtime's own and of the texts that clew has seen,
    in their order. The runtime's record may lack the end of a text, or the newest one; clew may have missed some."""
    *earlier, newest = seen or ("",)
    return newest if not recorded or recorded in earlier or newest.startswith(recorded) else recorded


def end_turn(tx: Tx, core: Core, turn: Turn, end: End) -> bool:
    """Return False, with nothing changed, if another daemon holds the turn's lease by now. A turn that failed may be
    sent again instead, or end as cut off, if a capability has a better way than failing."""
    recourse = _recourse(tx, core, turn, end)
    if isinstance(recourse, SendAgain):
        return _send_refused(tx, core, turn, recourse, end.usage)
    if isinstance(recourse, AskPerson):
        return end_and_ask(tx, core, turn, replace(end, state=TurnState.INTERRUPTED), recourse.by, recourse.question)
    if isinstance(recourse, ContinueLater):
        return end_and_continue(tx, core, turn, replace(end, state=TurnState.INTERRUPTED, problem=None), None)
    done = items.of_turn(tx, turn.id)
    declined = any(item.kind == NOTICE and item.outcome == NoticeKind.DECLINED for item in done)
    settle = settle_completed if end.state is TurnState.COMPLETED else settle_ended
    thread = _close(tx, core, turn, end, settle)
    if thread is None:
        return False
    where = answer_target(tx, core, thread, turn)
    title = _title_line(tx, core, thread, turn, where)
    said = text_messages.final(end.state, end.text, end.problem, stopped_by(tx, turn, end.state))
    body = bilingual.joined("\n\n", title, said, *end.made.notes)
    note = text_messages.note(turn.origin is Origin.CONTINUATION, declined)
    enqueue_answer(tx, core, turn, where, body, _with_footer(tx, core, thread, turn, end, where, note))
    enqueue_files(tx, core, turn, where, end.made.files if core.max_file_size(where) else ())
    enqueue_end(tx, core, turn, end.state, done)
    _notify(tx, core, thread, turn, end, Follow.ANSWER)
    return True


def _send_refused(tx: Tx, core: Core, turn: Turn, recourse: SendAgain, used: Usage | None) -> bool:
    thread = threads.get(tx, turn.thread)
    if thread is None or not send_again(tx, core, turn, recourse.runtime, was_refused=True):
        return False
    for listener in core.hooks.attempt_listeners:
        listener.attempt_refused(tx, thread, turn, used)
    return True


def _recourse(tx: Tx, core: Core, turn: Turn, end: End) -> Recourse | None:
    if end.state is not TurnState.FAILED or end.problem is None or not core.hooks.failure_handlers:
        return None
    thread = threads.get(tx, turn.thread)
    if thread is None or not turns.is_held(tx, turn) or turns.is_stopping(tx, turn.id):
        return None
    failed = FailedTurn(thread, turn, end.problem, end.has_acted or has_acted(tx, turn, end.items))
    found = (handler.instead_of_failing(tx, failed) for handler in core.hooks.failure_handlers)
    return next((recourse for recourse in found if recourse is not None), None)


def send_elsewhere(tx: Tx, core: Core, turn: Turn, problem: Problem) -> bool:
    """Give a turn that its runtime could not begin to another one, if a capability knows one."""
    recourse = _recourse(tx, core, turn, End(TurnState.FAILED, problem=problem))
    if not isinstance(recourse, SendAgain) or recourse.runtime is None:
        return False
    return send_again(tx, core, turn, recourse.runtime)


def has_acted(tx: Tx, turn: Turn, unwritten: Sequence[Item] = ()) -> bool:
    """Whether a turn may have changed something, by our own items."""
    held = unapproved_items(gates.of_turn(tx, turn.id))
    return may_have_acted([item for item in (*items.of_turn(tx, turn.id), *unwritten) if item.item not in held])


def send_again(tx: Tx, core: Core, turn: Turn, runtime: str | None = None, *, was_refused: bool = False) -> bool:
    """Return a turn that has done nothing to its place in the queue, perhaps for another runtime. `was_refused`: its
    runtime got it."""
    if not turns.requeue(tx, turn, runtime, was_refused=was_refused):
        return False
    settle_cut(tx, core, turn)
    items.clear(tx, turn.id)
    for steer in inbox.open_steers(tx, turn.id) if was_refused else ():
        requeue_steer(tx, core, steer)  # what was said into the refused attempt is not in the next one
    tx.log(turn.thread, turn.id, core.clock.now(), TurnQueued(turn.origin, again=True))
    return True


def end_in_silence(tx: Tx, core: Core, turn: Turn, end: End) -> bool:
    """End a turn that nobody asked for, without an answer."""
    thread = _close(tx, core, turn, end, settle_cut)
    if thread is None:
        return False
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, end.state, ())
    _notify(tx, core, thread, turn, end, Follow.SILENCE)
    return True


def end_and_continue(tx: Tx, core: Core, turn: Turn, end: End, request: tuple[PromptMessage, ...] | None) -> bool:
    """End a turn that was cut off and queue a new one that continues it and gives the answer. `request`: of that; None:
    the same again, with a note."""
    if turns.is_stopping(tx, turn.id):
        return end_turn(tx, core, turn, end)
    begun = _unended(tx, turn, end)
    thread = _close(tx, core, turn, end, settle_cut)
    if thread is None:
        return False
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, end.state, ())
    if request is None:
        request = request_again(tx, core.clock, turn, begun)
    queue_continuation(tx, core.clock, turn, request, Origin.CONTINUATION)
    _notify(tx, core, thread, turn, end, Follow.CONTINUATION)
    return True


def _unended(tx: Tx, turn: Turn, end: End) -> list[str]:
    """Activities that started and have no recorded end."""
    known = {item.item: item for item in (*items.of_turn(tx, turn.id), *end.items)}
    held = unapproved_items(gates.of_turn(tx, turn.id))
    begun = [item for item in known.values() if item.kind not in (TEXT, GATE) and item.item not in held]
    return [f"{item.kind}: {item.title}" for item in begun if item.phase != Phase.DONE and item.title]


def end_and_ask(tx: Tx, core: Core, turn: Turn, end: End, by: SuspendedBy, question: str) -> bool:
    """End a turn that was cut off, suspend its thread and ask a person whether to continue."""
    if turns.is_stopping(tx, turn.id):
        return end_turn(tx, core, turn, end)
    thread = _close(tx, core, turn, end, settle_cut)
    if thread is None:
        return False
    ask(tx, core, thread, turn, by, question)
    enqueue_end(tx, core, turn, end.state, ())
    if threads.suspend(tx, thread.id, by, question):
        log_status(tx, core, thread.id, ThreadStatus.SUSPENDED)
    _notify(tx, core, thread, turn, end, Follow.QUESTION)
    return True


def _title_line(tx: Tx, core: Core, thread: Thread, turn: Turn, where: Conversation | None) -> str:
    """Names the thread of an answer that comes to a chat in which nobody asked for it: to a notify or away target."""
    surface = core.surfaces.get(where.surface) if where else None
    now = turns.get(tx, turn.id) or turn
    if surface is None or not surface.can.chat or where == now.conversation:
        return ""
    return text_messages.answer_of(plain_or_code(thread.title), is_task=thread.kind is ThreadKind.TASK)


def _with_footer(
    tx: Tx, core: Core, thread: Thread, turn: Turn, end: End, where: Conversation | None, note: str
) -> str:
    """In a chat, append duration, tokens and the thread's handle to the note; before them the agent, if there are
    several."""
    surface = core.surfaces.get(where.surface) if where else None
    if surface is None or not surface.can.chat:
        return note
    elapsed = max(0, core.clock.now() - (turn.started_at or turn.queued_at)) / 1000
    agent = agent_name(turn.runtime) if continuity.has_other_agents(tx, turn.session) else ""
    footer = text_messages.footer(elapsed, end.usage.total_tokens if end.usage else 0, thread.name, agent)
    return bilingual.joined(" ", note, footer)


def queue_continuation(
    tx: Tx,
    clock: Clock,
    cut: Turn,
    request: tuple[PromptMessage, ...],
    origin: Origin,
    where: Conversation | None = None,
    runtime: str | None = None,
) -> str:
    """Queue a turn directly behind the one it continues, ahead of all others. Its answer goes to `where`, else to the
    conversation of the turn that was cut off (which may have moved). It runs on `runtime`, else on the same."""
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
        runtime=runtime or next_session(tx, cut).runtime,
        role=cut.role,
        continues=cut.id,
    )
    turns.insert(tx, turn)
    tx.log(turn.thread, turn.id, turn.queued_at, TurnQueued(origin, continues=cut.id))
    return turn.id


def _close(tx: Tx, core: Core, turn: Turn, end: End, settle: Settle) -> Thread | None:
    """Settle the turn's gates, append it to history and end its row. None if the lease is not ours any more. If the
    thread is cancelled, also drop its queue."""
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
        runtime=turn.runtime,
        text=end.text,
        deeds=activities(items.of_turn(tx, turn.id), end.text),
        problem=end.problem,
        usage=end.usage,
        role=turn.role or None,
        stopped_by=stopped_by(tx, turn, end.state),
    )
    node = nodes.append(tx, thread.id, head, outcome)
    if not turns.end(tx, turn, end.state, now, node, end.problem, end.usage):
        raise AssertionError(f"turn {turn.id} changed hands within a transaction")
    if (held.runtime_turn is not None or end.messages) and not _was_refused(tx, turn, end):  # its runtime has seen it
        continuity.set_seen(tx, turn.session, node)
    items.clear(tx, turn.id)
    threads.set_last_turn(tx, thread.id, turn.id)
    tx.log(thread.id, turn.id, now, TurnEnded(end.state, end.problem.text if end.problem else None, outcome.stopped_by))
    if thread.status is ThreadStatus.CANCELLED:
        drop_all_queued(tx, core, thread.id)
    return thread


def stopped_by(tx: Tx, turn: Turn, state: TurnState) -> str | None:
    """The person who stopped the turn. Only the log knows, in which the request is still new."""
    if state is not TurnState.INTERRUPTED:
        return None
    asked = log.data_of(tx, turn.thread, turn.id, EventKind.TURN_STOP_ASKED)
    return json.decode(asked).get("by") or None if asked else None


def _was_refused(tx: Tx, turn: Turn, end: End) -> bool:
    """Whether the account refused the turn. Nobody knows whether its session keeps what it was told with it, so the
    next turn is told again."""
    is_limit = end.problem is not None and end.problem.code == USAGE_LIMIT
    return is_limit and not end.has_acted and not has_acted(tx, turn)


def activities(done: Sequence[Item], answer: str) -> tuple[Deed, ...]:
    """All that the turn did and said, without the final answer. What a sub-agent did follows the call that began it."""
    kept = [item for item in in_tree_order(done) if item.body or item.kind != TEXT]
    if kept and _is_answer(kept[-1], answer):
        kept.pop()
    kept = [item for item in kept if item.kind != ActivityKind.THOUGHT or item.body]
    places = {item.item: place for place, item in enumerate(kept)}
    return tuple(_deed(item, places.get(item.parent or "")) for item in kept)


def _is_answer(item: Item, answer: str) -> bool:
    """Whether the item is the answer, or the part of it that was stored before a daemon died."""
    begins_it = item.phase != Phase.DONE and answer.startswith(item.body)
    return item.kind == TEXT and (item.body == answer or begins_it)


def _deed(item: Item, parent: int | None) -> Deed:
    """An item that started and has no recorded end gets the outcome `unended`."""
    unended = item.kind != TEXT and item.phase != Phase.DONE
    outcome = UNENDED if unended else item.outcome
    title, said = str.__str__(item.title), coded_of(item.title)
    return Deed(item.kind, title, item.body, outcome, item.exit_code, item.folder, said, parent)


def _settle_steers(tx: Tx, core: Core, thread: Thread, turn: Turn, end: End) -> str | None:
    """Append the steers that the runtime's record contains to history; queue each other one as its own turn."""
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
    """Queue a steer that the runtime did not take as its own turn, and notify its sender. If a person stopped the turn
    for which it was meant, it does not run: whoever says stop does not expect the agent to begin again by itself.
    `over`: the thread is cancelled; the caller drops the turn in the same transaction and notifies the sender of that
    instead."""
    if not inbox.move_steer(tx, steer, SteerState.QUEUED):
        return
    where = steer.conversation if over else _driven_from(tx, core, steer)
    steered = turns.get(tx, steer.turn)
    assert steered is not None, steer.turn
    turn = queue_turn(tx, core.clock, next_session(tx, steered), Origin.MESSAGE, (steer.message,), where)
    inbox.change_fate(tx, steer, turn.id)
    tx.log(steer.thread, turn.id, core.clock.now(), SteerQueued(steer.message.id))
    if over:
        return
    if steered.stop_asked:
        drop_queued(tx, core, turn)
        enqueue_dropped_notices(tx, core, [turn], gate_messages.UNREAD_AT_STOP, None)
        return
    enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, steer.conversation, text_messages.STEER_QUEUED)


def _driven_from(tx: Tx, core: Core, steer: Steer) -> Conversation | None:
    """The conversation of the steer, or the one that its thread has moved to since."""
    where, driver = steer.conversation, bindings.driver(tx, steer.thread)
    if where is None or driver is None:
        return where
    is_in_thread = where.surface == core.local_surface or bindings.thread_at(tx, where) == steer.thread
    return driver if is_in_thread else where


def drop_queued(tx: Tx, core: Core, turn: Turn, *, over: bool = False) -> None:
    """Drop a queued turn. Its answer is recorded as superseded, and its open steers are queued as turns of their own
    (it can have some if it was believed to run before it was queued again)."""
    now = core.clock.now()
    if not turns.drop_queued(tx, turn.id, now):
        return
    mark_superseded(tx, core, turn)
    enqueue_end(tx, core, turn, TurnState.INTERRUPTED, ())
    tx.log(turn.thread, turn.id, now, TurnEnded(TurnState.INTERRUPTED))
    for steer in inbox.open_steers(tx, turn.id):
        requeue_steer(tx, core, steer, over=over)


def drop_all_queued(tx: Tx, core: Core, thread: str) -> None:
    """Drop the whole queue of a cancelled thread, and notify the senders."""
    dropped: list[Turn] = []
    while waiting := turns.queued(tx, thread):
        for turn in waiting:
            drop_queued(tx, core, turn, over=True)
        dropped += waiting
    enqueue_dropped_notices(tx, core, dropped, gate_messages.THREAD_OVER, None)
    settle_cancelled(tx, core, thread)


def log_status(tx: Tx, core: Core, thread: str, status: ThreadStatus) -> None:
    tx.log(thread, None, core.clock.now(), StatusChanged(status))


def _notify(tx: Tx, core: Core, thread: Thread, turn: Turn, end: End, follow: Follow) -> None:
    ended = EndedTurn(thread, turn, end.state, follow, end.text, end.problem, end.usage)
    for listener in core.hooks.turn_end_listeners:
        listener.turn_ended(tx, ended)
