"""The story that several agents in one thread are for, with the real Codex and the real Claude Code: a task begins on
Codex, comes to its usage limit in mid-turn, goes on on Claude, is switched to an ACP agent, and comes back to Codex,
whose own memory goes on. The daemon is killed by SIGKILL at each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from clew.runtimes.acp.agents.settings import AcpConfig
from clew.testing.scripted_model import write_claude_home
from clew.testing.scripted_model.request import Request, next_part
from clew.testing.scripted_model.script import Error, Hold, Recall, Say, Shell, Step
from clew.testing.scripted_model.server import AnyRequest
from tests.crash.conftest import System, open_system
from tests.crash.flows import ask
from tests.crash.test_switch_killed import answer, memory_of_codex, say, switch
from tests.runtimes.claude_program import PROGRAM, skip_without_claude
from tests.runtimes.real_agents import as_toml, real_config
from tests.runtimes.stages import acp_config

pytestmark = pytest.mark.process

TASK = "please make the parser quicker"
REAL = ("qwen", "codex-acp")


@dataclass(frozen=True, slots=True)
class Story:
    system: System
    folder: Path
    thread: str

    def kill_at(self, point: str) -> None:
        """Let the next daemon die at a crash point."""
        self.system.clew.kill_for_good()
        self.system.clew.run("up", env={"CLEW_CRASH": point})

    def finish(self) -> None:
        """Wait until the task is done. A person lets it go on if it was cut off too often to do so by itself."""
        clew = self.system.clew
        while (code := clew.run("wait", self.thread).code) != 0:
            if code == 5:
                clew.run("resume", self.thread)
            clew.up()

    def ran(self) -> list[str]:
        """Who ran the task's command, each time."""
        return (self.folder / "work" / "ran").read_text().split()

    def finals(self) -> list[str]:
        """What the receiver, which takes each key once, was told."""
        told = {each.id: each.json["text"] for each in self.system.hook.deliveries if each.json["kind"] == "final"}
        return list(told.values())


def play(request: AnyRequest) -> Sequence[Step]:
    """Codex's account refuses it in the middle of the task; Claude's does not."""
    if isinstance(request, Request):
        steps: tuple[Step, ...] = (Shell("echo codex >> ran"), Hold("codex"), Error("insufficient_quota"))
    else:
        steps = (Shell("echo claude >> ran"), Hold("claude"), Say("the parser is quicker"))
    return next_part(steps, request.acts_done)


def settings(folder: Path, config: AcpConfig) -> str:
    """Everything of the three agents that is not Codex."""
    claude = f'[runtimes.claude]\ncommand = "{PROGRAM}"\nhome = "{folder / "claude"}"\n'
    return f"\n{claude}{as_toml('other', config)}\n"


@pytest.fixture(params=["ours", *(pytest.param(name, marks=pytest.mark.heavy) for name in REAL)])
def story(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Story]:
    skip_without_claude()
    work, name = tmp_path / "work", request.param
    work.mkdir()
    with open_system(tmp_path) as system:
        write_claude_home(tmp_path / "claude", system.model.address)
        config = acp_config(work) if name == "ours" else real_config(name, tmp_path / "agent", system.model.url)
        system.clew.configure(system.clew.config + settings(tmp_path, config))
        system.model.on("!recall", lambda request: next_part((Recall(),), request.acts_done))
        system.model.on(TASK, play)
        system.clew.up()
        started = system.clew.json(
            "start", TASK, "--policy", "yolo", "--notify", "webhook:x", "--workspace", str(work), "--runtime", "codex"
        )
        yield Story(system, tmp_path, started["thread"])


@pytest.mark.timeout(600)
def test_a_task_goes_from_agent_to_agent_wherever_the_daemon_is_killed(story: Story) -> None:
    system, thread = story.system, story.thread
    clew, model = system.clew, system.model

    model.wait_held("codex")  # Codex works on it, and has run a command
    clew.kill()
    model.wait_left("codex")
    model.wait_held("codex")  # a task goes on once by itself
    model.release("codex")
    clew.wait_for(thread, "thread.status", status="suspended")  # Codex's account refuses to go on
    assert clew.json("show", thread)["suspended_by"] == "limit"
    clew.kill()
    assert clew.json("show", thread)["wake_at"]
    assert story.finals() == []
    before = memory_of_codex(story.folder)

    story.kill_at("switch.stored-not-answered")
    switch(system, thread, "claude")
    model.wait_held("claude")
    clew.kill()
    model.release("claude")
    story.finish()
    assert story.ran()[:3] == ["codex", "codex", "claude"] and set(story.ran()[2:]) == {"claude"}
    assert memory_of_codex(story.folder) == before, "Codex works on while Claude has the thread"

    story.kill_at("prelude.stored-not-sent")
    switch(system, thread, "other")
    recalled = say(system, thread, "!recall")
    assert TASK in recalled and "the parser is quicker" in recalled, "what the others said and did is told"
    assert memory_of_codex(story.folder) == before

    story.kill_at("turn.sent-not-recorded")
    switch(system, thread, "codex")
    turn = clew.json("send", thread, "!recall")["turn"]
    while clew.run("resume", thread, "--now").code != 0:  # its account gave no time, so the turn would wait for it
        clew.up()
    story.finish()
    assert answer(system, thread, turn).endswith(f"The first was: {TASK}"), "Codex's own memory goes on"
    [told] = [each["prelude"] for each in ask(system, "threads", thread, "transcript") if each["prelude"]][2:]
    assert (told["runtime"], told["left_out"]) == ("codex", 0)

    assert clew.run("verify", thread).code == 0
    finals = [told for told in story.finals() if told]
    assert len(finals) == 3, "one answer for each request"
    assert finals[0] == "the parser is quicker"
    agents = [each["author"] for each in ask(system, "threads", thread, "transcript") if each["role"] == "agent"]
    assert [agent for agent, _ in groupby(agents)] == ["codex", "claude", "other", "codex"]
    clew("down")
    assert clew.children() == []
