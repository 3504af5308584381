"""What every room of the engine shares, and nothing that decides anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct, field

from clew.config.settings import Config
from clew.engine.live import Live
from clew.engine.seams import Hooks
from clew.model.events import LimitWindow
from clew.model.events.accounts import Refusal
from clew.model.events.long_text import shortened
from clew.model.gates import Answer, Policy
from clew.model.messages import Conversation
from clew.model.runtime import ModelInfo, Runtime
from clew.model.surface import Receipt, Surface
from clew.store import Store, Tx
from clew.store.tables import deliveries
from clew.support.clock import Clock
from clew.support.coded import Text
from clew.support.errors import BadInput, StoreError
from clew.support.text import clean

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Core(Struct, frozen=True):
    store: Store
    clock: Clock
    config: Config
    incarnation: str  # this daemon: the owner of every lease it takes
    runtimes: Mapping[str, Runtime]
    surfaces: Mapping[str, Surface]
    live: Live
    workspace: str  # for threads that begin where there is no folder
    files: Path | None = None  # where what agents made is kept until it is sent; None: it stays where it is
    hooks: Hooks = Hooks()
    connectable: frozenset[str] = frozenset()  # surfaces that `clew connect` can set up
    local_surface: str = "cli"  # what is said there comes from a client of ours, which fetches its answer itself
    answers: dict[str, Answer] = field(default_factory=dict)  # by gate: in memory only, since an answer may be secret
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by conversation of a front end: what it was asked
    new_rules: set[str] = field(default_factory=set)  # threads whose open gates a new rule may answer
    models: dict[str, tuple[ModelInfo, ...]] = field(default_factory=dict)  # that runtimes offered when last asked
    held: dict[str, Text] = field(default_factory=dict)  # threads whose next turn waits for memory, and why
    limits: dict[str, dict[str, LimitWindow]] = field(default_factory=dict)  # by runtime: what was stored last
    refusals: dict[str, Refusal] = field(default_factory=dict)  # by runtime: accounts at their usage limit
    there: dict[str, tuple[float, bool]] = field(default_factory=dict)  # runtimes: when looked at, and if installed
    edits: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)  # by edited message
    broken: dict[str, str] = field(default_factory=dict)  # surfaces that receive nothing, and why
    down: dict[str, str] = field(default_factory=dict)  # surfaces that could not be reached at the last try, and why

    async def write_with_retry(self, body: Callable[[Tx], T]) -> T:
        """A write that must not be lost because the disk is full or the file is locked for a while."""
        return await self._retry(self.store.write, body, "does not take what happened")

    async def read_with_retry(self, body: Callable[[Tx], T]) -> T:
        """A read of what clew does by itself, where nobody waits who could be told that it failed."""
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

    def editing(self, receipt: Receipt) -> asyncio.Lock:
        """Held during an edit of a message, so that of two edits the later one is what stays."""
        return self.edits.setdefault(f"{receipt.conversation} {receipt.message_id}", asyncio.Lock())

    def storable(self, text: str) -> str:
        """A text of an agent as it may be stored, also of a runtime that does not bound it by itself."""
        return shortened(clean(text), self.config.turns.longest_text)

    def can_send_to(self, where: Conversation | None) -> bool:
        """Whether an answer can be brought there by us, rather than fetched by them."""
        surface = self.surfaces.get(where.surface) if where else None
        if where is None or surface is None or not surface.can.send:
            return False
        try:
            return surface.resolve(where.address) == where
        except BadInput:
            return False

    def parent_of(self, where: Conversation) -> Conversation | None:
        """The chat that a thread or topic of the platform is in; None: it is in no other conversation."""
        surface = self.surfaces.get(where.surface)
        if surface is None or not surface.can.threads:
            return None
        try:
            return surface.parent(where)
        except BadInput:
            return None

    def trouble(self, tx: Tx, surface: str) -> str:
        """Why a surface is out of reach; empty while it is not, or while nothing is tried there that would tell."""
        down = self.down.get(surface, "")
        is_tried = bool(down) and deliveries.has_unsent(tx, surface)
        return self.broken.get(surface) or self.surfaces[surface].trouble or (down if is_tried else "")

    def max_file_size(self, where: Conversation | None) -> int:
        """How large a file may be that is brought there; 0: none is."""
        surface = self.surfaces.get(where.surface) if where else None
        return surface.can.files if surface is not None and self.files is not None else 0

    def allowed(self, surface: str) -> tuple[str, ...]:
        """Who may speak there because the config says so."""
        return tuple(getattr(self.config.surfaces.get(surface), "allow", ()))

    @property
    def default_policy(self) -> Policy:
        return Policy(self.config.threads.policy)

    def can_steer(self, runtime: str) -> bool:
        known = self.runtimes.get(runtime)
        return known is not None and known.can.steer
