"""A program named `codex` on the PATH, whose sandbox works or not, whatever this machine can do."""

from __future__ import annotations

import os
from pathlib import Path

WORKS = "echo > inside"
FAILS = "echo no namespace for you >&2; exit 1"


def codex_on_path(folder: Path, sandbox: str) -> dict[str, str]:
    """The environment in which Codex's `sandbox` command does this."""
    program = folder / "bin" / "codex"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{sandbox}\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
