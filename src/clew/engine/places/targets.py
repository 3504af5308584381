"""Validates handoff requests and resolves targets, before anything is started."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.enqueue import deliveries_named
from clew.engine.threads.lookup import existing_thread
from clew.model.delivery import DeliveryKind, DeliveryState
from clew.model.events.logged import HandoffRequested
from clew.model.handoff import Handoff, HandoffState
from clew.model.messages import Conversation, Role
from clew.model.surface import Surface
from clew.model.threads import ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, handoffs, people, places
from clew.support.errors import BadInput, Refused
from clew.support.text import clean
from clew.texts import chat_messages
from clew.texts.catalogue import say

HANDOFF_TIMEOUT = 60.0  # seconds in which a handoff has to be completed


class HandoffRequest(Struct, frozen=True):
    """Who wants to move which thread where."""

    thread: str
    target: str  # SURFACE or SURFACE:CONVERSATION
    by: str
    asked_in: Conversation | None = None  # None: by a local client
    say: str = ""
    quiet: bool = False
    may_choose: bool = True  # any conversation; else only the home of a surface
    message_id: str | None = None  # chosen by the asker, who may have to ask again


def request_for(tx: Tx, core: Core, wanted: HandoffRequest) -> Handoff:
    """Create a pending handoff. The same request again gets the same handoff. Raises BadInput or Refused."""
    thread, now = existing_thread(tx, wanted.thread), core.clock.now()
    known = handoffs.by_message(tx, wanted.message_id) if wanted.message_id else None
    if known is not None and known.thread != thread.id:
        raise Refused(say("daemon.idempotency_key_used"))
    if known is not None:
        return known
    target = resolve_target(tx, core, wanted.target, may_choose=wanted.may_choose)
    there = target if ":" in wanted.target else topic_at_home(tx, core, thread.id, target) or target
    if there == bindings.driver(tx, thread.id):
        raise Refused(say("handoffs.there_already", target=str(there)))
    if thread.status is ThreadStatus.CANCELLED:
        raise Refused(chat_messages.cancelled(thread.name))
    handoff = Handoff(
        core.clock.ulid(),
        thread.id,
        target.surface,
        target if ":" in wanted.target else None,
        HandoffState.PENDING,
        clean(wanted.by),
        now,
        now + int(HANDOFF_TIMEOUT * 1000),
        wanted.asked_in,
        clean(wanted.say),
        wanted.quiet,
        message_id=wanted.message_id,
    )
    if not handoffs.request(tx, handoff):
        raise Refused(say("handoffs.under_way"))
    tx.log(thread.id, None, now, HandoffRequested(handoff.id, target.surface))
    return handoff


def resolve_target(tx: Tx, core: Core, target: str, *, may_choose: bool) -> Conversation:
    """The conversation that a target names: `SURFACE:CONVERSATION`, or the home of `SURFACE`."""
    wanted = Conversation.parse(target)
    surface = core.surfaces.get(wanted.surface)
    if surface is None or not surface.can.chat or not surface.can.send:
        chats = [name for name, each in sorted(core.surfaces.items()) if each.can.chat and each.can.send]
        known = chat_messages.listed(chats)
        if surface is None and wanted.surface in core.connectable:
            raise BadInput(say("threads.not_connected", surface=wanted.surface, known=known))
        raise BadInput(say("handoffs.not_a_chat_surface", surface=repr(wanted.surface), known=known))
    if trouble := core.trouble(tx, surface.name):
        raise Refused(say("handoffs.not_connected", surface=surface.name, trouble=trouble))
    if wanted.address and not may_choose:
        raise Refused(say("handoffs.owner_chooses", surface=surface.name))
    return surface.resolve(wanted.address) if wanted.address else home_of(tx, core, surface)


def home_of(tx: Tx, core: Core, surface: Surface) -> Conversation:
    """The conversation in which somebody said `/home`, else the configured one, else the direct chat of the owner.
    Raises Refused if there is none."""
    try:
        return places.home(tx, surface.name) or surface.resolve("")
    except BadInput as none:
        if (direct := owner_chat(tx, core, surface.name)) is not None:
            return direct
        raise Refused(say("handoffs.no_home", surface=surface.name, reason=none.words)) from none


def home_or_none(tx: Tx, core: Core, name: str) -> Conversation | None:
    surface = core.surfaces.get(name)
    try:
        return home_of(tx, core, surface) if surface is not None else None
    except Refused:
        return None


def owner_chat(tx: Tx, core: Core, surface: str) -> Conversation | None:
    """The direct chat of the owner, as long as they may write."""
    found = places.owner_chat(tx, surface)
    if found is None:
        return None
    where, owner = found
    person = people.get(tx, surface, owner)
    if person is None:
        return where if owner in core.allowed(surface) and not people.has_row(tx, surface, owner) else None
    return where if person.role is Role.OWNER else None


def topic_at_home(tx: Tx, core: Core, thread: str, home: Conversation) -> Conversation | None:
    """The topic that the thread has beside or under the home from an earlier handoff."""
    chat = core.parent_of(home) or home
    bound = [where for where, _, _ in bindings.of_threads(tx, [thread]) if where.surface == home.surface]
    return next((where for where in reversed(bound) if core.parent_of(where) == chat), None)


def former_topic(tx: Tx, core: Core, handoff: Handoff, home: Conversation) -> Conversation | None:
    """The topic that it had there, and in which another thread was begun since. Not one that refuses this handoff."""
    chat = core.parent_of(home) or home
    before = [where for where in handoffs.opened_before(tx, handoff) if where != home]
    topics = [where for where in before if core.parent_of(where) == chat]
    return next((where for where in topics if not _has_refused(tx, handoff, where)), None)


def _has_refused(tx: Tx, handoff: Handoff, where: Conversation) -> bool:
    notices = deliveries_named(tx, notice_id(handoff))
    return any(notice.conversation == where and notice.state is DeliveryState.FAILED for notice in notices)


def notice_id(handoff: Handoff) -> str:
    """Of the first message of a handoff."""
    return f"{handoff.id}:{DeliveryKind.HANDOFF}"
