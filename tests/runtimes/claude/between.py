"""A program between the real Claude and clew that adds odd output."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.runtimes.claude_program import PROGRAM

TEXT = """\
#!{python} -I
import json, os, subprocess, sys, threading

REAL, WHAT = {real!r}, {what!r}
if "-p" not in sys.argv:
    os.execv(REAL, [REAL, *sys.argv[1:]])
quiet = subprocess.DEVNULL if WHAT == "flood" else None  # Claude makes its stderr non-blocking, and so ours
claude = subprocess.Popen([REAL, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet)
out = sys.stdout.buffer


def say(data):
    out.write(data)
    out.flush()


def forward():
    for line in sys.stdin.buffer:
        claude.stdin.write(line)
        claude.stdin.flush()
    claude.stdin.close()


threading.Thread(target=forward, daemon=True).start()
for line in claude.stdout:
    is_start = b"command_lifecycle" in line and b"started" in line
    if WHAT == "junk":
        say(b"no json\\n\\xff\\xfe\\x00\\n{{}}\\n[1, 2\\n\\n" + line)
    elif WHAT == "halves":
        for at in range(0, len(line), 7):
            say(line[at : at + 7])
    elif WHAT == "huge" and is_start:
        text = json.dumps({{"type": "strange", "text": "x" * 50_000_000}})
        say(line + text.encode() + b"\\n")
    elif WHAT == "unknown" and is_start:
        asked = {{"type": "control_request", "request_id": "r", "request": {{"subtype": "read_minds"}}}}
        odd = {{"type": "assistant", "message": 7, "parent_tool_use_id": {{}}, "uuid": 3}}
        say(line + json.dumps(asked).encode() + b"\\n" + json.dumps(odd).encode() + b"\\n")
    else:
        if WHAT == "flood" and is_start:
            for _ in range(500):
                os.write(2, b"nobody wants to know this\\n" * 2_000)
        say(line)
"""


def between(folder: Path, what: str) -> str:
    """Return the path of the program."""
    path = folder / "odd-claude"
    path.write_text(TEXT.format(python=sys.executable, real=PROGRAM, what=what))
    path.chmod(0o755)
    return str(path)
