"""Read-only queries: threads, turns and deliveries as views for clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from clew.engine.account_limits import waits_in_place
from clew.engine.core import Core
from clew.engine.gates import suspension_prompt
from clew.engine.threads.lookup import find_thread, no_thread
from clew.engine.turns import turn_policy
from clew.model import history
from clew.model.gate_views import Verdict
from clew.model.history import Node
from clew.model.threads import ListPosition, SessionKey, SuspendedBy, Thread, ThreadFilter, ThreadStatus
from clew.model.turns import Turn, TurnState, in_tree_order
from clew.model.views import (
    BoundView,
    ContinuityView,
    ItemView,
    Page,
    QueuedView,
    ThreadView,
    TurnView,
)
from clew.store import Tx
from clew.store.tables import bindings, gates, items, nodes, preludes, threads, turns
from clew.store.tables import continuity as continuity_table
from clew.store.tables.threads import Damaged, ThreadSummary
from clew.support.coded import Coded, Text, coded_in, with_texts
from clew.support.errors import NotFound, SearchTooLong, UnreadableRow
from clew.support.text import visible
from clew.texts import chat_messages
from clew.texts.catalogue import say

WALK = 500  # nodes per read
SLICE = 500  # threads per part of a search
MOST_DIGITS = 19  # of a number that a column holds
SHORT = 60  # characters of an answer that may be only what clew says of an empty one


async def find(core: Core, prefix: str, *, exact: bool = False) -> str:
    """The id of the only thread that this names: see `find_thread`."""
    return await core.store.read(lambda tx: find_thread(tx, prefix, exact=exact))


async def page(core: Core, wanted: ThreadFilter) -> Page:
    if wanted.newest:
        wanted = replace(wanted, limit=1)
    elif wanted.text:
        return await _search(core, wanted)
    return await core.store.read(lambda tx: _page(tx, core, wanted, threads.page(tx, wanted)))


def _page(tx: Tx, core: Core, wanted: ThreadFilter, rows: Sequence[ThreadSummary]) -> Page:
    is_full = len(rows) == wanted.limit and not wanted.newest
    return Page(_views(tx, core, rows), str(_position(rows[-1])) if is_full else None)


def _position(row: ThreadSummary) -> ListPosition:
    return ListPosition(row.thread.active_at, row.thread.id)


async def position(core: Core, name: str) -> ListPosition:
    """A place in the list: `next` of a page, or whatever names a thread."""
    thread, _, at = name.rpartition("@")
    if thread.isalnum() and at.isdecimal() and len(at) <= MOST_DIGITS:
        return ListPosition(int(at), thread)
    return await core.store.read(lambda tx: threads.position(tx, find_thread(tx, name)))


async def _search(core: Core, wanted: ThreadFilter) -> Page:
    """Search in parts: it may have to read every answer, so it has a deadline, and its error says how far it got."""
    rows: list[ThreadSummary] = []
    searched: list[ListPosition] = []  # the end of each part that was searched

    def read(tx: Tx) -> Page:
        for part in threads.slices(tx, wanted, SLICE):
            rows.extend(threads.page(tx, replace(part, limit=wanted.limit - len(rows))))
            if len(rows) == wanted.limit or part.since is None:
                break
            searched.append(part.since)
        return _page(tx, core, wanted, rows)

    try:
        return await core.store.search(read)
    except SearchTooLong as error:
        raise _given_up(error, searched, len(rows)) from error


def _given_up(error: SearchTooLong, searched: Sequence[ListPosition], found: int) -> SearchTooLong:
    if not searched:
        return SearchTooLong(say("threads.search_unfinished", error=error.words))
    return SearchTooLong(say("threads.search_partial", error=error.words, oldest=str(searched[-1]), found=found))


async def thread(core: Core, name: str) -> ThreadView:
    def read(tx: Tx) -> ThreadView:
        row = threads.summary(tx, name)
        if row is None:
            raise no_thread(name)
        return _views(tx, core, [row])[0]

    return await core.store.read(read)


async def turn(core: Core, name: str) -> TurnView:
    def read(tx: Tx) -> TurnView:
        row = turns.get(tx, name)
        if row is None:
            raise NotFound(chat_messages.no_turn(name))
        return _turn_view(tx, row)

    return await core.store.read(read)


async def queue(core: Core, name: str) -> list[QueuedView]:
    """The queued messages of a thread, in order."""
    rows = await core.store.read(lambda tx: turns.queued(tx, name))
    return [
        QueuedView(
            row.id, said.id, said.author, said.text, row.queued_at, tuple(file.name for file in said.attachments)
        )
        for row in rows
        for said in row.request
    ]


async def continuity(core: Core, name: str) -> list[ContinuityView]:
    """The links of a thread to its runtimes, with their health."""
    links = await core.store.read(lambda tx: continuity_table.links(tx, name))
    return [await _session_view(core, link) for link in links]


async def _session_view(core: Core, link: continuity_table.RuntimeLink) -> ContinuityView:
    runtime = core.runtimes.get(link.runtime)
    health = await runtime.health() if runtime is not None else None
    return with_texts(
        ContinuityView(
            runtime=link.runtime,
            status=link.status,
            reference=link.reference,
            used_at=link.used_at,
            restarts=link.restarts,
            health=health.state if health else None,
            reason=link.trouble or (health.reason if health else say("threads.runtime_gone")),
            role=link.role,
            began=link.began,
            seen=link.seen,
        )
    )


async def verify(core: Core, name: str | None) -> AsyncIterator[Verdict]:
    """Check the hashes of a thread's history, or of all: one verdict per thread."""
    if name is not None:
        yield await _verify(core, name)
        return
    after = ""
    while names := await core.store.read(partial(threads.ids, after=after, limit=WALK)):
        for each in names:
            yield await _verify(core, each)
        after = names[-1]


