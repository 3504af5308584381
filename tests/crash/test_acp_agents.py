"""Each real ACP agent in a complete clew: what a person allows, declines and stops, and a daemon that is killed in a
turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.conftest import System, open_system
from tests.crash.flows import ask
from tests.crash.test_switch_killed import answer
from tests.runtimes.real_agents import AGENTS, as_toml, asked_about, beyond_the_sandbox, real_config

pytestmark = [pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(1200)]


@dataclass(frozen=True, slots=True)
class Desk:
    system: System
    work: Path
    agent: str

    def start(self, prompt: str) -> Any:
        given = ("--runtime", self.agent, "--notify", "webhook:x", "--workspace", str(self.work))
        return self.system.clew.json("start", prompt, "--policy", "careful", *given)

    def command(self, name: str) -> str:
        return asked_about(self.agent, f"pwd >> {self.work / name}", self.work / f"gone-{name}")

    def ran(self, name: str) -> list[str]:
        trace = self.work / name
        return trace.read_text().splitlines() if trace.exists() else []

    def gate(self, turn: Any) -> Any:
        """Wait until the turn asks."""
        for event in self.system.clew.events(turn["thread"]):
            if event.kind == "gate.opened" and event.data["turn"] == turn["turn"]:
                return ask(self.system, "gates", event.data["data"]["gate"])
        raise AssertionError("it does not ask")

    def was_told(self, words: str) -> bool:
        return any(words in json.dumps(request.body) for request in self.system.model.requests)

    def finals(self, thread: str) -> list[str]:
        told = {each.id: each.json for each in self.system.hook.deliveries if each.json["kind"] == "final"}
        return [each["text"] for each in told.values() if each["thread"] == thread]


@pytest.fixture(params=AGENTS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    work = tmp_path / "work"
    work.mkdir()
    with open_system(tmp_path) as system:
        config = real_config(request.param, tmp_path / "agent", system.model.url)
        system.clew.configure(f"{system.clew.config}\n{as_toml(request.param, config)}\n")
        system.clew.env = {name: "" for name, value in config.env.items() if not value}
        if request.param == "codex-acp":
            system.model.on("!approve", beyond_the_sandbox)
        system.clew.up()
        yield Desk(system, work, request.param)


def test_a_real_agent_obeys_in_a_complete_clew(desk: Desk) -> None:
    system, clew = desk.system, desk.system.clew

    allowed = desk.start(f"!approve {desk.command('one')}\n!text done")
    gate = desk.gate(allowed)
    assert desk.command("one") in gate["title"] and desk.ran("one") == []
    clew("approve", gate["code"])
    ended = clew.wait_ended(allowed)
    assert (ended["state"], ended["text"]) == ("completed", "done")
    assert desk.ran("one") == [str(desk.work)], "a yes is one run, in the folder of the thread"

    declined = clew.json("send", allowed["thread"], f"!approve {desk.command('two')}\n!text done")
    clew("deny", desk.gate(declined)["code"], "the moon is full")
    assert clew.wait_ended(declined)["state"] == "completed"
    assert desk.was_told("the moon is full") and desk.ran("two") == []

    one, two = desk.start("!text alpha\n!hold one\n!text beta"), desk.start("!text gamma\n!hold two\n!text delta")
    for name in ("one", "two"):
        system.model.wait_held(name)
    clew("stop", two["thread"])
    assert clew.wait_ended(two)["state"] == "interrupted"
    system.model.release("one")
    ended = clew.wait_ended(one)
    assert ended["state"] == "completed" and ended["text"].endswith("beta"), "a stop of one thread touched another"


def test_the_turn_of_a_real_agent_goes_on_after_the_daemon_was_killed(desk: Desk) -> None:
    system, clew = desk.system, desk.system.clew
    begun = desk.start("!text alpha\n!hold here\n!text beta")
    system.model.wait_held("here")
    before = {child.pid for child in clew.children()}
    clew.kill()
    for pid in before:
        clew.wait_gone(pid)
    system.model.wait_left("here")
    system.model.release("here")
    assert answer(system, begun["thread"], begun["turn"]), "a continuation may have another script"
    clew.wait_for(begun["thread"], "delivery.sent")
    assert len(desk.finals(begun["thread"])) == 1
    then = clew.json("send", begun["thread"], "!text and more")
    assert answer(system, begun["thread"], then["turn"]).endswith("and more")
    assert clew.run("verify", begun["thread"]).code == 0
