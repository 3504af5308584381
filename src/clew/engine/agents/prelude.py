"""Prepares a turn by its prelude: what happened in the thread that the turn's session does not know. It is stored with
the turn before it is sent, so that a turn that is sent again carries the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from clew.engine.agents import past
from clew.engine.agents.prelude_text import write
from clew.engine.core import Core
from clew.model.runtime import TurnRequest
from clew.model.threads import Thread
from clew.model.turns import Prelude, Turn
from clew.store import Tx
from clew.store.tables import continuity, preludes
from clew.support import crash

NOTHING = Prelude("", None, "", 0, 0, 0)


class PreludePreparer:
    """The first preparer: it runs when the session is open, and so known to have begun anew or not."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def prepare(self, thread: Thread, turn: Turn, request: TurnRequest) -> TurnRequest:
        text = await self._stored_text(turn)
        return replace(request, prelude=text, whole=partial(self._stored_text, turn, whole=True))

    async def _stored_text(self, turn: Turn, *, whole: bool = False) -> str:
        """The text of the prelude, which is stored. `whole`: for a session that knows nothing any more."""
        stored, wanted = await self._core.read_with_retry(lambda tx: self._find(tx, turn, whole=whole))
        if wanted != (stored or NOTHING):
            await self._core.write_with_retry(lambda tx: _store(tx, turn.id, wanted))
            crash.point("prelude.stored-not-sent")
        return wanted.text

    def _find(self, tx: Tx, turn: Turn, *, whole: bool) -> tuple[Prelude | None, Prelude]:
        """What is stored, and what the session has to be told. It is the same if the turn is sent again."""
        seen, stored = None if whole else continuity.seen(tx, turn.session), preludes.get(tx, turn.id)
        if stored is not None and (stored.runtime, stored.since) == (turn.runtime, seen):
            return stored, stored
        return stored, self._write(tx, turn, seen)

    def _write(self, tx: Tx, turn: Turn, seen: str | None) -> Prelude:
        found = past.since(tx, turn, seen)
        written = write(
            turn.id,
            found.contents,
            self._budget(turn.runtime),
            turn.runtime,
            is_new=seen is None,
            is_complete=found.is_complete,
        )
        if not written.text:
            return NOTHING
        now = self._core.clock.now()
        return Prelude(turn.runtime, seen, written.text, written.messages, written.left_out, now)

    def _budget(self, runtime: str) -> int:
        own: object = getattr(_table(self._core.config.runtimes, runtime), "prelude", None)
        return own if isinstance(own, int) else self._core.config.turns.prelude


def _table(tables: Mapping[str, object], runtime: str) -> object:
    """The settings of a runtime: its own table, or one below the table of its plugin, as `acp.goose`."""
    if runtime in tables:
        return tables[runtime]
    return next((each[runtime] for each in tables.values() if isinstance(each, Mapping) and runtime in each), None)


def _store(tx: Tx, turn: str, prelude: Prelude) -> None:
    if prelude.text:
        preludes.put(tx, turn, prelude)
    else:
        preludes.remove(tx, turn)