async def _verify(core: Core, name: str) -> Verdict:
    """Walk from the newest node to the first; the verdict names the oldest bad one. Every node that a turn names must
    be among them: otherwise the head was set back."""
    digest, named = await core.store.read(lambda tx: (threads.head(tx, name), turns.named_nodes(tx, name)))
    seen: set[str] = set()
    bad, reason = None, None
    while digest is not None:
        try:
            walked = await core.store.read(partial(nodes.back_from, head=digest, limit=WALK))
        except UnreadableRow as error:
            return with_texts(Verdict(name, False, len(seen), digest, error.words))
        if not walked:
            return with_texts(Verdict(name, False, len(seen), digest, say("threads.node_missing")))
        for node in walked:
            if node.hash in seen:
                return with_texts(Verdict(name, False, len(seen), node.hash, say("threads.history_loops")))
            seen.add(node.hash)
            if (trouble := _trouble(node)) is not None:
                bad, reason = node.hash, trouble
        digest = walked[-1].prev
    lost = next((node for node in named if node not in seen), None)
    if bad is None and lost is not None:
        bad, reason = lost, say("threads.head_set_back")
    return with_texts(Verdict(name, bad is None, len(seen), bad, reason))


def _trouble(node: Node) -> str | None:
    if not history.is_sound(node):
        return say("threads.hash_differs")
    try:
        history.read(node)
    except ValueError:
        return say("threads.node_unreadable", type=visible(node.type))
    return None


def _views(tx: Tx, core: Core, rows: Sequence[ThreadSummary]) -> tuple[ThreadView, ...]:
    codes = gates.open_codes(tx)
    bound: dict[str, list[BoundView]] = defaultdict(list)
    for where, name, drives in bindings.of_threads(tx, [row.thread.id for row in rows]):
        if where.surface != core.local_surface:
            bound[name].append(BoundView(where.surface, str(where), drives))
    running = turns.sessions(tx, [row.live_turn for row in rows if row.live_turn is not None])
    views = (
        _view(tx, row, codes, tuple(bound.get(row.thread.id, ())), running.get(row.live_turn or "")) for row in rows
    )
    complete = (_with_held(core, _with_other_agent(tx, core, view)) for view in views)
    return tuple(_with_policy_now(tx, core, row.thread, view) for row, view in zip(rows, complete, strict=True))


