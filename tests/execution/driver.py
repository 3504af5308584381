"""Runs commands one after the other, as agents do, and records their output. It runs under strace, whose log is split
by the folders that it creates between the commands. It imports only the standard library, because it starts often."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

MAX_OUTPUT = 1_000_000  # bytes of output that are checked


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 -- pathlib takes long to import
        jobs = json.load(file)
    results = []
    for at, job in enumerate(jobs["runs"]):
        os.mkdir(f"{jobs['marks']}/{at}")  # noqa: PTH102
        results.append(_run(job, jobs["tokens"]))
    os.mkdir(f"{jobs['marks']}/end")  # noqa: PTH102
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(results, file)


def _run(job: dict[str, Any], tokens: list[str]) -> dict[str, Any]:
    run = _on_a_terminal if job["terminal"] else _on_pipes
    try:
        here = os.path.realpath(job["folder"])  # else zsh opens all folders above to find its own path
        words, environ = [*job["shell"], job["command"]], {**job["environ"], "PWD": here}
        ended, output = run(words, job["folder"], environ, job["timeout"])
    except (OSError, ValueError):  # no such folder, or a NUL in the command: nothing was run
        ended, output = True, b""
    return {"ended": ended, "tokens": [each for each in tokens if each.encode() in output], "size": len(output)}


def _on_pipes(words: list[str], folder: str, environ: dict[str, str], timeout: int) -> tuple[bool, bytes]:
    child = subprocess.Popen(
        words,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return _wait_for_end(child, lambda: child.communicate(timeout=timeout)[0])


def _on_a_terminal(words: list[str], folder: str, environ: dict[str, str], timeout: int) -> tuple[bool, bytes]:
    """Like agents that offer a terminal: programs then use colours and pagers, and ask questions."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        words, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.write(ours, b"\x04" * 8)  # end of input
    pieces: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, pieces), daemon=True)
    reader.start()

    def output() -> bytes:
        child.wait(timeout)
        reader.join(timeout)
        return b"".join(pieces)

    result = _wait_for_end(child, output)
    os.close(ours)
    return result


def _read(terminal: int, pieces: list[bytes]) -> None:
    while sum(map(len, pieces)) < MAX_OUTPUT:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            return
        if not piece:
            return
        pieces.append(piece)


def _wait_for_end(child: subprocess.Popen[bytes], output: Any) -> tuple[bool, bytes]:
    try:
        return True, output()[:MAX_OUTPUT]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return False, b""


if __name__ == "__main__":
    main()
