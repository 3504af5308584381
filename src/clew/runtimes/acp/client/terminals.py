"""Runs commands for an agent: in the workspace of its thread, in their own process group, marked as clew's. Output
beyond a limit is dropped, oldest first."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from clew.model.events import ActivityKind
from clew.process import scan
from clew.process.scan import Mark, Process
from clew.runtimes.acp.approvals.plans import SETS_VARIABLES, SHELL, Env, Plan
from clew.runtimes.acp.client.files import inside
from clew.runtimes.acp.wire import TerminalRequest
from clew.runtimes.process import EXIT_GRACE, inherited_environment, within
from clew.support.clock import Clock
from clew.support.errors import BadInput

LIMIT = 1_000_000  # bytes of output, if the agent names no limit
GRACE = 2.0  # seconds between two signals


class Terminal(asyncio.SubprocessProtocol):
    """One command. It counts as exited even if another process still holds its output open."""

    def __init__(self, mark: Mark, clock: Clock, limit: int) -> None:
        self._mark = mark
        self._clock = clock
        self._limit = limit
        self._output = bytearray()
        self._truncated = False
        self._exited = asyncio.Event()
        self._output_ended = asyncio.Event()  # its output has ended
        self._transport: asyncio.SubprocessTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output += data
        if (over := len(self._output) - self._limit) > 0:
            del self._output[:over]
            self._truncated = True

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._output_ended.set()

    def process_exited(self) -> None:
        self._exited.set()

    def output(self) -> dict[str, Any]:
        text = bytes(self._output).decode(errors="ignore" if self._truncated else "replace")
        ended = {"exitStatus": self._status()} if self._exited.is_set() else {}
        return {"output": text, "truncated": self._truncated, **ended}

    async def exit(self) -> dict[str, Any]:
        await self._exited.wait()
        await within(EXIT_GRACE, self._output_ended)
        return self._status()

    def _status(self) -> dict[str, Any]:
        code = self._transport.get_returncode() or 0
        return {"exitCode": code if code >= 0 else None, "signal": scan.signal_name(-code) if code < 0 else None}

    async def end(self) -> None:
        """End the command and all its descendants, in any session."""
        relatives = set() if self._exited.is_set() else {p.key for p in await asyncio.to_thread(self._family)}
        await scan.end_all(lambda: self._left(relatives), self._clock, GRACE)
        await within(GRACE, self._exited)
        self._transport.close()

    def _family(self) -> list[Process]:
        return scan.family(self._transport.get_pid(), scan.scan())

    def _left(self, relatives: set[tuple[int, str]]) -> list[Process]:
        return [p for p in scan.scan() if p.mark == self._mark or p.key in relatives]


class Terminals:
    """The terminals of one session."""

    def __init__(self, workspace: str, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._open: dict[str, Terminal] = {}
        self._count = 0

    async def create(self, request: TerminalRequest, mark: Mark) -> str:
        """Start a command and return the terminal's id. Raises BadInput and OSError."""
        where = inside(self._workspace, request.cwd or ".")
        own = dict(variables(request))
        inherited = {name: value for name, value in inherited_environment().items() if not name.startswith("CLEW_")}
        limit = LIMIT if request.output_byte_limit is None else max(0, request.output_byte_limit)
        terminal = Terminal(mark, self._clock, min(limit, LIMIT))
        await asyncio.get_running_loop().subprocess_exec(
            lambda: terminal,
            *argv(request),
            cwd=where,
            env={**inherited, **own, scan.VARIABLE: str(mark)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._count += 1
        self._open[f"terminal-{self._count}"] = terminal
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
        await asyncio.gather(*(terminal.end() for terminal in open_now.values()))


def argv(request: TerminalRequest) -> list[str]:
    """Return the command to run. Without arguments it is a line for the shell."""
    if not request.command or "\0" in "".join((request.command, *request.args)):
        raise BadInput("a terminal needs a command")
    return [request.command, *request.args] if request.args else [*SHELL, request.command]


def variables(request: TerminalRequest) -> Env:
    """Return the command's variables without clew's own. Raises BadInput if one is invalid."""
    for each in request.env:
        if not each.name or "=" in each.name or "\0" in each.name + each.value:
            raise BadInput(f"{each.name!r} is not a valid environment variable")
    return tuple((each.name, each.value) for each in request.env if not each.name.startswith("CLEW_"))


def plan(request: TerminalRequest, where: str) -> Plan:
    """Return the plan to ask about if nobody allowed exactly this before. Raises BadInput."""
    env = variables(request)
    doubts = (SETS_VARIABLES,) if env else ()
    return Plan(ActivityKind.COMMAND, tuple(argv(request)), where, env, doubts=doubts)
