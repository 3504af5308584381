"""The surface of docs/surfaces/writing-one.md, as it stands there, keeps the word of a surface."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.clock import Clock
from clew.model import Conversation
from clew.surfaces import conformance
from clew.surfaces.base import Surface
from clew.surfaces.conformance import PATIENCE, Check, Shown

PAGE = Path(__file__).parents[2] / "docs" / "surfaces" / "writing-one.md"


def example() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


class PigeonStage:
    """The pigeons' loft. A message is brought to whoever listens, one at a time, until it is acknowledged."""

    person = "ann"

    def __init__(self) -> None:
        self.port = 0
        self.code = example()
        self.patience = PATIENCE
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._owed: list[dict[str, Any]] = []
        self._notes: dict[str, dict[str, Any]] = {}
        self._said: dict[str, Shown] = {}  # by key
        self._changed = asyncio.Condition()
        self._wait: float | None = None
        self._loses = False

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()

    def surface(self, clock: Clock, files: Path) -> Surface:
        module: dict[str, Any] = {}
        exec(compile(self.code, str(PAGE), "exec"), module)
        surface: Surface = module["Pigeons"](clock)
        return surface

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
    ) -> str:
        who, id = "bob" if stranger else "ann", f"note-{len(self._notes) + 1}"
        self._notes[id] = {"id": id, "loft": who, "from": who, "name": who.title(), "text": text, "quote": quote}
        await self.repeat(id)
        return id

    async def repeat(self, message: str) -> None:
        self._owed.append(self._notes[message])
        await self._tell()

    async def press(self, message: str, label: str) -> str:
        raise NotImplementedError("it has no buttons")

    async def seen(self, so: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        await self._until(lambda: list(self._said.values()), so)
        return list(self._said.values())

    async def is_acknowledged(self, message: str) -> bool:
        return self._notes[message] not in self._owed

    async def acknowledged(self, message: str) -> None:
        await self._until(lambda: self._owed, lambda owed: self._notes[message] not in owed)

    async def busy(self, seconds: float) -> None:
        self._wait = seconds

    async def lose_answer(self) -> None:
        self._loses = True

    async def _until(self, look: Callable[[], Any], so: Callable[[Any], object]) -> None:
        async with asyncio.timeout(self.patience), self._changed:
            await self._changed.wait_for(lambda: so(look()))

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            asked = json.loads(await reader.readline() or b"{}")
            if "listen" in asked:
                await self._bring(reader, writer)
            elif "say" in asked:
                await self._hear(asked, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the other side has gone, or the test is over
        finally:
            self._open.discard(writer)
            writer.close()

    async def _bring(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._owed)
            writer.write(json.dumps(self._owed[0]).encode() + b"\n")
            ack = await reader.readline()
            if not ack:
                return
            assert json.loads(ack) == {"ack": self._owed[0]["id"]}
            del self._owed[0]
            await self._tell()

    async def _hear(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        wait, self._wait = self._wait, None
        if wait is not None:
            writer.write(json.dumps({"wait": wait}).encode() + b"\n")
            return
        said = self._said.setdefault(asked["key"], Shown(f"pigeon-{len(self._said) + 1}", asked["say"]))
        await self._tell()
        loses, self._loses = self._loses, False
        if loses:
            writer.transport.abort()
            return
        writer.write(json.dumps({"id": said.id}).encode() + b"\n")
        await writer.drain()


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PigeonStage]:
    stage = PigeonStage()
    await stage.mend()
    monkeypatch.setenv("PIGEONS_PORT", str(stage.port))
    yield stage
    await stage.cut()


def test_the_example_is_small() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= 75


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.named)
async def test_the_example_conforms(check: Check, stage: PigeonStage, tmp_path: Path) -> None:
    await check(stage, tmp_path)


FAULTS = {
    "acknowledges first": (
        conformance.killed_before_the_commit_it_loses_nothing,
        "note = json.loads(line)",
        'note = json.loads(line); writer.write(json.dumps({"ack": note["id"]}).encode() + b"\\n")',
    ),
    "calls a message otherwise each time": (
        conformance.a_repeat_after_a_restart_runs_once,
        'Inbound(where, note["id"]',
        "Inbound(where, self._clock.ulid()",
    ),
    "draws its keys": (conformance.a_send_in_doubt_is_settled, "outgoing.id}", "self._clock.ulid()}"),
    "does not wait": (conformance.a_platform_that_is_busy_is_given_its_time, 'answer["wait"]', "0.0"),
    "takes a name for a person": (conformance.it_says_who_speaks, 'sender_id=note["from"]', 'sender_id=note["name"]'),
    "loses the quote": (conformance.a_quote_goes_to_the_thread_that_it_quotes, 'quoted=note["quote"]', "quoted=None"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_kit_finds_a_planted_fault(fault: str, stage: PigeonStage, tmp_path: Path) -> None:
    check, right, wrong = FAULTS[fault]
    assert stage.code.count(right) == 1
    stage.code = stage.code.replace(right, wrong)
    stage.patience = 3.0  # what never comes is not waited for
    with pytest.raises((AssertionError, TimeoutError)):
        await check(stage, tmp_path)
