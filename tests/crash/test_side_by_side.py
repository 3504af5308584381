"""Two agents run at once and one is killed: the other is not affected."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from clew.testing.scripted_model import write_hermes_home
from tests.crash.conftest import System, open_system
from tests.helpers.daemons import Clew
from tests.runtimes.real_agents import AGENTS

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(1200)]
HELD = "!text {0} moment\n!hold {0}\n!text {0} end"


@pytest.fixture(scope="session")
def hermes(pytestconfig: pytest.Config) -> str:
    assert pytestconfig.cache is not None
    return AGENTS["hermes"].source.path()


def start(system: System, folder: Path, runtime: str) -> Any:
    prompt = HELD.format(runtime)
    return system.clew.json("start", prompt, "--runtime", runtime, "--notify", "webhook:x", "--workspace", str(folder))


def agent(clew: Clew, name: str) -> int:
    return next(int(each["pid"]) for each in clew.json("status")["runtimes"] if each["name"] == name)


@pytest.mark.parametrize("killed", ["codex", "hermes"])
def test_one_of_two_agents_is_killed(tmp_path: Path, hermes: str, killed: str) -> None:
    other = {"codex": "hermes", "hermes": "codex"}[killed]
    home = tmp_path / "hermes"
    more = f"""
            [runtimes.acp.hermes]
            command = ["{hermes}", "acp"]
            env = {{ HERMES_HOME = "{home}", HOME = "{home}" }}
            start_timeout = 240
            request_timeout = 240
        """
    with open_system(tmp_path, more=more) as system:
        write_hermes_home(home, system.model.url)
        system.clew.up()
        begun = {name: start(system, tmp_path, name) for name in ("codex", "hermes")}
        for name in begun:
            system.model.wait_held(name)
        os.kill(agent(system.clew, killed), signal.SIGKILL)
        system.clew.wait_for(begun[killed]["thread"], "turn.ended", state="interrupted")
        system.model.release(other)
        system.clew.wait_for(begun[other]["thread"], "delivery.sent")
        system.model.release(killed)
        system.clew.wait_for(begun[killed]["thread"], "delivery.sent")
        told = {delivery.json["thread"]: delivery.json for delivery in system.hook.deliveries}
        assert told[begun[other]["thread"]]["text"] == f"{other} moment\n{other} end"
        assert not told[begun[other]["thread"]].get("note")
        assert told[begun[killed]["thread"]]["text"] == f"{killed} moment\n{killed} end"
        assert "continued" in told[begun[killed]["thread"]]["note"]
