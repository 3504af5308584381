"""Records `./clew demo` in a real terminal and writes docs/images/demo.svg: each line appears when it appeared there.
`--language zh` records the Chinese demo into demo.zh.svg.

    .venv/bin/python scripts/record.py [--columns 100] [--language zh]

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

from clew.cli.view.text_width import rows_of

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
LANGUAGES = {"en": ("C.UTF-8", "demo.svg"), "zh": ("zh_CN.UTF-8", "demo.zh.svg")}  # each with its locale
PAUSE = 4.0  # seconds that the last picture stays
ROW, CHAR, MARGIN = 20, 8.43, 16
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_STEP = re.compile(r"\S +[\d.]+ s  ")  # the beginning of a step of the demo
_COLOURS = {"✔": "#7ee787", "✓": "#7ee787", "✘": "#ff7b72", "$": "#79c0ff"}


def record(columns: int, locale: str) -> list[tuple[float, str]]:
    """Each finished line with the seconds after which it was complete."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1", "LANG": locale, "LC_ALL": locale}
    began = time.monotonic()
    demo = ["./clew", "demo"]  # its hints name it so
    with subprocess.Popen(demo, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as running:
        os.close(theirs)
        lines: list[tuple[float, str]] = []
        rest = b""
        while chunk := _read(ours):
            *complete, rest = (rest + chunk).split(b"\n")
            lines += [(time.monotonic() - began, shown(line)) for line in complete]
    os.close(ours)
    if running.returncode:
        sys.exit(f"clew demo ended with {running.returncode}; nothing was written.")
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


def rows(text: str, columns: int) -> list[str]:
    """A line as rows that fit; those of a step begin below its words."""
    step = _STEP.match(text)
    start = step[0] if step else ""
    first, *more = rows_of(text[len(start) :], columns - len(start))
    return [start + first, *(" " * len(start) + row for row in more)]


def svg(recorded: list[tuple[float, str]], columns: int) -> str:
    said = [(0.0, "$ ./clew demo"), *recorded]
    lines = [(at, row, text) for at, text in said for row in rows(text, columns)]
    total = lines[-1][0] + PAUSE
    width, height = round(columns * CHAR + 2 * MARGIN), len(lines) * ROW + 2 * MARGIN
    styles = "".join(
        f"@keyframes l{n}{{0%,{_share(at, total)}{{opacity:0}}{_share(at + 0.05, total)},100%{{opacity:1}}}}"
        for n, (at, *_) in enumerate(lines)
        if at
    )
    texts = "".join(_row(n, at, row, text, total) for n, (at, row, text) in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<style>text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}}{styles}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>{texts}</svg>\n'
    )


def _row(number: int, at: float, row: str, text: str, total: float) -> str:
    """A row of a line of text, which gives it its colour."""
    colour = _COLOURS.get(text.lstrip()[:1])
    parts = [f"animation:l{number} {total:.2f}s infinite"] if at else []
    parts += [f"fill:{colour}"] if colour else []
    style = f' style="{";".join(parts)}"' if parts else ""
    y = MARGIN + (number + 1) * ROW - 6
    return f'<text x="{MARGIN}" y="{y}"{style} xml:space="preserve">{html.escape(row)}</text>'


def _share(at: float, total: float) -> str:
    return f"{100 * at / total:.2f}%"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--language", choices=LANGUAGES, default="en")
    wanted = parser.parse_args()
    locale, name = LANGUAGES[wanted.language]
    picture = svg(record(wanted.columns, locale), wanted.columns)
    (IMAGES / name).write_text(picture, encoding="utf-8")
    print(f"docs/images/{name}: {len(picture) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
