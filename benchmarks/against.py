"""`./bench --against CHECKOUT`: what people wait for, in this checkout and in another one, in turn, on one machine.

Each line has this checkout's figure and its ratio to the other's. Only the installed `clew` of each is used.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.report import Line

ROUNDS = 15
STARTS = 7
CONFIG = '[threads]\nruntime = "scripted"\n'


class Checkout:
    """An installed clew with a home of its own."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.program = folder / ".venv" / "bin" / "clew"
        if not self.program.exists():
            raise SystemExit(f"{self.program} is not there. Run {folder / 'clew'} once.")
        home.mkdir(parents=True)
        (home / "config.toml").write_text(CONFIG)
        self.environ = {**os.environ, "CLEW_HOME": str(home)}

    def run(self, *words: str) -> str:
        command = [str(self.program), *words]
        return subprocess.run(command, env=self.environ, capture_output=True, check=True, text=True).stdout

    def timed(self, *words: str) -> float:
        began = time.perf_counter()
        self.run(*words)
        return (time.perf_counter() - began) * 1000

    def start(self) -> float:
        """Milliseconds of `clew up`, from nothing to a daemon that answers."""
        self.run("down")
        return self.timed("up")

    def memory(self) -> float:
        """Megabytes of the daemon that runs."""
        pid = json.loads(self.run("status", "--json"))["daemon"]["pid"]
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def measure(here: Path, other: Path) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        both = (Checkout(here, Path(folder) / "here"), Checkout(other, Path(folder) / "other"))
        try:
            return [
                _line("clew up, to ready", "ms", [[each.start() for each in both] for _ in range(STARTS)]),
                _line("memory of the daemon", "MB", [[each.memory() for each in both]]),
                _line("clew --help", "ms", [[each.timed("--help") for each in both] for _ in range(ROUNDS)]),
                _line("clew threads", "ms", [[each.timed("threads") for each in both] for _ in range(ROUNDS)]),
                _line("clew run", "ms", [[each.timed("run", "!text x") for each in both] for _ in range(ROUNDS)]),
            ]
        finally:
            for each in both:
                each.run("down")


def _line(name: str, unit: str, rounds: list[list[float]]) -> Line:
    here, other = (min(values) for values in zip(*rounds, strict=True))  # whatever else runs only adds to it
    return Line(name, here, unit, ratio=here / other)
