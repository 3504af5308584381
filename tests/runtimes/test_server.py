"""A program that is killed before it is ready is started again: with the real Codex, on both transports, and with an
ACP agent."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from clew.model.runtime import HealthState, Runtime, Seat
from clew.process import kept_programs
from clew.process.scan import Marks
from clew.runtimes import acp
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.server.binary import locate
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.server import START_PAUSES
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble
from clew.support.home import Home
from clew.testing.scripted_model import ScriptedModel
from tests.runtimes.codex.raw import collect, ended, request
from tests.runtimes.stages import acp_config

pytestmark = pytest.mark.process

# Kills itself, and the program that it stands for, at one moment of the start; as often as `kills` has lines.
KILLED = """\
#!{python} -I
import os, pathlib, signal, subprocess, sys

REAL, MOMENT, KILLS = {real!r}, {moment!r}, pathlib.Path({kills!r})


def is_due(moment):
    left = KILLS.read_text().splitlines()
    if moment != MOMENT or not left:
        return False
    KILLS.write_text("".join(f"{{line}}\\n" for line in left[1:]))
    return True


def die(child=None):
    if child is not None:
        child.kill()
        child.wait()
    os.kill(os.getpid(), signal.SIGKILL)


is_version = sys.argv[1:] == ["--version"]
if is_due("version" if is_version else "spawn"):
    die()
if not is_version and is_due("initialize"):
    child = subprocess.Popen([*REAL, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    child.stdin.write(sys.stdin.buffer.readline())
    child.stdin.flush()
    die(child)
if not is_version and is_due("listening"):
    place = sys.argv[-1].removeprefix("unix://")
    child = subprocess.Popen([*REAL, *sys.argv[1:]])
    while not os.path.exists(place):
        pass
    die(child)
os.execv(REAL[0], [*REAL, *sys.argv[1:]])
"""


def killed(folder: Path, real: list[str], moment: str, times: int) -> Path:
    """Make a program that is killed at this moment of its first starts, and later is the real one."""
    path, kills = folder / "killed", folder / "kills"
    kills.write_text("x\n" * times)
    path.write_text(KILLED.format(python=sys.executable, real=real, moment=moment, kills=str(kills)))
    path.chmod(0o755)
    return path


def killed_codex(
    folder: Path, config: CodexConfig, clock: SystemClock, moment: str, times: int, transport: str = "stdio"
) -> CodexRuntime:
    command = str(killed(folder, [locate(CodexConfig())], moment, times))
    home = Home(folder / "clew")
    home.prepare()
    marks = Marks(f"start{clock.token()[:8]}", "now")
    return CodexRuntime(dataclasses.replace(config, command=command, transport=transport), clock, marks, keeps=home)


@pytest.mark.parametrize(
    ("transport", "moment", "times"),
    [
        ("stdio", "version", 1),
        ("stdio", "spawn", 1),
        ("stdio", "initialize", 2),
        ("socket", "version", 1),
        ("socket", "spawn", 2),
        ("socket", "listening", 1),
    ],
)
async def test_a_codex_killed_while_it_starts_is_started_again(
    tmp_path: Path,
    config: CodexConfig,
    clock: SystemClock,
    seat: Seat,
    model: ScriptedModel,
    transport: str,
    moment: str,
    times: int,
) -> None:
    runtime = killed_codex(tmp_path, config, clock, moment, times, transport)
    try:
        session = await runtime.open(seat)
        assert ended(await collect(session.run(request("!text it works")))).text == "it works"
        assert (tmp_path / "kills").read_text() == "", "it was killed as often as meant"
        assert (await runtime.health()).state is HealthState.HEALTHY
    finally:
        await runtime.close()
        await kept_programs.end_all(Home(tmp_path / "clew"), clock, 0)


@pytest.mark.parametrize("transport", ["stdio", "socket"])
async def test_a_codex_that_is_always_killed_fails_with_its_fate(
    tmp_path: Path, config: CodexConfig, clock: SystemClock, seat: Seat, transport: str
) -> None:
    runtime = killed_codex(tmp_path, config, clock, "spawn", 100, transport)
    try:
        with pytest.raises(RuntimeTrouble, match=r"does not stay up .killed by SIGKILL") as failed:
            await runtime.open(seat)
        assert failed.value.code == "codex_exits"
        assert len((tmp_path / "kills").read_text().splitlines()) == 100 - len(START_PAUSES) - 1
    finally:
        await runtime.close()


@pytest.mark.parametrize("moment", ["spawn", "initialize"])
async def test_an_acp_agent_killed_while_it_starts_is_started_again(
    tmp_path: Path, clock: SystemClock, marks: Marks, seat: Seat, moment: str
) -> None:
    config = acp_config(tmp_path)
    command = (str(killed(tmp_path, list(config.command), moment, 2)),)
    runtime: Runtime = acp.make({"mine": dataclasses.replace(config, command=command)}, clock, marks)["mine"]
    try:
        session = await runtime.open(seat)
        assert ended(await collect(session.run(request("!text it works")))).text == "it works"
        assert (tmp_path / "kills").read_text() == ""
    finally:
        await runtime.close()
