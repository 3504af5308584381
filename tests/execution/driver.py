"""Runs commands one after the other, as agents do, and notes what each printed. It is started under strace, which tells
the commands apart by the folders that it makes between them. Nothing but the standard library: it starts often."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

LONGEST = 1_000_000  # bytes of what a command printed that are looked at


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
    ask = _on_a_terminal if job["terminal"] else _on_pipes
    try:
        here = os.path.realpath(job["folder"])  # else zsh opens all folders above, to find out where it is
        words, environ = [*job["shell"], job["command"]], {**job["environ"], "PWD": here}
        ended, output = ask(words, job["folder"], environ, job["patience"])
    except (OSError, ValueError):  # no such folder, a command with a NUL: nothing was run
        ended, output = True, b""
    return {"ended": ended, "tokens": [each for each in tokens if each.encode() in output], "size": len(output)}


def _on_pipes(words: list[str], folder: str, environ: dict[str, str], patience: int) -> tuple[bool, bytes]:
    child = subprocess.Popen(
        words,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return _ended(child, lambda: child.communicate(timeout=patience)[0])


def _on_a_terminal(words: list[str], folder: str, environ: dict[str, str], patience: int) -> tuple[bool, bytes]:
    """As agents that offer a terminal do: programs then colour, page and ask."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        words, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.write(ours, b"\x04" * 8)  # the end of what would be typed
    pieces: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, pieces), daemon=True)
    reader.start()

    def output() -> bytes:
        child.wait(patience)
        reader.join(patience)
        return b"".join(pieces)

    result = _ended(child, output)
    os.close(ours)
    return result


def _read(terminal: int, pieces: list[bytes]) -> None:
    while sum(map(len, pieces)) < LONGEST:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            return
        if not piece:
            return
        pieces.append(piece)


def _ended(child: subprocess.Popen[bytes], output: Any) -> tuple[bool, bytes]:
    try:
        return True, output()[:LONGEST]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return False, b""


if __name__ == "__main__":
    main()
