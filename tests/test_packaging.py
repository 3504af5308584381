"""The wheel is complete: built from this checkout and installed into an empty environment, it runs the demo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers.installs import make_environment
from tests.helpers.paths import ROOT

LIMIT = 240  # seconds; it takes 20 on an idle machine


def run(*command: str | Path, folder: Path, **environ: str) -> str:
    """Run a program without anything that leads to this checkout, and without a network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "CLEW_"))}
    offline = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_PROXY": "*"}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env={**kept, **offline, **environ}, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.process
def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", folder=ROOT)
    [wheel] = (tmp_path / "dist").glob("clew-*.whl")
    packages = make_environment(tmp_path / "venv", pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, folder=tmp_path)
    where = run(python, "-c", "import clew; print(clew.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)
    assert source_files() - set(zipfile.ZipFile(wheel).namelist()) == set()
    out = run(tmp_path / "venv" / "bin" / "clew", "demo", "--json", folder=tmp_path, CLEW_HOME=str(tmp_path / "home"))
    steps = json.loads(out)
    assert len(steps) > 5 and all(step["ok"] for step in steps), steps


def source_files() -> set[str]:
    """Everything in the package, such as the page and the migrations, but for what Python makes of it."""
    paths = (path for path in (ROOT / "src" / "clew").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT / "src").as_posix() for path in paths}
