"""The example surfaces of docs/how-to/surfaces/writing-one.md pass the surface kit."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.engine.gates import visibility
from clew.model.messages import Conversation
from clew.model.surface import Surface
from clew.support.clock import Clock
from clew.testing import surface_gate_checks, surface_kit
from clew.testing.surface_kit import Check
from clew.testing.surface_stage import PATIENCE, Shown
from tests.helpers.paths import ROOT
from tests.helpers.ports import held_port, number_of

PAGE = ROOT / "docs" / "how-to" / "surfaces" / "writing-one.md"


def examples() -> list[str]:
    """Return the code of LineChat and of HistoryChat, its subclass."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


class LineChatStage:
    """The platform of LineChat: sends one message at a time to the listener, until it is acknowledged."""

    person = "ann"
    target = "ann"

    def __init__(self) -> None:
        self._place = held_port()
        self.port = number_of(self._place)
        self.code = "\n".join(examples())
        self.made = "LineChat"
        self.patience = PATIENCE
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._owed: list[dict[str, Any]] = []
        self._notes: dict[str, dict[str, Any]] = {}
        self._said: dict[str, Shown] = {}  # by key
        self._changed = asyncio.Condition()
        self._wait: float | None = None
        self._loses = False

    async def reconnect(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def disconnect(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()

    async def close(self) -> None:
        await self.disconnect()
        self._place.close()

    def surface(self, clock: Clock, files: Path) -> Surface:
        module: dict[str, Any] = {}
        exec(compile(self.code, str(PAGE), "exec"), module)
        surface: Surface = module[self.made](clock, module["Settings"](self.port))
        return surface

    async def wait_listening(self) -> None:
        return

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
        beside: str | None = None,
    ) -> str:
        who, id = "bob" if stranger else "ann", f"note-{len(self._notes) + 1}"
        self._notes[id] = {"id": id, "room": who, "from": who, "name": who.title(), "text": text, "quote": quote}
        await self.redeliver(id)
        return id

    async def redeliver(self, message: str) -> None:
        self._owed.append(self._notes[message])
        await self._tell()

    async def press(self, message: str, label: str) -> str:
        raise NotImplementedError("it has no buttons")

    async def wait_shown(self, condition: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        await self._until(lambda: list(self._said.values()), condition)
        return list(self._said.values())

    async def is_acknowledged(self, message: str) -> bool:
        return self._notes[message] not in self._owed

    async def wait_acknowledged(self, message: str) -> None:
        await self._until(lambda: self._owed, lambda owed: self._notes[message] not in owed)

    async def rate_limit_once(self, seconds: float) -> None:
        self._wait = seconds

    async def change(self, message: str, text: str) -> bool:
        return False

    async def delete(self, message: str) -> bool:
        return False

    async def lose_response_once(self) -> None:
        self._loses = True

    async def delete_thread(self, where: Conversation) -> None:
        raise NotImplementedError

    async def _until(self, look: Callable[[], Any], condition: Callable[[Any], object]) -> None:
        async with asyncio.timeout(self.patience), self._changed:
            await self._changed.wait_for(lambda: condition(look()))

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
        said = self._said.setdefault(asked["key"], Shown(f"sent-{len(self._said) + 1}", asked["say"]))
        await self._tell()
        loses, self._loses = self._loses, False
        if loses:
            writer.transport.abort()
            return
        writer.write(json.dumps({"id": said.id}).encode() + b"\n")
        await writer.drain()


class HistoryChatStage(LineChatStage):
    """The platform of HistoryChat: a listener gets new messages only, and can ask for older ones."""

    def __init__(self) -> None:
        super().__init__()
        self.made = "HistoryChat"
        self._heard_by = self._wanted = 0  # listeners so far, and with the newest surface

    def surface(self, clock: Clock, files: Path) -> Surface:
        self._wanted = self._heard_by + 1
        return super().surface(clock, files)

    async def wait_listening(self) -> None:
        await self._until(lambda: self._heard_by, lambda count: count >= self._wanted)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            asked = json.loads(await reader.readline() or b"{}")
            if "listen" in asked:
                await self._send_new(writer, len(self._owed))
            elif "since" in asked:
                writer.write(json.dumps(self._since(asked["room"], asked["since"])).encode() + b"\n")
            elif "say" in asked:
                await self._hear(asked, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the other side has gone, or the test is over
        finally:
            self._open.discard(writer)
            writer.close()

    async def _send_new(self, writer: asyncio.StreamWriter, told: int) -> None:
        writer.write(b'{"listening": true}\n')
        self._heard_by += 1
        await self._tell()
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda told=told: len(self._owed) > told)  # type: ignore[misc]
            for note in self._owed[told:]:  # contains all messages here
                writer.write(json.dumps(note).encode() + b"\n")
            told = len(self._owed)
            await writer.drain()

    def _since(self, room: str, last: str | None) -> list[dict[str, Any]]:
        notes = [note for note in self._notes.values() if note["room"] == room]
        ids = [note["id"] for note in notes]
        return notes[ids.index(last) + 1 if last is not None else 0 :]


@pytest.fixture
async def stage() -> AsyncIterator[LineChatStage]:
    stage = LineChatStage()
    await stage.reconnect()
    yield stage
    await stage.close()


@pytest.fixture
async def history_stage() -> AsyncIterator[LineChatStage]:
    stage = HistoryChatStage()
    await stage.reconnect()
    yield stage
    await stage.close()


def test_the_examples_are_small() -> None:
    chat, history = ([line for line in example.splitlines() if line.strip()] for example in examples())
    assert len(chat) <= 75 and len(history) <= 35


@pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
async def test_the_example_conforms(check: Check, stage: LineChatStage, folder: Path) -> None:
    await check(stage, folder)


@pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
async def test_the_example_that_reads_history_conforms(
    check: Check, history_stage: LineChatStage, folder: Path
) -> None:
    await check(history_stage, folder)


FAULTS = {
    "acknowledges first": (
        surface_kit.no_message_is_lost_if_killed_before_the_commit,
        "message = json.loads(line)",
        'message = json.loads(line); writer.write(json.dumps({"ack": message["id"]}).encode() + b"\\n")',
    ),
    "calls a message otherwise each time": (
        surface_kit.a_redelivered_message_runs_once,
        'Inbound(where, message["id"]',
        "Inbound(where, self._clock.ulid()",
    ),
    "draws its keys": (
        surface_kit.a_send_in_doubt_shows_at_most_one_plain_answer,
        "outgoing.id}",
        "self._clock.ulid()}",
    ),
    "does not wait": (surface_kit.retry_after_is_respected, 'response["wait"]', "0.0"),
    "takes a name for a person": (
        surface_kit.a_message_has_its_sender_and_conversation,
        'who, quote = message["from"],',
        'who, quote = message["name"],',
    ),
    "cuts what it brings": (
        surface_gate_checks.a_long_gate_can_be_accepted_only_if_shown_completely,
        'request = {"say": text,',
        'request = {"say": text[:150] + text[-50:],',
    ),
    "loses the quote": (
        surface_kit.a_quote_goes_to_the_thread_of_the_quoted_message,
        "quoted=quote",
        "quoted=None",
    ),
}


HISTORY_FAULTS = {
    "never reads on": (
        surface_kit.messages_sent_while_clew_is_down_are_answered,
        "for known in await inbox.known(self.name):",
        "for known in ():",
    ),
    "reads on in one place only": (
        surface_kit.history_is_read_from_the_last_stored_message,
        "for known in await inbox.known(self.name):",
        "for known in (await inbox.known(self.name))[:1]:",
    ),
    "reads on only when it starts": (
        surface_kit.it_reconnects_after_the_platform_was_unreachable,
        "for known in await inbox.known(self.name):",
        "known, self.known = getattr(self, 'known', None) or await inbox.known(self.name), [None]\n"
        "            for known in filter(None, known):",
    ),
    "hears what is new before what it missed": (
        surface_kit.history_is_read_from_the_last_stored_message,
        "for message in await self._messages_since(known):",
        "for message in reversed(await self._messages_since(known)):",
    ),
}


async def _is_found(fault: tuple[Check, str, str], stage: LineChatStage, folder: Path) -> None:
    check, right, wrong = fault
    assert stage.code.count(right) == 1
    stage.code = stage.code.replace(right, wrong)
    stage.patience = 3.0  # do not wait long for what never comes
    with pytest.raises((AssertionError, TimeoutError)):
        await check(stage, folder)


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_kit_finds_a_planted_fault(
    fault: str, stage: LineChatStage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surface_kit, "BUSY", 30.0)  # longer than any slow machine takes
    await _is_found(FAULTS[fault], stage, folder)


@pytest.mark.parametrize(
    "check",
    [
        surface_gate_checks.a_long_gate_can_be_accepted_only_if_shown_completely,
        surface_gate_checks.allow_all_accepts_only_gates_shown_completely,
    ],
    ids=surface_kit.named,
)
async def test_the_kit_finds_a_cut_card_that_accepts(
    check: Check, stage: LineChatStage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier fault: a card was cut in the middle and could still be accepted."""
    monkeypatch.setattr(visibility.MessageLimit, "fits", lambda room, text: True)
    monkeypatch.setattr(visibility.MessageLimit, "is_exceeded_by", lambda room, asked: False)
    stage.patience = 3.0
    with pytest.raises((AssertionError, TimeoutError)):
        await check(stage, folder)


@pytest.mark.parametrize("fault", HISTORY_FAULTS)
async def test_the_kit_finds_a_gap_in_the_history(
    fault: str, history_stage: LineChatStage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.testing.surface_stage.PATIENCE", 3.0)
    await _is_found(HISTORY_FAULTS[fault], history_stage, folder)
