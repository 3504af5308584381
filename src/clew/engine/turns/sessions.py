"""Keeps open sessions, one per thread, runtime and role, up to a limit. What a runtime needs to resume a session is
stored before the first turn is sent to it, so that a turn can always be looked up."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from clew.engine.core import Core
from clew.engine.turns.turn_policy import TurnPolicy, choose_policy, record_policy
from clew.model.gates import Asked, Policy, Rule
from clew.model.runtime import Reseatable, Runtime, Seat, Session
from clew.model.shared_sessions import PastTurn
from clew.model.threads import Continuity, SessionBegan, SessionKey, Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import continuity, rules, threads
from clew.support import crash
from clew.support.errors import NoRuntime
from clew.texts import chat_messages
from clew.texts.catalogue import say

Settings = tuple[str | None, str | None, Policy]  # model, effort and policy
MAX_OPEN = 64  # sessions
_log = logging.getLogger(__name__)


class SharedWith(Protocol):
    """Knows which sessions other programs use too, and opens those."""

    def has(self, key: SessionKey) -> bool: ...

    def free(self, key: SessionKey) -> None:
        """Called when a turn in the session has ended."""

    def unasked(self, key: SessionKey, turn: PastTurn) -> None:
        """Called when the agent has made a turn by itself."""

    async def enter(self, thread: Thread, seat: Seat, runtime: Runtime) -> Session:
        """Raises RuntimeTrouble."""


class Sessions:
    def __init__(self, core: Core, shared: SharedWith) -> None:
        self._core = core
        self._shared = shared
        self._open: OrderedDict[SessionKey, Session] = OrderedDict()
        self._stored: dict[SessionKey, Continuity | None] = {}
        self._settings: dict[SessionKey, Settings] = {}  # with which each open session works
        self._locks: dict[SessionKey, asyncio.Lock] = {}
        self._busy: set[SessionKey] = set()
        self._freed = asyncio.Event()  # set and replaced whenever a turn is over
        self._attach_modes: dict[SessionKey, str] = {}
        self._policies: dict[SessionKey, TurnPolicy] = {}  # of open sessions
        self._recorded: dict[SessionKey, Policy | None] = {}  # the recorded policies of open sessions' newest turns

    async def open(self, thread: Thread, key: SessionKey, *, for_turn: bool = False) -> Session:
        """Return this session of the thread, opening it if necessary, and mark it busy. For a new turn, the session
        gets the settings that the thread has now. Raises RuntimeTrouble."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            session = self._open.get(key)
            if key not in self._busy:
                self._attach_modes[key] = "warm"
            if session is not None and for_turn:  # recovery may not have released it yet
                session = await self._with_settings_of(thread, key, session)
            is_new = session is None
            if session is None:
                session = await self._open_new(thread, key, for_turn=for_turn)
            self._open[key] = session
            self._open.move_to_end(key)
            self._busy.add(key)
            if is_new:
                await self._record_opened(key, session)
            else:
                await self.save_continuity(key, session)
        return session

    async def record_policy(self, thread: Thread, turn: Turn) -> None:
        """Record under which policy a turn of an open session runs, and tell people if that has changed. A thread that
        never had the policy `sandbox` needs no record."""
        key, now = turn.session, self._policies[turn.session]
        recorded = self._recorded.get(key)
        if now.policy is recorded or (recorded is None and thread.policy is not Policy.SANDBOX):
            return
        await record_policy(self._core, turn, recorded, now)
        self._recorded[key] = now.policy

    async def _with_settings_of(self, thread: Thread, key: SessionKey, session: Session) -> Session | None:
        """The open session with the settings of the thread's next turn. None: it was closed, to be opened with them."""
        now = await choose_policy(self._core, thread, self._runtime(key))
        seat = await self._core.read_with_retry(lambda tx: self._seat(tx, thread, key, now.policy))
        self._policies[key] = now
        if self._settings.get(key) == _settings_of(seat):
            return session
        if not isinstance(session, Reseatable):
            await self.drop(key)
            return None
        await session.reseat(seat)
        self._settings[key] = _settings_of(seat)
        return session

    async def save_continuity(self, key: SessionKey, session: Session) -> None:
        """Store what the runtime needs to resume the session, if it changed."""
        now = session.continuity()
        if now is None or now == self._stored.get(key):
            return
        await self._core.write_with_retry(lambda tx: continuity.save(tx, key, now))
        self._stored[key] = now

    async def release(self, key: SessionKey) -> None:
        """Mark a session idle after a turn, and close the oldest idle ones above the limit."""
        self._busy.discard(key)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
        self._shared.free(key)
        while len(self._open) > MAX_OPEN and (oldest := self._oldest_idle()) is not None:
            await self.close_if_idle(oldest)

    async def wait_idle(self, key: SessionKey) -> None:
        """Wait until no turn uses the session."""
        while key in self._busy:
            await self._freed.wait()

    async def close_if_idle(self, key: SessionKey) -> bool:
        """Close the session, so that other programs can use it. False: a turn uses it."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key in self._busy:
                return False
            await self.drop(key)
        return True

    def is_open(self, key: SessionKey) -> bool:
        return key in self._open

    def is_shared(self, key: SessionKey) -> bool:
        """Whether other programs use the session too."""
        return self._shared.has(key)

    def attach_mode(self, key: SessionKey, is_known: bool) -> str:
        """How the runtime gets at the thread: `warm` (open session), `resumed`, or `cold` (a new session, which gets
        the history)."""
        if key in self._busy:
            return self._attach_modes[key]
        return "warm" if key in self._open else "resumed" if is_known else "cold"

    async def drop(self, key: SessionKey) -> None:
        """Close the session, busy or not."""
        session = self._open.pop(key, None)
        self._attach_modes.pop(key, None)
        self._stored.pop(key, None)
        self._policies.pop(key, None)
        self._recorded.pop(key, None)
        self._settings.pop(key, None)
        self._busy.discard(key)
        if session is not None:
            await session.close()

    def _oldest_idle(self) -> SessionKey | None:
        return next((key for key in self._open if key not in self._busy), None)

    def _runtime(self, key: SessionKey) -> Runtime:
        runtime = self._core.runtimes.get(key.runtime)
        if runtime is None:
            known = chat_messages.listed(sorted(self._core.runtimes))
            raise NoRuntime(say("turns.no_runtime", name=repr(key.runtime), known=known))
        return runtime

    async def _open_new(self, thread: Thread, key: SessionKey, *, for_turn: bool) -> Session:
        """Open a session with the policy of the next turn, or, to look up a turn, with the one under which it ran."""
        runtime = self._runtime(key)
        next_policy = await choose_policy(self._core, thread, runtime)

        def read(tx: Tx) -> tuple[Seat, TurnPolicy, Policy | None]:
            recorded = continuity.policy(tx, key)
            policy = next_policy if for_turn or recorded is None else TurnPolicy(recorded)
            return self._seat(tx, thread, key, policy.policy), policy, recorded

        seat, self._policies[key], self._recorded[key] = await self._core.read_with_retry(read)
        self._stored[key] = seat.continuity
        self._settings[key] = _settings_of(seat)
        if seat.lent:
            session = await self._shared.enter(thread, seat, runtime)
        else:
            session = await runtime.open(seat)
        self._attach_modes[key] = "resumed" if self._began(key, session) is SessionBegan.RESUMED else "cold"
        return session

    async def _record_opened(self, key: SessionKey, session: Session) -> None:
        """Store how a new session began, together with what the runtime needs to resume it."""
        began, now = self._began(key, session), session.continuity()
        is_changed = now is not None and now != self._stored.get(key)

        def body(tx: Tx) -> None:
            continuity.record_opened(tx, key, began)
            if now is not None and is_changed:
                continuity.save(tx, key, now)

        if is_changed:
            crash.point("session.opened-not-kept")
        await self._core.write_with_retry(body)
        self._stored[key] = now

    def _began(self, key: SessionKey, session: Session) -> SessionBegan:
        """How a session began. A plugin written before sessions reported that is taken at what it was given."""
        if hasattr(session, "began"):
            return session.began()
        return SessionBegan.RESUMED if self._stored.get(key) is not None else SessionBegan.FRESH

    def _seat(self, tx: Tx, thread: Thread, key: SessionKey, policy: Policy) -> Seat:
        stored, fork = continuity.get(tx, key)
        is_own = key.runtime == thread.runtime  # its model and effort are names of that runtime
        return Seat(
            thread.id,
            thread.workspace,
            stored,
            fork,
            thread.model if is_own else None,
            thread.effort if is_own else None,
            policy,
            has_past=threads.has_past(tx, thread.id),
            longest_text=self._core.config.turns.longest_text,
            role=key.role,
            lent=self.is_shared(key),
            on_unasked=lambda turn: self._shared.unasked(key, turn),
            is_restricted=lambda asked: self._is_restricted(thread, asked),
        )

    async def _is_restricted(self, thread: Thread, asked: Asked) -> bool:
        now, where = self._core.clock.now(), thread.workspace
        known = await self._core.read_with_retry(lambda tx: rules.of_scopes(tx, thread.id, where))
        return await asyncio.to_thread(_is_restricted, asked, where, known, now, thread.id)


def _settings_of(seat: Seat) -> Settings:
    return seat.model, seat.effort, seat.policy


def _is_restricted(asked: Asked, workspace: str, known: Sequence[Rule], now: int, thread: str) -> bool:
    from clew.engine.rules.decide import is_restricted  # with the first request: most daemons start without one

    return is_restricted(asked, workspace, known, now, thread)
