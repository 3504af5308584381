"""Looking: threads, turns, transcripts and receipts as the outside sees them. It changes nothing, ever."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial

from clew import chain
from clew.chain import Node
from clew.engine.core import Core
from clew.errors import BadInput, NotFound, Refused
from clew.model import Thread, Turn
from clew.store import Tx, bindings, deliveries, gates, items, nodes, threads, turns
from clew.store.threads import Damaged, Filter, Seen
from clew.views import ContinuityView, ItemView, Page, Passage, ThreadView, TurnView, Verdict, WhereRow

WALK = 500  # nodes per read


async def find(core: Core, prefix: str) -> str:
    """The one thread whose id begins so."""
    wanted = prefix.strip().upper()
    if not wanted or not wanted.isalnum():
        raise BadInput(f"{prefix!r} is no thread id; `clew threads` lists them.")
    found = await core.store.read(lambda tx: threads.matching(tx, wanted))
    if not found:
        raise NotFound(f"There is no thread {prefix}; `clew threads` and `clew threads --history` list them.")
    if len(found) > 1 and found[0] != wanted:
        raise Refused(f"{prefix} could be {found[0]} or {found[1]}, or others; give more of the id.")
    return found[0]


async def page(core: Core, wanted: Filter) -> Page:
    def read(tx: Tx) -> Page:
        rows, codes = threads.page(tx, wanted), gates.open_codes(tx)
        return Page(tuple(_view(row, codes) for row in rows), rows[-1].thread.id if len(rows) == wanted.limit else None)

    return await core.store.read(read)


async def thread(core: Core, name: str) -> ThreadView:
    row, codes = await core.store.read(lambda tx: (threads.see(tx, name), gates.open_codes(tx)))
    if row is None:
        raise _no_thread(name)
    return _view(row, codes)


async def turn(core: Core, name: str) -> TurnView:
    def read(tx: Tx) -> TurnView:
        row = turns.get(tx, name)
        if row is None:
            raise NotFound(f"There is no turn {name}.")
        return _turn_view(tx, row)

    return await core.store.read(read)


async def transcript(core: Core, name: str, limit: int) -> list[Passage]:
    """The newest part of a thread's history, in order, and what is being said right now."""

    def read(tx: Tx) -> list[Passage]:
        row = known(tx, name)
        told = [_passage(node) for node in reversed(nodes.back_from(tx, row.head, limit))]
        running = turns.live(tx, row.id)
        now = [_running(tx, running)] if running else []
        return [passage for passage in (*told, *now) if passage is not None]

    return await core.store.read(read)


async def continuity(core: Core, name: str) -> list[ContinuityView]:
    """How each runtime that has met a thread stands to it."""
    return [await _bond(core, bond) for bond in await core.store.read(lambda tx: bindings.bonds(tx, name))]


async def _bond(core: Core, bond: bindings.Bond) -> ContinuityView:
    runtime = core.runtimes.get(bond.runtime)
    health = await runtime.health() if runtime is not None else None
    reason = bond.trouble or (health.reason if health else "there is no such runtime any more")
    state = health.state if health else None
    return ContinuityView(bond.runtime, bond.status, bond.reference, bond.used_at, bond.restarts, state, reason)


async def where(core: Core, name: str) -> list[WhereRow]:
    """The receipts of a thread."""
    rows = await core.store.read(lambda tx: deliveries.of_thread(tx, name))
    return [
        WhereRow(
            row.id,
            row.kind,
            str(row.conversation) if row.conversation else None,
            row.state,
            row.attempts,
            row.message_id,
            row.sent_at,
            row.error,
        )
        for row in rows
    ]


async def verify(core: Core, name: str | None) -> AsyncIterator[Verdict]:
    """Whether history is what was written: one verdict per thread. A damaged one does not hide the others."""
    if name is not None:
        yield await _verify(core, name)
        return
    after = ""
    while names := await core.store.read(partial(threads.ids, after=after, limit=WALK)):
        for each in names:
            yield await _verify(core, each)
        after = names[-1]


async def _verify(core: Core, name: str) -> Verdict:
    """From the newest node back to the first; the oldest bad one is named."""
    digest = await core.store.read(lambda tx: threads.head(tx, name))
    count, bad, reason = 0, None, None
    while digest is not None:
        walked = await core.store.read(partial(nodes.back_from, head=digest, limit=WALK))
        if not walked:
            return Verdict(name, False, count, digest, "this node is missing; what came before it cannot be reached")
        for node in walked:
            count += 1
            if (trouble := _trouble(node)) is not None:
                bad, reason = node.hash, trouble
        digest = walked[-1].prev
    return Verdict(name, bad is None, count, bad, reason)


