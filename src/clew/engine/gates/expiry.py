"""Reminds once of an open gate, and expires it if the config says so. Woken by commits and timers, without polling."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from clew.engine.core import Core
from clew.engine.gates import cards
from clew.engine.gates.lifecycle import expire_gate
from clew.model.events.kinds import EventKind
from clew.model.events.logged import GateReminded
from clew.model.gates import Gate
from clew.store import Entry, Tx
from clew.store.tables import gates


class GateExpiry:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._wake = asyncio.Event()

    def committed(self, entries: Sequence[Entry]) -> None:
        """The store's listener."""
        if any(entry.kind == EventKind.GATE_OPENED for entry in entries):
            self._wake.set()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            due = await self._core.write_with_retry(self._pass)
            await self._sleep(due)

    def _pass(self, tx: Tx) -> int | None:
        """Remind and expire what is due. Returns the time of the next one."""
        now = self._core.clock.now()
        times = [tx.attempt(partial(self._check_gate, tx, gate, now), None) for gate in gates.all_open(tx)]
        return min((time for time in times if time is not None), default=None)

    def _check_gate(self, tx: Tx, gate: Gate, now: int) -> int | None:
        expires, reminds = self._times(gate)
        if expires is not None and expires <= now:
            expire_gate(tx, self._core, gate)
            return None
        if reminds is not None and reminds <= now:
            reminds = None
            if gates.mark_reminded(tx, gate):
                cards.remind(tx, self._core, gate)
                tx.log(gate.thread, gate.turn, now, GateReminded(gate.id, gate.code))
        return min((time for time in (expires, reminds) if time is not None), default=None)

    def _times(self, gate: Gate) -> tuple[int | None, int | None]:
        config = self._core.config.gates
        expires = gate.asked_at + int(config.expire_after * 1000) if config.expire_after else None
        reminds = gate.asked_at + int(config.remind_after * 1000) if config.remind_after else None
        return expires, None if gate.reminded else reminds

    async def _sleep(self, due: int | None) -> None:
        wait = None if due is None else max(0.0, (due - self._core.clock.now()) / 1000)
        try:
            async with asyncio.timeout(wait):
                await self._wake.wait()
        except TimeoutError:
            return
