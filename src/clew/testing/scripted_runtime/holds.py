"""Implements `!hold NAME`: waits until `release(NAME)` is called, or another process writes to the named pipe NAME."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from clew.support import private_files


class Holds:
    """With a named pipe, a test in another process can wait without polling until a turn is held: opening the pipe for
    writing blocks until we read."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._events: dict[str, asyncio.Event] = {}
        self._reached: dict[str, asyncio.Event] = {}

    def release(self, name: str) -> None:
        self._event(name).set()

    async def held(self, name: str) -> None:
        """Wait until a turn has reached this hold."""
        await self._reached.setdefault(name, asyncio.Event()).wait()

    async def wait(self, name: str) -> None:
        self._reached.setdefault(name, asyncio.Event()).set()
        if self._folder is None:
            await self._event(name).wait()
            return
        private_files.make_folder(self._folder)
        await _readable(self._pipe(name))

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())

    def _pipe(self, name: str) -> Path:
        assert self._folder is not None
        path = self._folder / Path(name).name
        with suppress(FileExistsError):  # the waiting process may create it at the same moment
            os.mkfifo(path, 0o600)
        return path


async def _readable(path: Path) -> None:
    loop = asyncio.get_running_loop()
    written = asyncio.Event()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop.add_reader(descriptor, written.set)
    try:
        await written.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
