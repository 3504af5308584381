"""Claudes that an earlier daemon left at work. Claude finishes its turn without the daemon, but takes silence for a no
wherever it asks, and tells the model so. So one whose turn needs nobody may finish, and its answer is in the
transcript; one that asks is ended, and its turn was cut. Only then may another process use the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from enum import Enum

from clew.model.runtime import RecordState
from clew.process import scan
from clew.process.scan import Mark, Process
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import Clock

log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds between two looks
SILENCE = 600.0  # seconds without a new row in the transcript until it is given up
EXIT = 2.0  # seconds that it may take to exit after its last row


class Orphan:
    """One Claude, with all that it has started."""

    def __init__(self, config: ClaudeConfig, clock: Clock, session: str, process: Process, mark: Mark) -> None:
        self.session = session
        self.rows = asyncio.Event()  # set and replaced whenever it has written something, and at its end
        self._config = config
        self._clock = clock
        self._process = process
        self._mark = mark
        self._is_ending = False
        self._size = -1  # of the transcript, when it was read last
        self._grown_at = clock.monotonic()
        self._patience = SILENCE
        self._over = asyncio.get_running_loop().create_task(self._finish())

    @property
    def is_over(self) -> bool:
        return self._over.done()

    async def end(self) -> None:
        """End it now, whatever it does."""
        if not self._is_ending:
            self._over.cancel()
        await asyncio.wait((self._over,))

    async def _finish(self) -> None:
        """Wait until it has exited, or says nothing any more, or asks; then end what is left of it."""
        try:
            while await self._may_go_on():
                await self._clock.sleep(PAUSE)
        finally:
            self._is_ending = True
            try:
                await scan.end_all(self._family, self._clock)
            finally:
                self._note_rows()

    async def _may_go_on(self) -> bool:
        if not scan.is_alive(self._process):
            return False
        size = await asyncio.to_thread(_size, self._config, self.session)
        if size != self._size:
            self._size, self._grown_at = size, self._clock.monotonic()
            state = await asyncio.to_thread(state_of, self._config, self.session)
            self._patience = EXIT if state is State.ENDED else SILENCE if state is State.WORKS else 0.0
            self._note_rows()
        return self._clock.monotonic() - self._grown_at < self._patience

    def _note_rows(self) -> None:
        rows, self.rows = self.rows, asyncio.Event()
        rows.set()

    def _family(self) -> list[Process]:
        """Also if it has ended: what it started has its mark."""
        return scan.marked(self._mark)


class Orphans:
    """Those of one runtime, by session."""

    def __init__(self, config: ClaudeConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._found: dict[str, Orphan] = {}

    async def take_over(self, left: Mapping[int, str]) -> frozenset[int]:
        """Of these processes (with their starts), return those that may finish."""
        found = await asyncio.to_thread(lambda: list(_finishing(self._config, left)))
        for session, process, mark in found:
            log.info("Claude, pid %d, may finish the turn that an earlier daemon began", process.pid)
            self._found[session] = Orphan(self._config, self._clock, session, process, mark)
        return frozenset(process.pid for _, process, _ in found)

    def of(self, session: str) -> Orphan | None:
        """The one that uses this session still."""
        found = self._found.get(session)
        return found if found is not None and not found.is_over else None

    async def close(self) -> None:
        await asyncio.gather(*(each.end() for each in self._found.values()))


class State(Enum):
    """What the newest turn of a session does."""

    WORKS = "works"
    ASKS = "asks"  # Claude asks about each tool, so a turn that is at one needs somebody
    ENDED = "ended"


def state_of(config: ClaudeConfig, session: str) -> State:
    from clew.runtimes.claude.record import lookup, transcript  # few daemons find anything to take over

    path = transcript.find(config, session)
    newest = transcript.turns(transcript.conversation(path))[-1:] if path is not None else []
    for turn in newest:
        if lookup.asks(turn):
            return State.ASKS
        if lookup.as_record(turn).state in (RecordState.COMPLETED, RecordState.FAILED):
            return State.ENDED
    return State.WORKS  # perhaps on what is not written yet


def _finishing(config: ClaudeConfig, left: Mapping[int, str]) -> Iterator[tuple[str, Process, Mark]]:
    """Those of which the own mark can be read: without it nobody could tell what they have started."""
    from clew.runtimes.claude.record import open_sessions

    for opened in open_sessions.read_all(config):
        process = scan.get(opened.pid) if opened.pid in left else None
        if process is None or process.started != left[opened.pid] or not opened.is_of(process):
            continue
        if process.mark is not None and state_of(config, opened.session_id) is not State.ASKS:
            yield opened.session_id, process, process.mark


def _size(config: ClaudeConfig, session: str) -> int:
    from clew.runtimes.claude.record import transcript

    path = transcript.find(config, session)
    return path.stat().st_size if path is not None else 0
