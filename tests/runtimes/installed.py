"""Installs real agents once, from the registries that pip and npm are configured for, into a folder outside of the
repository: `CLEW_AGENTS`, or ~/.cache/clew-agents."""

from __future__ import annotations

import fcntl
import os
import platform
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

HERMES = "hermes-agent[acp]==0.19.0"
OPENCODE = "opencode-ai@1.18.33"
NODE = "24.21.0"  # some agents need Node 22 or newer
PATIENCE = 900.0  # seconds
ARCH = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())


def folder() -> Path:
    return Path(os.environ.get("CLEW_AGENTS") or f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache/clew-agents")


def hermes() -> str:
    """Install Hermes. A failed install fails the test; it is not skipped."""

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(folder / "bin" / "pip"), "install", "-q", HERMES)

    return str(_once(folder() / "hermes-agent-0.19.0", install) / "bin" / "hermes")


def opencode() -> str:
    """Install OpenCode, without the script that only copies its program."""
    return str(npm(OPENCODE) / f"opencode-{sys.platform}-{ARCH}" / "bin" / "opencode")


def npm(package: str) -> Path:
    """Install a package of npm, and return its `node_modules`. Skips the test if that is not possible here."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")

    def install(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", package, cwd=folder)
        except AssertionError as failed:
            pytest.skip(f"{package} cannot be installed here: {failed}")

    name = package.lstrip("@").replace("/", "-").replace("@", "-")
    return _once(folder() / name, install) / "node_modules"


@cache
def node_path() -> str:
    """A PATH whose `node` is 22 or newer."""
    found = shutil.which("node")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout if found else "v0"
    if int(said.lstrip("v").split(".")[0] or 0) >= 22:
        return os.environ["PATH"]
    package = f"node-{sys.platform}-{ARCH}"
    return f"{npm(f'{package}@{NODE}') / package / 'bin'}{os.pathsep}{os.environ['PATH']}"


def _once(folder: Path, install: Callable[[Path], None]) -> Path:
    """Install once, even if several workers ask at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            install(folder)
            done.touch()
    return folder


def _run(*argv: str, cwd: Path | None = None) -> None:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stdout[-1000:]} {done.stderr[-2000:]}"
