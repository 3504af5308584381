"""Installs real agents once, from the registries that pip and npm are configured for, into a folder outside of the
repository: `CLEW_AGENTS`, or ~/.cache/clew-agents."""

from __future__ import annotations

import fcntl
import os
import platform
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

NODE = "24.21.0"  # some agents need Node 22 or newer
PATIENCE = 900.0  # seconds
ARCH = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())


def folder() -> Path:
    return Path(os.environ.get("CLEW_AGENTS") or f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache/clew-agents")


def pypi(package: str, oldest: str, newest: str) -> Path:
    """Install a package of PyPI, and return the folder of its programs. Skips the test if there is no Python for it. A
    failed install fails the test."""
    python = python_between(oldest, newest)
    if python is None:
        pytest.skip(f"{package} needs a Python from {oldest} to {newest}, and there is none here")

    def install(folder: Path) -> None:
        _run(python, "-m", "venv", str(folder))
        _run(str(folder / "bin" / "pip"), "install", "-q", package)

    return _once(folder() / re.sub(r"\[.*?\]", "", package).replace("==", "-"), install) / "bin"


@cache
def python_between(oldest: str, newest: str) -> str | None:
    """A Python of one of these versions: the suite's own, or one on the PATH, of pyenv or of uv."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    kept = [*home.glob(".pyenv/versions/*/bin/python3"), *home.glob(".local/share/uv/python/*/bin/python3")]
    named = (shutil.which(f"python3.{minor}") for minor in range(11, 20))
    say = "import sys; print(*sys.version_info[:2], sep='.')"
    for each in (sys.executable, *filter(None, named), *map(str, sorted(kept))):
        done = subprocess.run([each, "-c", say], capture_output=True, text=True, check=False)
        if done.returncode == 0 and _version(oldest) <= _version(done.stdout) <= _version(newest):
            return each
    return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.strip().split(".")))


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
