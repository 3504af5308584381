"""Away mode for callers: where questions for the local client are sent while the person is not there."""

from __future__ import annotations

from clew.engine.core import Core
from clew.engine.places import away
from clew.engine.places.targets import resolve_target
from clew.model.views import AwayView
from clew.store import Tx
from clew.store.tables import places


class AwayService:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def set(self, target: str | None) -> AwayView:
        """Redirect questions for the local client to `target` while the person is away; None: they are back."""

        def body(tx: Tx) -> None:
            if target is None:
                away.back(tx, self._core)
            else:
                away.go(tx, self._core, resolve_target(tx, self._core, target, may_choose=True))

        await self._core.store.write(body)
        return await self.target()

    async def target(self) -> AwayView:
        where = await self._core.store.read(places.away)
        return AwayView(str(where) if where else None)
