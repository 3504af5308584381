"""What all engine packages share: the store, the clock, the config, the adapters. It decides nothing."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field

from clew.config.settings import Config, section
from clew.engine.live import Live
from clew.model.gates import Answer, Policy
from clew.model.long_text import shortened
from clew.model.messages import Conversation
from clew.model.runtime import Runtime
from clew.model.surface import Surface
from clew.store import Store, Tx
from clew.store.tables import deliveries
from clew.support.clock import Clock
from clew.support.errors import BadInput, StoreError
from clew.support.text import clean

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Core(Struct, frozen=True):
    store: Store
    clock: Clock
    config: Config
    incarnation: str  # id of this daemon process, the owner of its leases
    runtimes: Mapping[str, Runtime]
    surfaces: Mapping[str, Surface]
    live: Live
    workspace: str  # default folder of threads
    files: Path | None = None  # where files of answers are stored until they are sent; None: files are not sent
    local_surface: str = "cli"  # surface name of local clients (CLI, API), which fetch their answers themselves
    answers: dict[str, Answer] = field(default_factory=dict)  # by gate; in memory only, since an answer may be secret
    broken: dict[str, str] = field(default_factory=dict)  # surfaces that receive nothing, with the reason
    down: dict[str, str] = field(default_factory=dict)  # surfaces that the last send could not reach, with the reason

    async def write_with_retry(self, body: Callable[[Tx], T]) -> T:
        """Write; if the store fails (disk full, file locked), retry until it works."""
        return await self._retry(self.store.write, body, "does not take what happened")

    async def read_with_retry(self, body: Callable[[Tx], T]) -> T:
        """Read; if the store fails, retry until it works. For background work, where nobody waits for an error."""
        return await self._retry(self.store.read, body, "cannot be read")

    async def _retry(
        self, access: Callable[[Callable[[Tx], T]], Awaitable[T]], body: Callable[[Tx], T], trouble: str
    ) -> T:
        wait = 1.0
        while True:
            try:
                return await access(body)
            except StoreError as error:
                _log.error("the store %s, trying again in %.0f s: %s", trouble, wait, error.message)
                await self.clock.sleep(wait)
                wait = min(wait * 2, 30.0)

    def storable(self, text: str) -> str:
        """An agent's text, cleaned and shortened to the configured length, as it may be stored."""
        return shortened(clean(text), self.config.turns.longest_text)

    def can_send_to(self, where: Conversation | None) -> bool:
        """Whether we can send to this conversation (a local client fetches its answers instead)."""
        surface = self.surfaces.get(where.surface) if where else None
        if where is None or surface is None or not surface.can.send:
            return False
        try:
            return surface.resolve(where.address) == where
        except BadInput:
            return False

    def trouble(self, tx: Tx, surface: str) -> str:
        """Why a surface cannot be reached; empty if it can, or if no delivery is pending that would show it."""
        down = self.down.get(surface, "")
        has_pending = bool(down) and deliveries.is_owed(tx, surface)
        return self.broken.get(surface) or self.surfaces[surface].trouble or (down if has_pending else "")

    def max_file_size(self, where: Conversation | None) -> int:
        """The largest file, in bytes, that can be sent there; 0: none."""
        surface = self.surfaces.get(where.surface) if where else None
        return surface.can.files if surface is not None and self.files is not None else 0

    def allowed(self, surface: str) -> tuple[str, ...]:
        """Ids of the senders that the config allows on a surface."""
        return tuple(getattr(section(self.config.surfaces, surface), "allow", ()))

    @property
    def default_policy(self) -> Policy:
        return Policy(self.config.threads.policy)

    def can_steer(self, runtime: str) -> bool:
        known = self.runtimes.get(runtime)
        return known is not None and known.can.steer
