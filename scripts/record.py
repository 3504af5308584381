"""Records `./clew demo` in a real terminal and writes docs/images/demo.svg: each line appears when it appeared there.

    .venv/bin/python scripts/record.py [--columns 100]

The SVG needs no script and no font of its own; a browser repeats it.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "demo.svg"
PAUSE = 4.0  # seconds that the last picture stays
ROW, CHAR, MARGIN = 20, 8.43, 16
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_COLOURS = {"✔": "#7ee787", "✓": "#7ee787", "✘": "#ff7b72", "$": "#79c0ff"}


def record(columns: int) -> list[tuple[float, str]]:
    """Each finished line with the seconds after which it was complete."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    began = time.monotonic()
    with subprocess.Popen([ROOT / "clew", "demo"], stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as demo:
        os.close(theirs)
        lines: list[tuple[float, str]] = []
        rest = b""
        while chunk := _read(ours):
            *complete, rest = (rest + chunk).split(b"\n")
            lines += [(time.monotonic() - began, shown(line)) for line in complete]
    os.close(ours)
    if demo.returncode:
        sys.exit(f"clew demo ended with {demo.returncode}; nothing was written.")
    return lines


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the other end was closed
        return b""


def shown(line: bytes) -> str:
    """What is left of a line when it is complete: a carriage return begins it again."""
    text = _CONTROL.sub("", line.decode("utf-8", "replace")).rstrip("\r")
    return text.rpartition("\r")[2].rstrip()


def svg(lines: list[tuple[float, str]], columns: int) -> str:
    lines = [(0.0, "$ ./clew demo"), *lines]
    total = lines[-1][0] + PAUSE
    width, height = round(columns * CHAR + 2 * MARGIN), len(lines) * ROW + 2 * MARGIN
    styles = "".join(
        f"@keyframes l{n}{{0%,{_share(at, total)}{{opacity:0}}{_share(at + 0.05, total)},100%{{opacity:1}}}}"
        for n, (at, _) in enumerate(lines)
        if at
    )
    rows = "".join(_row(n, at, text, total) for n, (at, text) in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<style>text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}}{styles}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>{rows}</svg>\n'
    )


def _row(number: int, at: float, text: str, total: float) -> str:
    colour = _COLOURS.get(text.lstrip()[:1])
    parts = [f"animation:l{number} {total:.2f}s infinite"] if at else []
    parts += [f"fill:{colour}"] if colour else []
    style = f' style="{";".join(parts)}"' if parts else ""
    y = MARGIN + (number + 1) * ROW - 6
    return f'<text x="{MARGIN}" y="{y}"{style} xml:space="preserve">{html.escape(text)}</text>'


def _share(at: float, total: float) -> str:
    return f"{100 * at / total:.2f}%"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=100)
    wanted = parser.parse_args()
    picture = svg(record(wanted.columns), wanted.columns)
    TARGET.write_text(picture, encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(picture) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
