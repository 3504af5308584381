"""Throw-away installations of clew: a git clone, or an environment as uv and pipx make them. Nothing is fetched: the
packages that clew needs come from the environment of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.helpers.paths import ROOT

LAUNCHER = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd -P)
PYTHONPATH="$here/src" exec {python} -P -m clew.process.bootstrap clew.cli.main "$@"
"""
COMMAND = """#!/bin/sh
exec "$(dirname "$0")/python" -P -m clew.process.bootstrap clew.cli.main "$@"
"""


def copy_source(target: Path) -> None:
    shutil.copytree(ROOT / "src" / "clew", target, ignore=shutil.ignore_patterns("__pycache__"))


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def git(folder: Path, *words: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def make_origin(folder: Path) -> Path:
    """A repository with the source of clew, and a launcher that installs nothing."""
    copy_source(folder / "src" / "clew")
    write_program(folder / "clew", LAUNCHER.format(python=sys.executable))
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Old version")
    return folder


def make_environment(folder: Path, *, pip: bool = False) -> Path:
    """An empty environment that finds the installed dependencies of clew, but not clew itself. Returns its packages."""
    command = [sys.executable, "-m", "venv", *([] if pip else ["--without-pip"]), str(folder)]
    subprocess.run(command, check=True, timeout=120)
    lib = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (lib / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # its own .pth files do not count
    return lib
