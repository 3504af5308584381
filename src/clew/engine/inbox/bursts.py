"""Bursts: several messages of one person in a row, or the parts of an album, become one request. The first is queued as
a turn that waits a moment; the next ones join it. Each message has its own row and fate before its platform is told
that it was received, so a crash loses none of them."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.gates.answers import refuse_secrets
from clew.model.messages import Fate, Inbound, PromptMessage
from clew.model.threads import Thread
from clew.model.turns import Burst, Turn, TurnState
from clew.store import Tx
from clew.store.tables import inbox, turns
from clew.store.tables.inbox import Arrival
from clew.support.errors import Refused

ALBUM = 3  # an album waits so many times longer: each of its files is fetched before its message is accepted
LONGEST = 5  # a turn waits at most so many times longer than for one message
MOST = 50  # messages of one turn


def burst_of(core: Core, inbound: Inbound) -> Burst | None:
    """How long a turn that begins with this message waits for more. None: it does not."""
    surface = core.surfaces.get(inbound.conversation.surface)
    is_chat = surface is not None and surface.can.chat and bool(inbound.sender_id)
    wait = _wait(core, inbound)
    if not is_chat or not wait or inbound.queue or inbound.pressed:
        return None
    return Burst(core.clock.now() + wait, inbound.sender_id, inbound.album)


def join(tx: Tx, core: Core, thread: str, inbound: Inbound, message: PromptMessage) -> Turn | None:
    """Add the message to the turn that waits for it, or that has its album and has not begun. None: there is none."""
    turn = _queued_with_album(tx, inbound) or _waiting(tx, core, thread, inbound)
    if turn is None or inbound.queue or inbound.pressed or len(turn.request) >= MOST:
        return None
    if turn.burst is None:
        return turn if turns.set_request(tx, turn.id, (*turn.request, message)) else None
    now, wait = core.clock.now(), _wait(core, inbound)
    latest = turn.queued_at + LONGEST * wait
    return turn if turns.join(tx, turn, message, max(turn.burst.until, min(now + wait, latest))) else None


def refuse_caption(tx: Tx, inbound: Inbound, thread: Thread | None) -> Arrival | None:
    """Refuse the words of an album's part if they may be a secret that is asked for."""
    try:
        if inbound.text.strip():
            refuse_secrets(tx, thread)
    except Refused as refused:
        return Arrival(Fate.REFUSED, None, None, refused.words)
    return None


def album_of(tx: Tx, inbound: Inbound) -> Arrival | None:
    """What became of another part of its album, whose later parts go the same way: in a group, only one of them has the
    text that names clew. None: it is not such a part."""
    return inbox.of_album(tx, inbound.conversation, inbound.album) if inbound.album else None


def _queued_with_album(tx: Tx, inbound: Inbound) -> Turn | None:
    before = album_of(tx, inbound)
    turn = turns.get(tx, before.turn) if before is not None and before.turn else None
    return turn if turn is not None and turn.state is TurnState.QUEUED else None


def _waiting(tx: Tx, core: Core, thread: str, inbound: Inbound) -> Turn | None:
    """The newest queued turn, if it waits for more messages of this sender in this conversation."""
    queued = turns.queued(tx, thread)
    turn = queued[-1] if queued else None
    if turn is None or turn.burst is None or turn.conversation != inbound.conversation:
        return None
    return turn if turn.burst.sender_id == inbound.sender_id and core.clock.now() <= turn.burst.until else None


def _wait(core: Core, inbound: Inbound) -> int:
    """In milliseconds."""
    return int(core.config.inbox.debounce * 1000) * (ALBUM if inbound.album else 1)
