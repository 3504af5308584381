"""(e) what a command costs; (f) start, idle CPU, memory; (g) ready again after SIGKILL with 1,000 open turns."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.growth import Bench
from benchmarks.report import Line
from clew.model.threads import ThreadKind
from clew.process import scan
from clew.process.start import ensure_daemon
from clew.process.stop import stop_daemon
from clew.support.home import Home
from tests.helpers.json_client import JsonClient as Client

IDLE = 30.0
TICKS = os.sysconf("SC_CLK_TCK")


def measure(idle: float = IDLE) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        home = _home(Path(folder) / "empty")
        start = _timed(lambda: ensure_daemon(home, _quiet))
        try:
            lines = [Line("start to ready", start * 1000, "ms"), *_commands(home)]
            lines += [Line("memory, empty", _rss(home), "MB", at_most=100), _idle(home, idle)]
        finally:
            stop_daemon(home, 0, _quiet)
        lines += _grown(Path(folder) / "grown")
        lines.append(_parked(Path(folder) / "parked", idle))
        lines.append(_after_kill(Path(folder) / "killed"))
        return lines


def _home(path: Path) -> Home:
    home = Home(path)
    home.prepare()
    home.config.write_text('[threads]\nruntime = "scripted"\n[turns]\nparallel = 1000\n')
    return home


def _commands(home: Home) -> list[Line]:
    env = {**os.environ, "CLEW_HOME": str(home.root)}
    clew = [str(Path(sys.executable).with_name("clew"))]
    few = {"threads": [*clew, "threads"], "help": [*clew, "--help"], "pass": [sys.executable, "-c", "pass"]}
    times: dict[str, list[float]] = {name: [] for name in few}
    for _ in range(15):
        for name, argv in few.items():
            times[name].append(_timed(lambda argv=argv: subprocess.run(argv, env=env, capture_output=True, check=True)))  # type: ignore[misc]
    medians = {name: statistics.median(taken[2:]) * 1000 for name, taken in times.items()}
    return [
        Line("`clew threads`, over `python -c pass`", medians["threads"] - medians["pass"], "ms", at_most=150),
        Line("`clew --help`, whole", medians["help"], "ms", at_most=100),
    ]


def _idle(home: Home, seconds: float) -> Line:
    """Measure an idle daemon; the sleep is what is measured."""
    before = _cpu(home)
    time.sleep(seconds)
    return Line(f"CPU over {seconds:.0f} idle seconds", 100 * (_cpu(home) - before) / seconds, "%", at_most=0.5)


def _grown(path: Path) -> list[Line]:
    home = _home(path)
    asyncio.run(_fill(home, 1_000))
    ensure_daemon(home, _quiet)
    try:
        listed = [_timed(lambda: Client(home).get("threads", limit=200)) for _ in range(20)]
        rss = _rss(home)
    finally:
        stop_daemon(home, 0, _quiet)
    return [
        Line("memory, 1,000 threads", rss, "MB", at_most=100),
        Line("a page of 200 threads over the socket", statistics.median(listed) * 1000, "ms", at_most=20),
    ]


def _parked(path: Path, seconds: float) -> Line:
    """The account refuses the first thread; the others wait with it."""
    home = _home(path)
    ensure_daemon(home, _quiet)
    try:
        asyncio.run(_park(home, 1_000))
        return replace(_idle(home, seconds), name="CPU, idle, with 1,000 parked threads", at_most=0.05)
    finally:
        stop_daemon(home, 0, _quiet)


async def _park(home: Home, count: int) -> None:
    client = Client(home)
    for number in range(count):
        new = {"message_id": f"m{number}", "text": "!error insufficient_quota", "kind": ThreadKind.TASK.value}
        await asyncio.to_thread(lambda new=new: client.post("threads", body=new))  # type: ignore[misc]
    for event in client.raw_events(None, 0):
        if event.kind == "thread.status" and event.data["data"]["status"] == "suspended":
            count -= 1
            if count == 0:
                return


def _after_kill(path: Path) -> Line:
    home = _home(path)
    ensure_daemon(home, _quiet)
    try:
        asyncio.run(_open_turns(home, 1_000))
        ready = _timed(lambda: _kill_and_wait(home))
    finally:
        stop_daemon(home, 0, _quiet)
    return Line("ready again after SIGKILL with 1,000 open turns", ready * 1000, "ms")


def _kill_and_wait(home: Home) -> None:
    pid = _daemon(home)
    watch = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([watch], [], [])
    os.close(watch)
    ensure_daemon(home, _quiet)


async def _fill(home: Home, count: int) -> None:
    bench = Bench(home.database)
    await bench.fill(count)
    await bench.close()


async def _open_turns(home: Home, count: int) -> None:
    client = Client(home)
    for number in range(count):
        new = {"message_id": f"m{number}", "text": "!hold for-ever", "kind": ThreadKind.TASK.value}
        await asyncio.to_thread(lambda new=new: client.post("threads", body=new))  # type: ignore[misc]
    for event in client.raw_events(None, 0):
        if event.kind == "turn.started":
            count -= 1
            if count == 0:
                return


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _daemon(home: Home) -> int:
    return int(Client(home).get("status")["daemon"]["pid"])


def _rss(home: Home) -> float:
    found = scan.get(_daemon(home))
    assert found is not None
    return found.rss / 1e6


def _cpu(home: Home) -> float:
    fields = Path(f"/proc/{_daemon(home)}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _quiet(line: str) -> None:
    return
