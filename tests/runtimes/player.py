"""Plays the parts of `clew.testing.scripted_model.script` that the test agents need. It uses only the standard library,
because these agents are started often and must start fast."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol


class AgentActions(Protocol):
    """What an agent does for each step of its script."""

    async def say(self, text: str) -> None: ...

    async def ask(self, command: str) -> bool: ...

    async def other(self, name: str, rest: str) -> None: ...


class Player:
    def __init__(self, holds: Path, mouth: AgentActions) -> None:
        self._holds = holds
        self._mouth = mouth

    async def play(self, prompt: str) -> None:
        lines = [line.strip() for line in prompt.splitlines()]
        for line in lines:
            if line.startswith("!"):
                name, _, rest = line[1:].partition(" ")
                await self._step(name, rest)

    async def _step(self, name: str, rest: str) -> None:
        match name:
            case "text":
                for number, word in enumerate(rest.split(" ")):
                    await self._mouth.say(f" {word}" if number else word)
            case "hold":
                await hold(self._holds / rest)
            case "approve" | "both":
                await asyncio.gather(*map(self._ask, rest.split(" | ")))
            case "shell":
                await run(rest)
            case _:
                await self._mouth.other(name, rest)

    async def _ask(self, command: str) -> None:
        if await self._mouth.ask(command):
            await run(command)


async def run(command: str, folder: str | None = None) -> None:
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", command, stdout=-3, start_new_session=True, cwd=folder
    )
    try:
        await child.wait()
    except asyncio.CancelledError:
        os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        raise


async def hold(pipe: Path) -> None:
    """Wait until another process writes to the pipe; opening it for writing blocks until we read."""
    pipe.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        os.mkfifo(pipe, 0o600)
    written = asyncio.Event()
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    asyncio.get_running_loop().add_reader(descriptor, written.set)
    try:
        await written.wait()
    finally:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


async def stdin() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader
