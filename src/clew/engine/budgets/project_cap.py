"""Holds a turn back while enough others run in its folder (`turns.per_project`). The scheduler looks at it again when
one of them ends, or waits for a person."""

from __future__ import annotations

from clew.engine.core import Core
from clew.store import Tx
from clew.store.tables import turns


class ProjectCap:
    """A guard of a claim."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._most = core.config.turns.per_project

    def holds_back(self, tx: Tx, thread: str) -> bool:
        if not self._most or turns.claimable(tx, thread, self._core.clock.now()) is None:
            return False
        return turns.count_running_beside(tx, thread) >= self._most
