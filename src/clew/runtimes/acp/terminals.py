"""Commands that an agent has us run: in the workspace of its thread, in a process group of their own, marked as ours.
Their output is kept up to a limit, and what is beyond it is dropped from the front."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from contextlib import suppress
from typing import Any

from clew import processes
from clew.errors import BadInput
from clew.processes import Mark
from clew.runtimes.acp.files import inside
from clew.runtimes.acp.wire import TerminalRequest

LIMIT = 1_000_000  # bytes of output, where the agent names no limit


class Terminal:
    def __init__(self, process: asyncio.subprocess.Process, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._output = bytearray()
        self._truncated = False
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(65536):
            self._output += chunk
            if (over := len(self._output) - self._limit) > 0:
                del self._output[:over]
                self._truncated = True

    def output(self) -> dict[str, Any]:
        text = bytes(self._output).decode(errors="ignore" if self._truncated else "replace")
        ended = {"exitStatus": self._status()} if self._process.returncode is not None else {}
        return {"output": text, "truncated": self._truncated, **ended}

    async def exit(self) -> dict[str, Any]:
        await self._process.wait()
        return self._status()

    def _status(self) -> dict[str, Any]:
        code = self._process.returncode or 0
        return {"exitCode": code if code >= 0 else None, "signal": signal.Signals(-code).name if code < 0 else None}

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


class Terminals:
    """Of one session."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._open: dict[str, Terminal] = {}
        self._count = 0

    async def create(self, request: TerminalRequest, mark: Mark) -> str:
        """Raises BadInput and OSError."""
        where = inside(self._workspace, request.cwd or ".")
        own = {each.name: each.value for each in request.env if not each.name.startswith("CLEW_")}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        process = await asyncio.create_subprocess_exec(
            *argv(request),
            cwd=where,
            env={**inherited, **own, processes.VARIABLE: str(mark)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._count += 1
        limit = LIMIT if request.output_byte_limit is None else max(0, request.output_byte_limit)
        self._open[f"terminal-{self._count}"] = Terminal(process, min(limit, LIMIT))
        return f"terminal-{self._count}"

    def get(self, id: str) -> Terminal:
        if id not in self._open:
            raise BadInput(f"there is no terminal {id!r}")
        return self._open[id]

    async def release(self, id: str) -> None:
        await self.get(id).end()
        self._open.pop(id, None)

    async def end_all(self) -> None:
        open_now, self._open = self._open, {}
        for terminal in open_now.values():
            await terminal.end()


def argv(request: TerminalRequest) -> list[str]:
    """A command without arguments is a line for the shell."""
    if not request.command:
        raise BadInput("a terminal needs a command")
    return [request.command, *request.args] if request.args else ["/bin/sh", "-c", request.command]


def shown(request: TerminalRequest) -> str:
    return shlex.join([request.command, *request.args]) if request.args else request.command