def _with_policy_now(tx: Tx, core: Core, thread: Thread | Damaged, view: ThreadView) -> ThreadView:
    """Says if a turn runs under another policy than the thread's own, and why."""
    if isinstance(thread, Damaged):
        return view
    now = turn_policy.policy_now(tx, core, thread, core.runtimes.get(thread.runtime))
    if not now.reason:
        return view
    texts = {**view.texts, **coded_in(policy_reason=now.reason)}
    return replace(view, policy_now=now.policy, policy_reason=str.__str__(now.reason), texts=texts)


def _with_held(core: Core, view: ThreadView) -> ThreadView:
    """Says why the next turn of a thread does not start yet."""
    is_queued = view.queued > 0 and view.status == ThreadStatus.IDLE
    why = core.held.get(view.id) or (waits_in_place(core, view.runtime) if is_queued else None)
    return replace(view, held=str.__str__(why), texts={**view.texts, **coded_in(held=why)}) if why else view


def _with_other_agent(tx: Tx, core: Core, view: ThreadView) -> ThreadView:
    if not view.suspended_by:
        return view
    other = suspension_prompt.other_agent(tx, core, view.id, SuspendedBy(view.suspended_by))
    return replace(view, other_agent=other) if other else view


def _shown_turn(row: ThreadSummary) -> str | None:
    return row.live_turn or _last_turn(row)


def _view(
    tx: Tx,
    seen: ThreadSummary,
    codes: Mapping[str, tuple[str, ...]],
    bound: tuple[BoundView, ...],
    running: SessionKey | None,
) -> ThreadView:
    row = seen.thread
    if isinstance(row, Damaged):
        return _damaged(row)
    try:
        return _readable_view(tx, seen, row, codes, bound, running)
    except UnreadableRow as error:
        return _damaged(Damaged(row.id, error.brief))


def _readable_view(
    tx: Tx,
    seen: ThreadSummary,
    row: Thread,
    codes: Mapping[str, tuple[str, ...]],
    bound: tuple[BoundView, ...],
    running: SessionKey | None,
) -> ThreadView:
    waits, last = suspension_prompt.question(row), _last_line(tx, seen)
    return ThreadView(
        id=row.id,
        status="running" if seen.live_turn else row.status,
        kind=row.kind,
        title=row.title,
        runtime=row.runtime,
        workspace=row.workspace,
        head=row.head,
        created_at=row.created_at,
        completed_at=row.completed_at,
        suspended_by=row.suspended_by,
        suspend_message=waits,
        notify_target=row.notify_target,
        notification_status=_notification(row, seen.receipt),
        notified_at=seen.sent_at,
        notification_error=seen.error,
        model=row.model,
        effort=row.effort,
        forked_from=row.forked_from,
        turn=_shown_turn(seen),
        queued=seen.queued,
        last_line=last,
        policy=row.policy,
        priority=row.priority,
        fallback=row.choices.fallback,
        on_limit=row.choices.on_limit,
        limit_waits=row.choices.limit_waits,
        quiet_hours=row.choices.quiet_hours,
        gates=codes.get(row.id, ()),
        adopted=seen.adopted,
        bound=bound,
        asks=suspension_prompt.prompt_id(tx, row),
        turn_runtime=running.runtime if running else seen.last_runtime,
        turn_role=running.role if running else seen.last_role,
        handle=row.handle,
        active_at=row.active_at,
        wake_at=row.wake_at if row.suspended_by is SuspendedBy.LIMIT else None,
        texts=_texts(row.title, waits, seen.error, last),
    )


def _texts(title: str, waits: str | None, error: str | None, last: str | None) -> dict[str, Coded]:
    """Like `with_texts`, but quick: most threads of a page have no sentence of clew."""
    if Text not in (type(title), type(waits), type(error), type(last)):
        return {}
    return coded_in(title=title, suspend_message=waits, notification_error=error, last_line=last)


