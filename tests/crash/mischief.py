"""Faulty programs in place of Codex, or between Codex and clew."""

from __future__ import annotations

import sys
from pathlib import Path

from clew.runtimes.codex.server import binary
from clew.runtimes.codex.settings import CodexConfig

BETWEEN = """\
#!{python} -I
import json, os, subprocess, sys, threading

REAL, WHAT, NOTES = {real!r}, {what!r}, {notes!r}
if sys.argv[1:] == ["--version"]:
    os.execv(REAL, [REAL, "--version"])
codex = subprocess.Popen([REAL, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
out = sys.stdout.buffer


def say(data):
    out.write(data)
    out.flush()


def note(line):
    with open(NOTES, "ab") as file:
        file.write(line)


def forward():
    for line in sys.stdin.buffer:
        if b"424242" in line:
            note(line)
        else:
            codex.stdin.write(line)
            codex.stdin.flush()
    codex.stdin.close()


threading.Thread(target=forward, daemon=True).start()
for line in codex.stdout:
    if WHAT == "junk":
        say(b"no json\\n\\xff\\xfe\\x00\\n{{}}\\n[1, 2\\n\\n" + line)
    elif WHAT == "halves":
        for at in range(0, len(line), 7):
            say(line[at : at + 7])
    elif WHAT == "huge" and b"turn/started" in line:
        text = json.dumps({{"method": "item/strange", "params": {{"text": "x" * 50_000_000}}}})
        say(text.encode() + b"\\n" + line)
    elif WHAT == "unknown" and b"turn/started" in line:
        thread = json.loads(line)["params"]["threadId"]
        asked = {{"id": 424242, "method": "item/mindReading/request", "params": {{"threadId": thread}}}}
        say(line + json.dumps(asked).encode() + b"\\n")
    else:
        if WHAT == "flood" and b"turn/started" in line:
            for _ in range(500):
                os.write(2, b"nobody wants to know this\\n" * 2_000)
        say(line)
"""


def between(folder: Path, what: str) -> str:
    """Put a program between the real Codex and clew, and return the setting that names it."""
    notes = str(folder / "notes")
    text = BETWEEN.format(python=sys.executable, real=binary.locate(CodexConfig()), what=what, notes=notes)
    return instead(folder, text)


def instead(folder: Path, text: str) -> str:
    """Make a program in place of Codex, and return the setting that names it."""
    path = folder / "bad-codex"
    path.write_text(text)
    path.chmod(0o755)
    return f'command = "{path}"'


def repair(folder: Path) -> None:
    instead(folder, f'#!/bin/sh\nexec "{binary.locate(CodexConfig())}" "$@"\n')
