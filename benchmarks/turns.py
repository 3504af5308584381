"""The overhead of clew on a turn of Codex: the same turns through clew and through the bare driver, alternately, with
Codex as a child of the daemon (stdio) and kept (socket).

(a) one turn, from the message to its answer on the webhook; (b) 5,000 deltas to a watcher, and 5,000 chunks of the
stream for front ends; (c) 20 turns at once; (i) the turn after a 5,000-word answer, against one before it.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import Bare, BareSocket
from benchmarks.report import Line
from clew.client.wire import api_path
from clew.process.start import ensure_daemon
from clew.process.stop import stop_daemon
from clew.support.home import Home
from clew.surfaces.signing import sign
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.json_client import open_response, parse_sse

SECRET = "bench"
BARE = {"stdio": Bare, "socket": BareSocket}
WORDS = 5_000


class Hook:
    """A webhook receiver in this event loop, with an event for each answer."""

    def __init__(self) -> None:
        self.arrived: dict[str, asyncio.Future[float]] = {}

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    def expect(self, conversation: str) -> asyncio.Future[float]:
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.arrived[conversation] = future
        return future

    async def stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            body = json.loads(await reader.readexactly(int(head["content-length"])))
            at = time.perf_counter()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            if (future := self.arrived.pop(body["conversation"], None)) is not None:
                future.set_result(at)
        writer.close()


async def _head(reader: asyncio.StreamReader) -> dict[str, str]:
    try:
        raw = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return {}
    pairs = [line.split(":", 1) for line in raw.split("\r\n")[1:] if ":" in line]
    return {name.lower(): value.strip() for name, value in pairs}


@dataclass
class Way:
    """A clew with one transport of Codex."""

    transport: str
    bare: Bare
    home: Home
    hook: Hook
    port: int

    async def say(self, conversation: str, text: str) -> float:
        """Send one message through clew, and return the seconds until its answer on the webhook."""
        arrived = self.hook.expect(conversation)
        began = time.perf_counter()
        await post(self.port, conversation, text)
        return await arrived - began


async def post(port: int, conversation: str, text: str) -> None:
    """Send one signed message to the webhook."""
    message = {"id": os.urandom(8).hex(), "conversation": conversation, "sender": "bench", "text": text}
    body = json.dumps(message).encode()
    now = int(time.time())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /surfaces/webhook/x HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n"
        f"x-clew-timestamp: {now}\r\nx-clew-signature: {sign(SECRET, now, body)}\r\n"
        "connection: close\r\n\r\n".encode()
        + body
    )
    answer = await reader.read()
    assert b" 200 " in answer[:20], answer
    writer.close()


@dataclass
class Setup:
    """clew with both transports, and a bare driver for each, with one model."""

    child: Way
    kept: Way

    @property
    def ways(self) -> tuple[Way, Way]:
        return self.child, self.kept


@asynccontextmanager
async def setup(folder: Path) -> AsyncIterator[Setup]:
    async with ScriptedModel() as model, AsyncExitStack() as stack:
        codex = write_codex_home(folder / "codex", model.url)
        yield Setup(*[await stack.enter_async_context(way(folder, codex, name)) for name in BARE])


@asynccontextmanager
async def way(folder: Path, codex: Path, transport: str) -> AsyncIterator[Way]:
    hook = Hook()
    url = await hook.start()
    home = Home(folder / transport)
    home.prepare()
    home.config.write_text(
        f'[runtimes.codex]\nhome = "{codex}"\ntransport = "{transport}"\n[http]\nport = 0\n'
        f'[surfaces.webhook.x]\nurl = "{url}"\nsecret = "{SECRET}"\nworkspace = "{folder}"\n'
    )
    await asyncio.to_thread(ensure_daemon, home, lambda line: None)
    try:
        status = await asyncio.to_thread(Client(home).get, "status")
        async with BARE[transport](codex, folder) as bare:
            yield Way(transport, bare, home, hook, int(status["daemon"]["http"].rsplit(":", 1)[1]))
    finally:
        await asyncio.to_thread(stop_daemon, home, 0, lambda line: None)
        await hook.stop()


async def single(setup: Setup, rounds: int) -> list[Line]:
    ours: dict[str, list[float]] = {way.transport: [] for way in setup.ways}
    theirs: dict[str, list[float]] = {way.transport: [] for way in setup.ways}
    threads = {way.transport: await way.bare.thread() for way in setup.ways}
    for number in range(rounds + 3):
        for way in setup.ways:
            began = time.perf_counter()
            await way.bare.turn(threads[way.transport], f"!text t{number} b c d e")
            theirs[way.transport].append(time.perf_counter() - began)
            ours[way.transport].append(await way.say("single", f"!text t{number} b c d e"))
    return [
        _ratio(_named("a turn, message to answer on the webhook", name), taken[3:], theirs[name][3:], 1.15)
        for name, taken in ours.items()
    ]


def _named(what: str, transport: str) -> str:
    return what if transport == "stdio" else f"{what}, {transport}"


async def parallel(setup: Setup, count: int, rounds: int) -> Line:
    threads = [await setup.child.bare.thread() for _ in range(count)]
    ours, theirs = [], []
    for number in range(rounds + 1):
        began = time.perf_counter()
        await asyncio.gather(*(setup.child.bare.turn(thread, f"!text p{number}") for thread in threads))
        theirs.append(time.perf_counter() - began)
        began = time.perf_counter()
        await asyncio.gather(*(setup.child.say(f"p{n}", f"!text p{number}") for n in range(count)))
        ours.append(time.perf_counter() - began)
    return _ratio(f"{count} turns at once", ours[1:], theirs[1:], 1.15)


async def stream(setup: Setup, rounds: int) -> list[Line]:
    """Send 5,000 deltas to a watcher, and measure whether the next turn is slower."""
    child = setup.child
    before, after, chats = [], [], []
    ours: dict[str, list[float]] = {way.transport: [] for way in setup.ways}
    theirs: dict[str, list[float]] = {way.transport: [] for way in setup.ways}
    threads = {way.transport: await way.bare.thread() for way in setup.ways}
    await asyncio.to_thread(_chat, child.home, "!text short")
    await setup.kept.say("stream", "!text short")
    for _ in range(rounds):
        before.append(await child.say("stream", "!text short"))
        for way in setup.ways:
            began = time.perf_counter()
            await way.bare.turn(threads[way.transport], f"!say {WORDS} words")
            theirs[way.transport].append(time.perf_counter() - began)
            ours[way.transport].append(await _watched(way))
        after.append(await child.say("stream", "!text short"))
        chats.append(await asyncio.to_thread(_chat, child.home, f"!say {WORDS} words"))
    return [
        _rate(f"chat stream of {WORDS} chunks, rate", chats, theirs[child.transport]),
        *(
            _rate(_named(f"{WORDS} deltas to a watcher, rate", name), taken, theirs[name])
            for name, taken in ours.items()
        ),
        _ratio("the turn after a 5,000-word answer, to one before it", after, before, 1.1),
    ]


def _rate(name: str, ours: list[float], theirs: list[float]) -> Line:
    mine = statistics.median(ours)
    return Line(name, WORDS / mine, "/s", statistics.median(theirs) / mine, at_least=0.8)


async def _watched(way: Way) -> float:
    """Wait until a watcher of the thread has the complete text and its end."""
    listed = await asyncio.to_thread(lambda: Client(way.home).get("threads"))
    thread = next(view["id"] for view in listed["threads"] if view["title"] == "!text short")
    ready, loop = asyncio.Event(), asyncio.get_running_loop()
    watching = asyncio.create_task(
        asyncio.to_thread(_watch, way.home, thread, lambda: loop.call_soon_threadsafe(ready.set))
    )
    await ready.wait()
    began = time.perf_counter()
    answered = asyncio.create_task(way.say("stream", f"!say {WORDS} words"))
    words, at = await watching
    await answered
    assert words == WORDS, f"the watcher saw {words} words"
    return at - began


def _watch(home: Home, thread: str, ready: object) -> tuple[int, float]:
    text = ""
    for event in Client(home).raw_events(thread):
        if event.kind == "hello":
            ready()  # type: ignore[operator]
        elif event.kind == "text":
            text += event.data["text"]
        elif event.kind == "turn.ended":
            return len(text.split()), time.perf_counter()
    return 0, 0.0


def _chat(home: Home, message: str) -> float:
    """Measure from the request to `done` on the chat stream."""
    body = {"message": message, "message_id": os.urandom(8).hex(), "conversation_id": "bench"}
    began = time.perf_counter()
    connection, answer = open_response(home, "POST", api_path("conversations", "chat", "stream"), body)
    text = ""
    for event in parse_sse(iter(lambda: answer.read1(1 << 16), b"")):
        text += event.data["content"] if event.kind == "chunk" else ""
        if event.kind == "done":
            assert event.data["content"] == text
    connection.close()
    return time.perf_counter() - began


def _ratio(name: str, ours: list[float], theirs: list[float], limit: float) -> Line:
    mine, bare = statistics.median(ours), statistics.median(theirs)
    return Line(name, mine * 1000, "ms", mine / bare, at_most=limit)


async def measure(rounds: int = 40) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        async with setup(Path(folder)) as both:
            lines = await single(both, rounds)
            lines += await stream(both, 5)
            lines.append(await parallel(both, 20, 8))
            return lines


if __name__ == "__main__":
    for line in asyncio.run(measure()):
        print(line, file=sys.stdout)
