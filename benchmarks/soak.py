"""`./bench --soak MINUTES`: real traffic on a real daemon with the real Codex, and SIGKILLs of daemon, supervisor and
Codex at random; then the count of what was lost, doubled or left.

Messages come by signed webhook, each with an id of its own, and are sent again until they are acknowledged. The agent
talks, is steered, asks before it runs a command; somebody says yes, no or nothing; threads are stopped and resumed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clew import launch, lock, processes
from clew.client import Client
from clew.errors import ClewError
from clew.home import Home
from clew.scripted_model import ScriptedModel, write_codex_home
from clew.stopping import stop_daemon
from clew.store import Tx, audit, inbox
from clew.store.sqlite import connect
from clew.surfaces.signing import sign

SECRET = "soak"
ROOMS = 8
PAUSE = (0.05, 0.6)  # seconds between two messages
CALM = (2.0, 7.0)  # seconds between two deaths
DRAIN, LOOK = 180.0, 0.5  # seconds that the rest may take, and between two looks at it
CODE = re.compile(r"\(([A-Z2-9]{4,12})\)")


@dataclass
class Count:
    """What happened, by name."""

    seen: Counter[str] = field(default_factory=Counter)
    bodies: dict[str, set[bytes]] = field(default_factory=dict)  # by idempotency key
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB of the daemon

    def took(self, key: str, body: bytes) -> None:
        self.seen["repeats, same key"] += key in self.bodies
        self.bodies.setdefault(key, set()).add(body)


class Soak:
    def __init__(self, folder: Path, seed: int, transport: str) -> None:
        self.folder = folder
        self.transport = transport
        self.home = Home(folder / "home")
        self.count = Count()
        self.chance = random.Random(seed)
        self.port = _free_port()
        self.runs = folder / "runs"
        self._open: asyncio.Queue[tuple[str, str]] = asyncio.Queue()  # conversation and code of what is asked
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self, minutes: float) -> list[str]:
        async with ScriptedModel() as model:
            server = await asyncio.start_server(self._received, "127.0.0.1", 0)
            self._configure(model.url, server.sockets[0].getsockname()[1])
            await asyncio.to_thread(launch.ensure_daemon, self.home, _quietly)
            try:
                await self._live(minutes * 60)
                return await self._settle()
            finally:
                await asyncio.to_thread(stop_daemon, self.home, 0, _quietly)
                server.close()

    def _configure(self, model: str, hook: int) -> None:
        codex = write_codex_home(self.folder / "codex", model)
        self.home.prepare()
        self.home.config.write_text(
            f'[runtimes.codex]\nhome = "{codex}"\ntransport = "{self.transport}"\n'
            f"[http]\nport = {self.port}\n[surfaces.webhook.x]\n"
            f'url = "http://127.0.0.1:{hook}/"\nsecret = "{SECRET}"\nworkspace = "{self.folder}"\n'
        )

    async def _live(self, seconds: float) -> None:
        """Until the time is over; then whoever is on the way arrives."""
        tasks = [asyncio.create_task(work()) for work in (self._talk, self._answer, self._kill, self._weigh)]
        _, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        broken = [each for each in results if isinstance(each, Exception)]
        if broken:
            raise broken[0]
        await asyncio.to_thread(launch.ensure_daemon, self.home, _quietly, again=True)
        await asyncio.gather(*self._sending)

    # What people do

    async def _talk(self) -> None:
        while True:
            await asyncio.sleep(self.chance.uniform(*PAUSE))
            number = self.count.seen["messages"]
            self.count.seen["messages"] += 1
            self._send(f"room-{self.chance.randrange(ROOMS)}", f"m{number}", self._words(number))

    def _words(self, number: int) -> str:
        return self.chance.choice(
            (
                f"!text answer {number}",
                f"!slow 20 20\n!text answer {number}",
                f"!shell echo {number} >> {self.runs}\n!text answer {number}",
                "!say 200",
                "stop",
            )
        )

    async def _answer(self) -> None:
        """Mostly yes, sometimes no, sometimes nothing at all."""
        while True:
            conversation, code = await self._open.get()
            word = self.chance.choice(("y", "y", "y", "n", None))
            if word is not None:
                self.count.seen["yes" if word == "y" else "no"] += 1
                self._send(conversation, f"re-{code}-{os.urandom(4).hex()}", f"{code} {word}")

    def _send(self, conversation: str, name: str, text: str) -> None:
        task = asyncio.create_task(self._until_taken(conversation, name, text))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _until_taken(self, conversation: str, name: str, text: str) -> None:
        """As a platform does: the same message again, until it is acknowledged."""
        message = {"id": name, "conversation": conversation, "sender": "soak", "text": text}
        body = json.dumps(message).encode()
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                if await self._post(body) == 200:
                    self.count.seen["acknowledged"] += 1
                    return
            await asyncio.sleep(0.2)

    async def _post(self, body: bytes) -> int:
        now = int(time.time())
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"POST /surfaces/webhook/x HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n"
            f"x-clew-timestamp: {now}\r\nx-clew-signature: {sign(SECRET, now, body)}\r\n"
            "connection: close\r\n\r\n".encode()
            + body
        )
        try:
            return int((await reader.read()).split(b" ", 2)[1])
        except IndexError:
            return 0
        finally:
            writer.close()

    # What happens to them

    async def _kill(self) -> None:
        victims: tuple[Callable[[], int | None], ...] = (self._daemon, self._daemon, self._supervisor, self._codex)
        while True:
            await asyncio.sleep(self.chance.uniform(*CALM))
            victim = self.chance.choice(victims)
            pid = await asyncio.to_thread(victim)
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.count.seen[f"killed: {victim.__name__.strip('_')}"] += 1
            with suppress(ClewError):  # as the next command of a person would
                await asyncio.to_thread(launch.ensure_daemon, self.home, _quietly, again=True)

    def _daemon(self) -> int | None:
        holder = lock.read(self.home.lock)
        return holder.pid if holder and not lock.is_free(self.home.lock) else None

    def _supervisor(self) -> int | None:
        note = launch.read_note(self.home)
        return note.supervisor.pid if note and launch.is_supervised(self.home) else None

    def _codex(self) -> int | None:
        holder = lock.read(self.home.lock)
        found = processes.children(holder.store) if holder and holder.store else []
        return next((each.pid for each in found if "codex" in each.command), None)

    async def _weigh(self) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(5)
            process = processes.look(pid) if (pid := self._daemon()) else None
            if process is not None:
                self.count.memory.append((time.monotonic() - began, process.rss / 1e6))

    async def _received(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(re.search(r"content-length: (\d+)", head)[1])  # type: ignore[index]
                key = re.search(r"idempotency-key: (\S+)", head)
                self._took(key[1] if key else "", await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    def _took(self, key: str, body: bytes) -> None:
        is_new = key not in self.count.bodies
        self.count.took(key, body)
        told = json.loads(body)
        if told["kind"] == "ask" and is_new:
            for code in CODE.findall(told["text"]):
                self._open.put_nowait((told["conversation"], code))

    # The end of it

    async def _settle(self) -> list[str]:
        """Let everything come to its end: yes to what is asked, `continue` to what waits."""
        client = Client(self.home)
        for _ in range(int(DRAIN / LOOK)):
            if await asyncio.to_thread(self._push_on, client):
                break
            await asyncio.sleep(LOOK)
        fates = (await asyncio.to_thread(client.get, "status"))["fates"]
        await asyncio.to_thread(stop_daemon, self.home, 10, _quietly)
        return self._verdict(fates)

    def _push_on(self, client: Client) -> bool:
        """True: nothing is left to do."""
        gates = client.get("gates")
        for gate in gates:
            with suppress(ClewError):
                client.post("gates", gate["id"], "answer", body={"decision": "accept"})
                self.count.seen["yes"] += 1
        threads = client.get("threads", limit=1000)["threads"]
        for thread in threads:
            if thread["status"] == "suspended":
                body = {"message_id": os.urandom(8).hex(), "supplement": "continue"}
                with suppress(ClewError):
                    client.post("threads", thread["id"], "resume", body=body)
                    self.count.seen["continued by a person"] += 1
        waiting = sum(surface["pending"] for surface in client.get("status")["surfaces"])
        return not gates and not waiting and all(each["status"] == "idle" and not each["queued"] for each in threads)

    def _verdict(self, fates: dict[str, int]) -> list[str]:
        seen, connection = self.count.seen, connect(self.home.database, read_only=True)
        tx = Tx(connection)
        rows = inbox.count_rows(tx)
        lost = seen["acknowledged"] - sum(1 for name in _names(tx) if name.startswith(("m", "re-")))
        doubled = sum(len(bodies) > 1 for bodies in self.count.bodies.values())
        stuck = list(audit.unfinished(tx))
        unowed = list(audit.ended_without_owing(tx))
        runs = Counter(self.runs.read_text().split()) if self.runs.exists() else Counter()
        left = self._left()
        connection.raw.close()
        for name in sorted(seen):
            print(f"  {name}: {seen[name]}")
        print(f"  fates: {fates}, rows: {rows}")
        print(f"  answers and notices at the receiver: {len(self.count.bodies)}; commands run: {sum(runs.values())}")
        print(f"  memory of the daemon: {_slope(self.count.memory)}")
        troubles = {
            "lost": lost,
            "doubled": doubled,
            "stuck": stuck,
            "ended and not owed": unowed,
            "runs without a yes": max(0, sum(runs.values()) - seen["yes"]),
            "fates that do not add up": 0 if fates == rows else (fates, rows),
            "left running": left,
        }
        for name, trouble in troubles.items():
            print(f"{'✗' if trouble else '✓'} {name}: {trouble or 0}")
        return [name for name, trouble in troubles.items() if trouble]

    def _left(self) -> list[str]:
        holder = lock.read(self.home.lock)
        found = processes.children(holder.store) if holder and holder.store else []
        return [f"{each.pid} {each.command}" for each in found]


def _names(tx: Tx) -> list[str]:
    return [message for message, _ in audit.all_fates(tx)]


def _slope(samples: list[tuple[float, float]]) -> str:
    if len(samples) < 2:
        return "too short to tell"
    first, last = samples[0][1], samples[-1][1]
    return f"{first:.0f} MB at first, {last:.0f} MB at last, {max(each for _, each in samples):.0f} MB at most"


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


def _quietly(line: str) -> None:
    return


def soak(minutes: float, seed: int | None = None, transport: str = "stdio") -> int:
    chosen = seed if seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"soak: {minutes:g} min, seed {chosen}, Codex by {transport}")
    with tempfile.TemporaryDirectory(prefix="clew-soak-") as folder:
        troubles = asyncio.run(Soak(Path(folder), chosen, transport).run(minutes))
    return 1 if troubles else 0
