"""`./bench --soak MINUTES`: real traffic on a real daemon with the real Codex, and random SIGKILLs of daemon,
supervisor and Codex; then counts what was lost, duplicated or left over.

Messages come by signed webhook, each with its own id, and are sent again until they are acknowledged. The agent writes,
is steered, and asks before it runs a command; somebody says yes, no or nothing; somebody else starts tasks, and stops
and resumes threads. Answers and commands contain the number of their message. If there is enough time, nothing is
killed in the last quarter, so that one daemon lives long enough to measure its memory.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.soak_count import Count, Counted, Weight, left_running, read_home, read_runs
from benchmarks.soak_figures import ENOUGH, WARM, figures
from benchmarks.soak_verdict import judge
from clew.model.delivery import DeliveryKind
from clew.process import lock, scan, start
from clew.process.stop import stop_daemon
from clew.support.errors import ClewError
from clew.support.home import Home
from clew.surfaces.signing import sign
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from tests.helpers.json_client import JsonClient as Client

SECRET = "soak"
ROOMS = 8
PAUSE = (0.05, 0.6)  # seconds between two messages
ORDERS = (0.5, 2.0)  # seconds between two API calls
DEATHS = (2.0, 7.0)  # seconds between two kills
CALM = 300.0  # seconds without kills, at most
SETTLING = 20.0  # seconds of these until the last daemon runs and was measured
WEIGH = 5.0  # seconds between two measurements of the daemon's memory
DRAIN, LOOK = 180.0, 0.5  # seconds until everything must have settled, and between two checks
SHOWN = 20  # shown examples of one error
CODE = re.compile(r"\(([A-Z2-9]{4,12})\)")


class Soak:
    def __init__(self, folder: Path, seed: int, transport: str) -> None:
        self.folder = folder
        self.transport = transport
        self.home = Home(folder / "home")
        self.count = Count()
        self.chance = random.Random(seed)
        self.port = _free_port()
        self.runs = folder / "runs"
        self._open: asyncio.Queue[tuple[str, str]] = asyncio.Queue()  # conversation and code of open gates
        self._sending: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()  # of answers

    async def run(self, minutes: float) -> Counted:
        async with ScriptedModel() as model:
            server = await asyncio.start_server(self._received, "127.0.0.1", 0)
            self._configure(model.url, server.sockets[0].getsockname()[1])
            await asyncio.to_thread(start.ensure_daemon, self.home, _quietly)
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
        """Run until the time is over, then finish what is in progress."""
        deaths = self._kill(seconds - _calm(seconds))
        tasks = [
            asyncio.create_task(work) for work in (self._talk(), self._answer(), self._order(), deaths, self._weigh())
        ]
        _, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        broken = [each for each in results if isinstance(each, Exception)]
        if broken:
            raise broken[0]
        await asyncio.to_thread(start.ensure_daemon, self.home, _quietly, again=True)
        _, late = await asyncio.wait(self._sending, timeout=DRAIN) if self._sending else (set(), set())
        self.count.untaken.update(task.get_name() for task in late)

    # Actions of people

    async def _talk(self) -> None:
        while True:
            await asyncio.sleep(self.chance.uniform(*PAUSE))
            number = next(self._numbers)
            self.count.seen["messages"] += 1
            self._send(f"room-{self.chance.randrange(ROOMS)}", f"m{number}", self._words(number))

    def _words(self, number: int) -> str:
        return self.chance.choice(
            (
                f"!text answer {number}",
                f"!slow 20 20\n!text answer {number}",
                f"!shell echo {number} >> {self.runs}\n!text answer {number}",
                f"!say 200\n!text answer {number}",
                "stop",
            )
        )

    async def _answer(self) -> None:
        """Mostly yes, sometimes no, sometimes nothing at all."""
        while True:
            conversation, code = await self._open.get()
            word = self.chance.choice(("y", "y", "y", "n", None))
            if word is not None:
                self._said(code, yes=word == "y")
                self._send(conversation, f"re-{code}-{os.urandom(4).hex()}", f"{code} {word}")

    def _said(self, code: str, *, yes: bool) -> None:
        if code not in self.count.yes:
            self.count.seen["yes" if yes else "no"] += 1
        if yes:
            self.count.yes.add(code)

    async def _order(self) -> None:
        """Call the API, as a terminal does. Without a response it may have been done, so it is not repeated."""
        client = Client(self.home, start=False)
        while True:
            await asyncio.sleep(self.chance.uniform(*ORDERS))
            what, pick = self.chance.choice(("start", "stop", "stop", "resume")), self.chance.random()
            with suppress(ClewError):
                await asyncio.to_thread(self._order_once, client, what, pick, f"!text answer {next(self._numbers)}")
                self.count.seen[f"ordered: {what}"] += 1

    def _order_once(self, client: Client, what: str, pick: float, text: str) -> None:
        name = f"order-{os.urandom(8).hex()}"
        if what == "start":
            task = {"message_id": name, "text": f"!slow 20 20\n{text}", "kind": "task", "notify": "webhook:x"}
            client.post("threads", body={**task, "workspace": str(self.folder)})
            self.count.taken.add(name)
            return
        known = client.get("threads", limit=20, history="true" if what == "resume" else "false")["threads"]
        thread = known[int(pick * len(known))]["id"] if known else "none"
        if what == "resume":
            client.post("threads", thread, what, body={"message_id": name, "supplement": text})
            self.count.taken.add(name)
        else:
            client.post("threads", thread, what, body={})

    def _send(self, conversation: str, name: str, text: str) -> None:
        task = asyncio.create_task(self._until_taken(conversation, name, text), name=name)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _until_taken(self, conversation: str, name: str, text: str) -> None:
        """Send the same message until it is acknowledged, as a platform does."""
        message = {"id": name, "conversation": conversation, "sender": "soak", "text": text}
        body = json.dumps(message).encode()
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                if await self._post(body) == 200:
                    self.count.taken.add(name)
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

    # Kills and measurements

    async def _kill(self, seconds: float) -> None:
        over = time.monotonic() + seconds
        victims: tuple[Callable[[], int | None], ...] = (self._daemon, self._daemon, self._supervisor, self._codex)
        while time.monotonic() < over:
            await asyncio.sleep(self.chance.uniform(*DEATHS))
            victim = self.chance.choice(victims)
            pid = await asyncio.to_thread(victim)
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.count.seen[f"killed: {victim.__name__.strip('_')}"] += 1
            with suppress(ClewError):  # as a person's next command would
                await asyncio.to_thread(start.ensure_daemon, self.home, _quietly, again=True)

    def _daemon(self) -> int | None:
        holder = lock.read(self.home.lock)
        return holder.pid if holder and not lock.is_free(self.home.lock) else None

    def _supervisor(self) -> int | None:
        note = start.read_note(self.home)
        return note.supervisor.pid if note and start.is_supervised(self.home) else None

    def _codex(self) -> int | None:
        holder = lock.read(self.home.lock)
        found = scan.children(holder.store) if holder and holder.store else []
        return next((each.pid for each in found if "codex" in each.command), None)

    async def _weigh(self) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(WEIGH)
            process = scan.get(pid) if (pid := self._daemon()) else None
            if process is not None:
                weight = Weight(time.monotonic() - began, process.rss / 1e6, _open_files(process.pid))
                self.count.weights.setdefault(process.pid, []).append(weight)

    async def _received(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(re.search(r"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
                key = re.search(r"(?i)idempotency-key: (\S+)", head)
                self._took(key[1] if key else "", await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    def _took(self, key: str, body: bytes) -> None:
        told = self.count.add_received(key, body)
        if told is not None and told.kind == DeliveryKind.ASK:
            for code in CODE.findall(told.text):
                self._open.put_nowait((told.conversation, code))

    # The end

    async def _settle(self) -> Counted:
        """Wait until everything has ended, or will not."""
        client = Client(self.home)
        rested = await self._rest(client)
        fates = (await asyncio.to_thread(client.get, "status"))["fates"]
        await asyncio.to_thread(stop_daemon, self.home, 10, _quietly)
        rows = read_home(self.home)
        return Counted(self.count, rows, fates, read_runs(self.runs), rested, left_running(self.home))

    async def _rest(self, client: Client) -> bool:
        """Accept gates and answer `continue` until everything has ended; False: it does not end. Checks twice, because
        a message in transit is neither waiting nor delivered."""
        quiet = 0
        for _ in range(int(DRAIN / LOOK)):
            quiet = quiet + 1 if await asyncio.to_thread(self._push_on, client) else 0
            if quiet == 2:
                return True
            await asyncio.sleep(LOOK)
        return False

    def _push_on(self, client: Client) -> bool:
        """Answer what is open; True: nothing is left to do."""
        gates = client.get("gates")
        for gate in gates:
            self._said(gate["code"], yes=True)
            with suppress(ClewError):
                client.post("gates", gate["id"], "answer", body={"decision": "accept"})
        threads = client.get("threads", limit=1000)["threads"]
        for thread in threads:
            if thread["status"] == "suspended":
                body = {"message_id": os.urandom(8).hex(), "supplement": "continue"}
                with suppress(ClewError):
                    client.post("threads", thread["id"], "resume", body=body)
                    self.count.seen["continued by a person"] += 1
        waiting = sum(surface["pending"] for surface in client.get("status")["surfaces"])
        return not gates and not waiting and all(each["status"] == "idle" and not each["queued"] for each in threads)


def _calm(seconds: float) -> float:
    """Return how long nothing is killed at the end: the last quarter, if that is enough to measure memory growth."""
    quarter = min(seconds / 4, CALM)
    return quarter if quarter >= SETTLING + WARM + ENOUGH else 0.0


def _open_files(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # process gone, or not Linux
        return 0


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
    folder = Path(tempfile.mkdtemp(prefix="clew-soak-"))
    troubled = _tell(asyncio.run(Soak(folder, chosen, transport).run(minutes)))
    if troubled:
        print(f"what there is to look at is kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _tell(counted: Counted) -> bool:
    """Print the result; True: errors were found."""
    verdict = judge(counted)
    for line in figures(counted):
        print(f"  {line}")
    for name, found in verdict.items():
        print(f"{'✗' if found else '✓'} {name}: {len(found)}")
        for each in found[:SHOWN]:
            print(f"    {each}")
    return any(verdict.values())
