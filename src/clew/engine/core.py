"""What every room of the engine shares, and nothing that decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clew.clock import Clock
from clew.config import Config
from clew.engine.live import Live
from clew.errors import BadInput
from clew.model import Conversation
from clew.runtimes.base import Runtime
from clew.store import Store
from clew.surfaces.base import Surface


@dataclass(frozen=True, slots=True)
class Core:
    store: Store
    clock: Clock
    config: Config
    incarnation: str  # this daemon: the owner of every lease it takes
    runtimes: Mapping[str, Runtime]
    surfaces: Mapping[str, Surface]
    live: Live
    workspace: str  # for threads that begin where there is no folder

    def reaches(self, where: Conversation | None) -> bool:
        """Whether an answer can be brought there by us, rather than fetched by them."""
        surface = self.surfaces.get(where.surface) if where else None
        if where is None or surface is None or not surface.can.send:
            return False
        try:
            return surface.resolve(where.address) == where
        except BadInput:
            return False

    def can_steer(self, runtime: str) -> bool:
        known = self.runtimes.get(runtime)
        return known is not None and known.can.steer
