"""Installs real agents once into the cache of the test run, from the registries that pip and npm are configured for."""

from __future__ import annotations

import fcntl
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERMES = "hermes-agent[acp]==0.19.0"
OPENCODE = "opencode-ai@1.18.33"
PATIENCE = 900.0  # seconds


def hermes(cache: Path) -> str:
    """Install Hermes. A failed install fails the test; it is not skipped."""

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(folder / "bin" / "pip"), "install", "-q", HERMES)

    return str(_once(cache / "hermes-0.19.0", install) / "bin" / "hermes")


def opencode(cache: Path) -> str:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    arch = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())

    def install(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", OPENCODE, cwd=folder)

    folder = _once(cache / "opencode-1.18.33", install)
    return str(folder / "node_modules" / f"opencode-{sys.platform}-{arch}" / "bin" / "opencode")


def _once(folder: Path, install: Callable[[Path], None]) -> Path:
    """Install once, even if several workers ask at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
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
