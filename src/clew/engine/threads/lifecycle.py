"""Lifecycle of threads: open, stop, finish, cancel. Each change is a compare-and-set and is refused if the thread
is in another state."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from clew.engine.account_limits import default_account, require_installed
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_dropped_notices
from clew.engine.gates import suspension_prompt
from clew.engine.gates.lifecycle import stop_turn
from clew.engine.turns.completion import drop_all_queued, drop_queued
from clew.engine.turns.parked import stop_parked
from clew.engine.turns.suspension import none_waits
from clew.model import history
from clew.model.events.logged import StatusChanged, ThreadCreated
from clew.model.gates import Policy
from clew.model.messages import Conversation, Inbound
from clew.model.threads import Priority, SuspendedBy, Thread, ThreadKind, ThreadStatus
from clew.model.turns import Turn, TurnState
from clew.model.views import NewThread
from clew.store import Tx
from clew.store.tables import bindings, nodes, threads, turns
from clew.store.tables.places import Place
from clew.support.errors import BadInput, NotFound, Refused
from clew.support.text import clean
from clew.texts import chat_messages, gate_messages
from clew.texts.catalogue import say

TITLE = 60  # characters


class Opening(Struct, frozen=True):
    """The initial values of a new thread."""

    title: str
    kind: ThreadKind = ThreadKind.CHAT
    runtime: str | None = None
    workspace: str | None = None
    model: str | None = None
    effort: str | None = None
    policy: Policy | None = None
    notify: Conversation | None = None
    bind: Conversation | None = None
    id: str | None = None
    adopted: str | None = None  # id of the adopted session
    priority: Priority = Priority.NORMAL

    @classmethod
    def of_message(cls, inbound: Inbound, place: Place) -> Opening:
        """For the first message of a conversation: a chat thread bound to it, with the settings made there."""
        return cls(
            title_of(inbound.text) or ", ".join(file.name for file in inbound.attachments),
            runtime=place.runtime or inbound.runtime,
            model=place.model,
            effort=place.effort,
            policy=place.policy,
            workspace=place.workspace or inbound.workspace,
            bind=inbound.conversation,
            id=inbound.begins,
        )

    @classmethod
    def of_request(cls, core: Core, new: NewThread) -> Opening:
        """A thread that a client asks for. Raises BadInput for what could never work."""
        return cls(
            clean(new.title or "").strip() or title_of(new.text) or ", ".join(file.name for file in new.attachments),
            new.kind,
            _known_runtime(core, new.runtime),
            real_folder(new.workspace) if new.workspace else None,
            new.model,
            new.effort,
            new.policy,
            notify_target(core, new.notify) if new.notify else None,
            id=new.id,
            priority=new.priority,
        )


def unusual(priority: Priority) -> Priority | None:
    """The priority as an event has it: None is the usual one."""
    return priority if priority is not Priority.NORMAL else None


def open_thread(tx: Tx, core: Core, opening: Opening) -> Thread:
    now = core.clock.now()
    thread = Thread(
        id=opening.id or core.clock.ulid(),
        kind=opening.kind,
        status=ThreadStatus.IDLE,
        title=opening.title,
        runtime=opening.runtime or default_account(tx, core),
        workspace=opening.workspace or core.workspace,
        created_at=now,
        model=opening.model,
        effort=opening.effort,
        policy=opening.policy or core.default_policy,
        notify_target=str(opening.notify) if opening.notify else None,
        priority=opening.priority,
    )
    threads.insert(tx, thread)
    start = history.Started(thread.id, now, thread.kind, thread.runtime, thread.workspace, opening.adopted)
    nodes.append(tx, thread.id, None, start)
    if opening.bind is not None:
        bindings.bind(tx, opening.bind, thread.id, now)
    tx.log(thread.id, None, now, ThreadCreated(thread.kind, thread.title, priority=unusual(thread.priority)))
    return thread


def ask_stop(tx: Tx, core: Core, thread: Thread, by: str, here: Conversation | None = None) -> Turn:
    """Stop the running turn, or else drop the next queued one; the queue behind it goes on. `here`: the conversation
    that asks for it, which needs no notice."""
    if thread.suspended_by is SuspendedBy.LIMIT and (dropped := stop_parked(tx, core, thread, here, by)) is not None:
        return dropped
    running = turns.live(tx, thread.id)
    waiting = turns.queued(tx, thread.id) if running is None and thread.status is ThreadStatus.IDLE else []
    if waiting:
        drop_queued(tx, core, waiting[0])
        enqueue_dropped_notices(tx, core, waiting[:1], gate_messages.STOPPED_FIRST, here)
        return waiting[0]
    if running is None:
        raise Refused(chat_messages.nothing_runs(thread.name))
    stop_turn(tx, core, thread.id, running.id, by)
    return running


def unqueue(tx: Tx, core: Core, name: str) -> None:
    """Withdraw a queued turn. Raises Refused if it has started."""
    turn = turns.get(tx, name)
    if turn is None:
        raise NotFound(chat_messages.no_turn(name))
    if turn.state is not TurnState.QUEUED:
        raise Refused(chat_messages.not_queued(turn.id))
    drop_queued(tx, core, turn)
    enqueue_dropped_notices(tx, core, [turn], gate_messages.TAKEN_BACK, None)
    none_waits(tx, core, turn.thread, gate_messages.TAKEN_BACK)


def finish(tx: Tx, core: Core, thread: Thread) -> None:
    """Complete a thread on request of a person."""
    if thread.status is ThreadStatus.COMPLETED:
        return
    if turns.live(tx, thread.id):
        raise Refused(chat_messages.still_works(thread.name))
    if waiting := turns.count_queued(tx, thread.id):
        raise Refused(chat_messages.has_queued(thread.name, waiting))
    if thread.status is ThreadStatus.CANCELLED:
        raise Refused(chat_messages.is_cancelled(thread.name))
    _finish(tx, core, thread, ThreadStatus.COMPLETED)


def cancel(tx: Tx, core: Core, thread: Thread, by: str) -> None:
    """Cancel a thread for good: stop its running turn and drop its queue. Idempotent."""
    if thread.status is ThreadStatus.CANCELLED:
        return
    if thread.status is ThreadStatus.COMPLETED:
        raise Refused(say("threads.completed_already", thread=thread.name))
    drop_all_queued(tx, core, thread.id)
    if turns.live(tx, thread.id):
        ask_stop(tx, core, thread, by)
    _finish(tx, core, thread, ThreadStatus.CANCELLED)


def title_of(text: str) -> str:
    first = next((line.strip() for line in clean(text).splitlines() if line.strip()), "")
    return first if len(first) <= TITLE else f"{first[: TITLE - 1]}…"


def _finish(tx: Tx, core: Core, thread: Thread, status: ThreadStatus) -> None:
    now = core.clock.now()
    if thread.status is ThreadStatus.SUSPENDED:
        suspension_prompt.show_outcome(
            tx,
            core,
            thread,
            gate_messages.THREAD_DONE if status is ThreadStatus.COMPLETED else gate_messages.THREAD_OVER,
        )
    if not threads.finish(tx, thread.id, thread.status, status, now):
        raise Refused(say("threads.changed_meanwhile", thread=thread.name))
    tx.log(thread.id, None, now, StatusChanged(status))


def _known_runtime(core: Core, name: str | None) -> str | None:
    """Check that the runtime, or the default if None, exists, and that one that was chosen is installed."""
    wanted = name or core.config.threads.runtime
    if wanted not in core.runtimes:
        raise BadInput(chat_messages.unknown_runtime(wanted, sorted(core.runtimes)))
    if name is not None:
        require_installed(core, name)
    return name


def real_folder(path: str) -> str:
    try:
        folder = Path(path).expanduser()
        is_there = folder.is_absolute() and folder.is_dir()
    except (OSError, RuntimeError, ValueError):
        is_there = False
    if not is_there:
        raise BadInput(chat_messages.no_folder(path))
    return str(folder)


def notify_target(core: Core, target: str) -> Conversation:
    """Parse and check a notify target."""
    wanted = Conversation.parse(target)
    surface = core.surfaces.get(wanted.surface)
    if surface is None or not surface.can.send:
        known = chat_messages.listed(sorted(name for name, known in core.surfaces.items() if known.can.send))
        if surface is None and wanted.surface in core.connectable:
            raise BadInput(say("threads.not_connected", surface=wanted.surface, known=known))
        raise BadInput(
            say("threads.not_a_notify_target", target=repr(target), surface=repr(wanted.surface), known=known)
        )
    return surface.resolve(wanted.address)