def _trouble(node: Node) -> str | None:
    if not chain.is_sound(node):
        return "its content does not match its hash"
    try:
        chain.read(node)
    except ValueError as error:
        return str(error)
    return None


def known(tx: Tx, name: str) -> Thread:
    row = threads.get(tx, name)
    if row is None:
        raise _no_thread(name)
    return row


def _no_thread(name: str) -> NotFound:
    return NotFound(f"There is no thread {name}; `clew threads` lists them.")


def _view(seen: Seen, codes: Mapping[str, tuple[str, ...]]) -> ThreadView:
    row = seen.thread
    if isinstance(row, Damaged):
        return _damaged(row)
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
        suspend_message=row.suspend_message,
        notify_target=row.notify_target,
        notification_status=_notification(row, seen.receipt),
        notified_at=seen.sent_at,
        notification_error=seen.error,
        model=row.model,
        effort=row.effort,
        forked_from=row.forked_from,
        turn=seen.live_turn or row.last_turn,
        queued=seen.queued,
        last_line=_last_line(seen.answer_end or ""),
        policy=row.policy,
        gates=codes.get(row.id, ()),
        adopted=seen.adopted,
    )


def _last_line(text: str) -> str | None:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def _notification(row: Thread, receipt: str | None) -> str | None:
    """Pending once there is a target; then as the newest answer's delivery stands."""
    if receipt is None:
        return "pending" if row.notify_target else None
    return "pending" if receipt in ("sending", "superseded") else receipt


def _damaged(row: Damaged) -> ThreadView:
    return ThreadView(
        id=row.id,
        status="damaged",
        kind="",
        title=f"cannot be read: {row.reason}",
        runtime="",
        workspace="",
        head=None,
        created_at=0,
        completed_at=None,
        suspended_by=None,
        suspend_message=None,
        notify_target=None,
        notification_status=None,
        notified_at=None,
        notification_error=None,
    )


def _turn_view(tx: Tx, row: Turn) -> TurnView:
    node = nodes.get(tx, row.node) if row.node else None
    content = chain.read(node) if node else None
    outcome = content if isinstance(content, chain.Outcome) else None
    return TurnView(
        id=row.id,
        thread=row.thread,
        state=row.state,
        origin=row.origin,
        request="\n\n".join(said.text for said in row.request),
        text=outcome.text if outcome else "",
        error=row.problem.message if row.problem else None,
        usage=row.usage,
        queued_at=row.queued_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        continues=row.continues,
        continued_by=turns.continuation_of(tx, row),
        items=_deeds(outcome) if outcome else _open_items(tx, row.id),
    )


def _open_items(tx: Tx, name: str) -> tuple[ItemView, ...]:
    return tuple(
        ItemView(item.item, item.kind, item.phase, item.title, item.body, item.outcome, item.exit_code)
        for item in items.of_turn(tx, name)
    )


def _deeds(outcome: chain.Outcome) -> tuple[ItemView, ...]:
    return tuple(
        ItemView(str(number), deed.kind, "done", deed.title, deed.body, deed.outcome, deed.exit_code)
        for number, deed in enumerate(outcome.deeds)
    )


def _passage(node: Node) -> Passage | None:
    try:
        content = chain.read(node)
    except ValueError:
        return Passage("clew", "clew", f"(node {node.hash[:12]} is damaged; `clew verify` tells more)", 0, None)
    match content:
        case chain.Spoken():
            role = "clew" if content.author == "clew" else "person"
            files = tuple(file.name for file in content.attachments)
            outside = bool(content.outside)
            return Passage(role, content.author, content.text, content.at, content.turn, files=files, outside=outside)
        case chain.Outcome():
            text = content.text or (content.problem.message if content.problem else "")
            return Passage(
                "agent",
                content.runtime,
                text,
                content.at,
                content.turn,
                content.state,
                _deeds(content),
                outside=bool(content.outside),
            )
        case chain.Forked():
            return Passage("clew", "clew", f"(forked from {content.source})", content.at, None)
        case chain.Started(adopted=None):
            return None
        case chain.Started():
            told = f"(taken over from the {content.runtime} session {content.adopted})"
            return Passage("clew", "clew", told, content.at, None)


def _running(tx: Tx, row: Turn) -> Passage:
    so_far = _open_items(tx, row.id)
    return Passage("agent", row.runtime or "", "", row.started_at or row.queued_at, row.id, row.state, so_far)
