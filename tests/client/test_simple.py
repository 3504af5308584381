"""`clew.run` against a real daemon and the scripted runtime."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew as package
from clew.support.errors import BadInput, RunError, TimedOut, TurnFailed, WaitsForPerson
from tests.helpers import daemons
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Clew]:
    with daemons.Clew(tmp_path_factory.mktemp("home")) as daemon:
        daemon.up()
        yield daemon


@pytest.fixture
def home(daemon: daemons.Clew, monkeypatch: pytest.MonkeyPatch) -> daemons.Clew:
    monkeypatch.setenv("CLEW_HOME", str(daemon.root))
    return daemon


@pytest.mark.process
def test_run_returns_the_answer_and_its_thread(home: daemons.Clew, tmp_path: Path) -> None:
    folder = tmp_path / "项目"
    folder.mkdir()
    result = package.run("!text 你好", workspace=folder, runtime="scripted", policy="careful", timeout=60)
    assert (result.text, result.state) == ("你好", "completed")
    thread = home.json("show", result.thread)
    assert (thread["workspace"], thread["turn"], thread["kind"]) == (str(folder), result.turn, "chat")


@pytest.mark.process
def test_run_raises_why_a_turn_failed(home: daemons.Clew) -> None:
    with pytest.raises(TurnFailed, match="The turn failed: The model said broken") as failed:
        package.run("!error broken")
    assert failed.value.thread in str(failed.value)


@pytest.mark.process
def test_run_raises_if_the_agent_asks_and_the_thread_waits(home: daemons.Clew) -> None:
    with pytest.raises(WaitsForPerson, match="clew gates ") as waits:
        package.run("!approve make deploy\n!text It is out.")
    [code] = home.json("show", waits.value.thread)["gates"]
    assert f"`clew gates {code}`" in str(waits.value)
    home.json("approve", code)
    assert home.json("wait", waits.value.thread)[0]["outcome"] == "completed"


@pytest.mark.process
def test_run_goes_on_if_a_policy_allows_it(home: daemons.Clew) -> None:
    assert package.run("!approve make deploy\n!text It is out.", policy="yolo").text == "It is out."


@pytest.mark.process
def test_run_gives_up_in_time_and_the_turn_goes_on(home: daemons.Clew) -> None:
    gate = home.gate("slow")
    with pytest.raises(TimedOut, match=r"was not over in 0\.5 s") as late:
        package.run("!hold slow\n!text late", timeout=0.5)
    gate.release()
    assert home.json("wait", late.value.thread)[0]["outcome"] == "completed"


@pytest.mark.process
def test_each_error_of_run_is_a_run_error(home: daemons.Clew) -> None:
    assert all(issubclass(kind, RunError) for kind in (TurnFailed, WaitsForPerson, TimedOut))
    with pytest.raises(BadInput, match="no runtime named"):
        package.run("hello", runtime="nobody")


async def test_run_inside_an_event_loop_names_the_asynchronous_client() -> None:
    assert asyncio.get_running_loop()
    with pytest.raises(BadInput, match=r"async with clew\.Clew\(\)"):
        package.run("hello")


@pytest.mark.process
def test_the_documented_call_prints_the_answer(home: daemons.Clew, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None and "clew.run(" in found[1]
    program = found[1].replace("what does this repo do?", "!text a ball of thread")
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=daemons.TIMEOUT)
    assert (done.stdout, done.stderr, done.returncode) == ("a ball of thread\n", "", 0)


@pytest.mark.process
def test_import_clew_loads_no_client() -> None:
    program = "import sys, clew; print([name for name in sys.modules if name.startswith('clew.client')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=daemons.TIMEOUT)
    assert done.stdout == "[]\n"
