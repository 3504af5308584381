"""What is stored of a session, to come back to it."""

from __future__ import annotations

import logging
import uuid

import msgspec

from clew.model.threads import Continuity
from clew.support.clock import Clock

log = logging.getLogger(__name__)


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """The id of a session. We choose it, and store it before Claude gets its first message. Its process already runs
    then, so that a Claude that cannot be started is known before a turn is sent; until that message it writes nothing,
    and an id that was never stored is lost without harm."""

    session: str
    is_untold: bool = False  # Claude gets the history of our thread with the first turn
    source: str | None = None  # it begins as a copy of this session, with its first turn
    at: str | None = None  # up to this message of it

    @classmethod
    def read(cls, continuity: Continuity) -> Position | None:
        try:
            found = msgspec.json.decode(continuity.data, type=cls)
            return found if str(uuid.UUID(found.session)) == found.session else None
        except (msgspec.DecodeError, ValueError):
            log.warning("cannot read the stored continuity %.200r; starting a new session", continuity.data)
            return None

    def continuity(self) -> Continuity:
        return Continuity(msgspec.json.encode(self).decode())


def new_id(clock: Clock) -> str:
    """Claude takes only a UUID as the id of a session."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, clock.ulid()))
