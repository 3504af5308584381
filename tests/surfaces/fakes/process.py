"""Starts a fake platform as a separate process with a control port. It ends with its stdin, so none outlives a test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tests.helpers.paths import ROOT

PATIENCE = 60.0


class Fake:
    def __init__(self, name: str) -> None:
        self._module = f"tests.surfaces.fakes.{name}"
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Fake:
        command = [sys.executable, "-m", self._module]
        pipe = subprocess.PIPE
        environ = {name: value for name, value in os.environ.items() if name != "CLEW_HOME"}  # it is nobody's child
        self._child = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, env=environ)
        assert self._child.stdout is not None
        self.port: int = json.loads(self._child.stdout.readline())["port"]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        assert self._child is not None
        self._child.communicate(timeout=PATIENCE)

    async def control(self, path: str, given: object = None) -> Any:
        """Ask on a connection of its own, by hand: with an httpx client for each request, a test would spend more on
        asking the fake than on everything else."""
        body = b"" if given is None else json.dumps(given).encode()
        first = f"{'GET' if given is None else 'POST'} {path} HTTP/1.1"
        head = f"{first}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(head.encode() + body)
                answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                return json.loads(await reader.readexactly(_length(answer)))
            finally:
                writer.close()


class Driven:
    """One world of a fake, controlled by a test."""

    def __init__(self, fake: Fake, name: str) -> None:
        self.fake = fake
        self._name = name

    async def close(self) -> None:
        await self.do("close")

    async def do(self, verb: str, **given: Any) -> Any:
        return await self.fake.control(f"/{self._name}/{verb}", given)

    async def fault(self, method: str, kind: str, **more: Any) -> None:
        await self.do("fault", method=method, kind=kind, **more)

    async def state(self, beyond: int = -1) -> dict[str, Any]:
        state: dict[str, Any] = await self.fake.control(f"/{self._name}?beyond={beyond}")
        return state

    async def until(self, happened: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            state = await self.state()
            while not happened(state):
                state = await self.state(state["revision"])
            return state

    async def calls(self, method: str) -> list[dict[str, Any]]:
        return calls(await self.state(), method)

    async def confirmed(self) -> None:
        """Wait until nothing is pending."""
        await self.until(lambda state: not state["pending"])


def _length(head: str) -> int:
    pairs = (line.partition(": ") for line in head.lower().split("\r\n"))
    return next(int(value) for name, _, value in pairs if name == "content-length")


def calls(state: dict[str, Any], method: str) -> list[dict[str, Any]]:
    return [call["fields"] for call in state["calls"] if call["method"] == method]
