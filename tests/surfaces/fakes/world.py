"""Base of the fake platforms: worlds that a test controls over HTTP.

The control port creates a world (POST /NAME/open), performs actions and faults in it (POST /NAME/VERB), and returns its
state (GET /NAME?beyond=REVISION). It ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from tests.surfaces.fakes.http_server import Answer, Request, Server

SHOWN = 1000  # bytes; larger files are not in the state

Fields = dict[str, Any]


class AnyWorld(ABC):
    """One world. `revision` grows with every change, so that a test can wait for the next one."""

    def __init__(self) -> None:
        self.server = Server(self.serve)
        self.messages: list[Fields] = []  # of everybody, in their current form
        self.calls: list[Fields] = []
        self.files: dict[str, bytes] = {}
        self.faults: list[Fields] = []
        self.changed = asyncio.Condition()
        self.revision = 0
        self.released = asyncio.Event()  # ends what a fault of kind `hold` holds

    @abstractmethod
    async def serve(self, request: Request) -> Answer: ...

    @abstractmethod
    def seen(self) -> Fields:
        """Return further state for the test, beyond messages, calls and files."""

    async def open(self) -> Fields:
        await self.server.start()
        return {"port": self.server.port}

    async def close(self) -> None:
        await self.server.stop()

    async def tell(self) -> None:
        async with self.changed:
            self.revision += 1
            self.changed.notify_all()

    async def state(self, beyond: int) -> Fields:
        """Return the state as soon as its revision is greater than `beyond`."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.revision > beyond)
        files = {name: base64.b64encode(data).decode() for name, data in self.files.items() if len(data) < SHOWN}
        told = {"revision": self.revision, "messages": self.messages, "calls": self.calls, "files": files}
        return {**told, **self.seen()}

    def fault(self, method: str) -> Fields:
        """Return the planted fault for a call, and count it down."""
        for fault in self.faults:
            if method.lower() == fault["method"].lower():
                fault["times"] = fault.get("times", 1) - 1
                if not fault["times"]:
                    self.faults.remove(fault)
                return dict(fault)
        return {}

    async def control(self, verb: str, given: Fields) -> object:
        result = getattr(self, f"when_{verb}")(given)
        if asyncio.iscoroutine(result):
            result = await result
        await self.tell()
        return result

    def when_fault(self, given: Fields) -> None:
        self.faults.append(given)

    def when_release(self, given: Fields) -> None:
        self.released.set()
        self.released = asyncio.Event()

    def when_set(self, given: Fields) -> None:
        for name, value in given.items():
            setattr(self, name, value)

    async def when_cut(self, given: Fields) -> None:
        await self.server.stop()

    async def when_mend(self, given: Fields) -> None:
        await self.server.start()


class Platform:
    """The control port."""

    def __init__(self, make: Callable[[str], AnyWorld]) -> None:
        self._make = make
        self._worlds: dict[str, AnyWorld] = {}
        self.server = Server(self.serve)

    async def serve(self, request: Request) -> Answer:
        name, _, verb = request.path.strip("/").partition("/")
        if request.method == "GET":
            return Answer(await self._worlds[name].state(int(request.query.get("beyond", -1))))
        if verb == "open":
            self._worlds[name] = self._make(name)
            return Answer(await self._worlds[name].open())
        if verb == "close":
            await self._worlds.pop(name).close()
            return Answer({})
        return Answer(await self._worlds[name].control(verb, request.fields()))


async def run(make: Callable[[str], AnyWorld]) -> None:
    platform = Platform(make)
    await platform.server.start()
    print(json.dumps({"port": platform.server.port}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
