"""A home and a copy of it have the same store id, and their processes the same mark: each handles only its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.process import lock, scan
from tests.helpers.daemons import TIMEOUT, Clew
from tests.runtimes.stages import acp_toml

pytestmark = pytest.mark.process


@contextmanager
def copied(clew: Clew, to: Path) -> Iterator[Clew]:
    """Copy a home as `cp -r` does, including the files of a running daemon."""
    shutil.copytree(clew.root, to, ignore=shutil.ignore_patterns("*.sock", "holds"))
    with Clew(to, clew.config) as copy:
        yield copy


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    config = f'[threads]\nruntime = "player"\n{acp_toml(tmp_path)}'
    with Clew(tmp_path / "home", config) as clew:
        clew.up()
        yield clew


def agent(clew: Clew) -> scan.Process:
    [found] = [each["pid"] for each in clew.json("ps") if each["role"] == "agent"]
    process = scan.get(found)
    assert process is not None
    return process


def asking(clew: Clew, folder: Path) -> dict[str, str]:
    """A turn whose agent waits for an answer."""
    started: dict[str, str] = clew.json(
        "start", "!approve make it\n!text done", "--workspace", str(folder), "--policy", "careful"
    )
    clew.wait_for(started["thread"], "gate.opened")
    return started


@pytest.mark.parametrize("commands", ["threads", "down", "threads down", "doctor--clean"])
def test_the_agents_of_a_home_are_left_alone_by_a_copy_of_it(clew: Clew, tmp_path: Path, commands: str) -> None:
    before, started = clew.pid, asking(clew, tmp_path)
    at_work = agent(clew)
    with copied(clew, tmp_path / "copy") as copy:
        for command in commands.split():
            copy.run(*command.replace("--", " --").split())
    assert clew.pid == before and agent(clew).key == at_work.key
    [gate] = clew.json("gates")
    clew("approve", gate["code"])
    assert clew.wait_ended(started)["state"] == "completed"


def test_the_copy_of_a_home_does_not_list_its_agents(clew: Clew, tmp_path: Path) -> None:
    asking(clew, tmp_path)
    at_work = agent(clew)
    with copied(clew, tmp_path / "copy") as copy:
        assert copy.json("ps") == []
        [found] = [each for each in copy.run("doctor", "--json").json if each["check"] == "children"]
        assert (found["ok"], found["detail"]) == (True, "none left behind")
        copy.up()
        assert at_work.pid not in {each["pid"] for each in copy.json("ps")}


def test_leftovers_of_a_renamed_home_are_ended(clew: Clew, tmp_path: Path) -> None:
    holder = lock.read(clew.home.lock)
    assert holder is not None and holder.store is not None
    mark = scan.Mark(holder.store, f"host.{holder.pid}.{holder.started}.token", 1)
    child = subprocess.Popen(["sleep", "1000"], env={**os.environ, scan.VARIABLE: str(mark)}, cwd=tmp_path)
    with child:
        try:
            clew.kill_for_good()
            clew.root.rename(tmp_path / "renamed")
            with Clew(tmp_path / "renamed", clew.config) as renamed:
                renamed.up()
                assert child.wait(TIMEOUT) < 0
        finally:
            child.kill()
