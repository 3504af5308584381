"""The baseline: a bare JSON-RPC driver of Codex's app-server without store, policy and delivery; on stdio and on a Unix
socket."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from clew.process import kept_programs
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.websocket import open_unix

LINE = 64 * 1024 * 1024


class Bare:
    """One app-server with as little code as possible between the caller and the pipe."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self._home = home
        self._workspace = workspace
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self.deltas = 0
        self._last = 0

    async def __aenter__(self) -> Bare:
        await self._open()
        await self.ask("initialize", clientInfo={"name": "bare", "version": "0"})
        self._send({"method": "initialized"})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._close()

    async def ask(self, method: str, **params: Any) -> Any:
        self._last += 1
        answer = self._answers[self._last] = asyncio.get_running_loop().create_future()
        self._send({"id": self._last, "method": method, "params": params})
        return await answer

    async def thread(self) -> str:
        started = await self.ask(
            "thread/start", cwd=str(self._workspace), sandbox="workspace-write", approvalPolicy="never"
        )
        return str(started["thread"]["id"])

    async def turn(self, thread: str, text: str) -> None:
        """Run a turn, from the request to the notification that it is complete."""
        ended = self._ended[thread] = asyncio.Event()
        await self.ask("turn/start", threadId=thread, input=[{"type": "text", "text": text}])
        await ended.wait()

    async def _open(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await self._start("stdio://", stdin=pipe, stdout=pipe, limit=LINE)
        self._reader = asyncio.create_task(self._read())

    async def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reader

    async def _start(self, listen: str, **pipes: Any) -> asyncio.subprocess.Process:
        command = [binary.locate(CodexConfig()), "app-server", "--listen", listen]
        env = {**os.environ, "CODEX_HOME": str(self._home)}
        return await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL, env=env, **pipes)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._take(line)

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        if "id" in message and "method" not in message:
            self._answers.pop(message["id"]).set_result(message.get("result"))
        elif message.get("method") == "turn/completed":
            self._ended[message["params"]["threadId"]].set()
        elif message.get("method") == "item/agentMessage/delta":
            self.deltas += 1


class BareSocket(Bare):
    """The same driver on a Unix socket."""

    async def _open(self) -> None:
        path = self._workspace / "bare.sock"
        self._process = await self._start(f"unix://{path}")
        self._exit = asyncio.create_task(self._process.wait())
        while not await kept_programs.listens(path):  # there is no event when it listens
            await asyncio.wait([self._exit], timeout=0.01)
        self._socket = await open_unix(path, self._take, lambda: None, 10.0)

    async def _close(self) -> None:
        await self._socket.close()
        self._process.terminate()
        await self._exit

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.write(json.dumps(message).encode())
