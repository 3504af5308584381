"""`./bench`: prints a table of ratios and figures of one run, with the machine, and writes it to a JSON file."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks import against, claude, commits, daemon, growth, handoffs, page, switching, texts, turns, watchers
from benchmarks.report import Line
from benchmarks.soak import soak
from tests.simulation.many import try_many

Measure = Callable[[], list[Line]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", default="bench.json", help="where the figures are kept")
    parser.add_argument("--many", type=int, default=100_000, help="how many threads a large store has")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="instead: real traffic, real deaths")
    parser.add_argument("--seed", type=int, help="of the soak")
    parser.add_argument("--transport", choices=("stdio", "socket"), default="stdio", help="to Codex, in the soak")
    parser.add_argument("--seeds", type=int, default=0, help="stories of the simulation, after the soak")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="instead: the same commands in another one")
    wanted = parser.parse_args()
    print(machine())
    if wanted.against:
        print(*against.measure(Path.cwd(), wanted.against.resolve()), sep="\n")
        return 0
    if wanted.soak:
        failed = soak(wanted.soak, wanted.seed, wanted.transport)
        return 1 if wanted.seeds and try_many(0, wanted.seeds) else failed
    lines: list[Line] = []
    for title, measure in _parts(wanted.many):
        print(f"… {title}", file=sys.stderr)
        for line in measure():
            lines.append(line)
            print(line, flush=True)
    kept = {"machine": machine(), "at": time.strftime("%Y-%m-%d"), "lines": [asdict(line) for line in lines]}
    wanted.json.write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if all(line.ok for line in lines) else 1


def _parts(many: int) -> list[tuple[str, Measure]]:
    return [
        ("turns, against a bare driver", lambda: asyncio.run(turns.measure())),
        ("turns of Claude, against the bare program", lambda: asyncio.run(claude.measure())),
        (f"growth to {many} threads", lambda: growth.lines(asyncio.run(growth.measure(20, many)))),
        ("watchers", lambda: asyncio.run(watchers.measure())),
        ("long texts", texts.measure),
        ("handoffs", handoffs.measure),
        ("switching agents", lambda: asyncio.run(switching.measure())),
        ("the page", page.measure),
        ("commits", lambda: asyncio.run(commits.measure())),
        ("the daemon and its commands", daemon.measure),
    ]


def machine() -> str:
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