def _last_line(tx: Tx, seen: ThreadSummary) -> str | None:
    """The last line of the newest answer. What clew adds to an answer is a sentence with a code, since the delivery has
    it in the language of its chat."""
    if seen.answer_end is None:
        return None
    if seen.last_state == TurnState.INTERRUPTED:
        return _interrupted_mark(tx, seen)
    if seen.last_state == TurnState.FAILED:
        return chat_messages.failed_mark(seen.problem)
    if len(seen.answer_end) <= SHORT and _is_wordless(tx, seen.node):
        return chat_messages.WORDLESS
    return next((line.strip() for line in reversed(seen.answer_end.splitlines()) if line.strip()), None)


def _interrupted_mark(tx: Tx, seen: ThreadSummary) -> Text:
    """Whether a person stopped it, or it was cut off and another turn continues it."""
    name = _last_turn(seen)
    row = turns.get(tx, name) if name else None
    is_cut = row is not None and not row.stop_asked and turns.continuation_of(tx, row) is not None
    if is_cut:
        return chat_messages.CUT_CONTINUES_MARK
    outcome = _outcome(tx, seen.node)
    return chat_messages.stopped_mark(outcome.stopped_by if outcome is not None else None)


def _last_turn(seen: ThreadSummary) -> str | None:
    return seen.thread.last_turn if isinstance(seen.thread, Thread) else None


def _is_wordless(tx: Tx, digest: str | None) -> bool:
    outcome = _outcome(tx, digest)
    return outcome is not None and not outcome.text


def _outcome(tx: Tx, digest: str | None) -> history.Outcome | None:
    node = nodes.get(tx, digest) if digest else None
    content = nodes.content(tx, node) if node and history.is_sound(node) else None
    return content if isinstance(content, history.Outcome) else None


def _notification(row: Thread, receipt: str | None) -> str | None:
    """The state of the newest answer's delivery; `pending` if there is none yet but a notify target."""
    if receipt is None:
        return "pending" if row.notify_target else None
    return "pending" if receipt in ("sending", "superseded") else receipt


def _damaged(row: Damaged) -> ThreadView:
    return with_texts(
        ThreadView(
            id=row.id,
            status="damaged",
            kind="",
            title=say("threads.damaged", reason=row.reason),
            runtime="",
            workspace="",
            head=None,
            created_at=0,
            active_at=row.active_at if row.active_at < threads.LAST else 0,
            completed_at=None,
            suspended_by=None,
            suspend_message=None,
            notify_target=None,
            notification_status=None,
            notified_at=None,
            notification_error=None,
        )
    )


def _turn_view(tx: Tx, row: Turn) -> TurnView:
    node = nodes.get(tx, row.node) if row.node else None
    content = nodes.content(tx, node) if node else None
    outcome = content if isinstance(content, history.Outcome) else None
    return with_texts(
        TurnView(
            id=row.id,
            thread=row.thread,
            state=row.state,
            origin=row.origin,
            request="\n\n".join(said.text for said in row.request),
            text=outcome.text if outcome else "",
            error=row.problem.text if row.problem else None,
            usage=row.usage,
            queued_at=row.queued_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
            continues=row.continues,
            continued_by=turns.continuation_of(tx, row),
            items=deeds(outcome) if outcome else open_items(tx, row.id),
            runtime=row.runtime,
            role=row.role,
            prelude=preludes.summaries(tx, [row.id]).get(row.id),
            stopped_by=outcome.stopped_by if outcome else None,
        )
    )


def open_items(tx: Tx, name: str) -> tuple[ItemView, ...]:
    return tuple(
        with_texts(
            ItemView(
                item.item,
                item.kind,
                item.phase,
                item.title,
                item.body,
                item.outcome,
                item.exit_code,
                parent=item.parent,
            )
        )
        for item in in_tree_order(items.of_turn(tx, name))
    )


def deeds(outcome: history.Outcome) -> tuple[ItemView, ...]:
    return tuple(with_texts(_deed_view(str(number), deed)) for number, deed in enumerate(outcome.deeds))


def _deed_view(name: str, deed: history.Deed) -> ItemView:
    parent = str(deed.parent) if deed.parent is not None else None
    return ItemView(name, deed.kind, "done", deed.text, deed.body, deed.outcome, deed.exit_code, parent=parent)
