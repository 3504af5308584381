"""Stages for the runtime kit: agents that play scripts, and how a check controls them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.model.runtime import Runtime
from clew.process.scan import Marks, Process
from clew.runtimes import acp
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.settings import CodexConfig
from clew.support.clock import Clock
from clew.support.home import Home
from clew.testing.runtime_stage import Oddity, Trick, kill_all
from clew.testing.scripted_model import ScriptedModel
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.crash.mischief import between
from tests.helpers.paths import ROOT
from tests.runtimes import claude_program
from tests.runtimes.claude import between as odd_claude
from tests.runtimes.claude_program import skip_without_claude


class ScriptedStage:
    """The scripted runtime: no program, and no real commands."""

    runs_commands = False
    deadline = 1.0
    tricks: Sequence[Trick] = ()
    limit = "!error insufficient_quota"
    empty = "!text"

    def __init__(self, folder: Path) -> None:
        self.workspace = folder
        self._ledger = FileLedger(folder / "scripted")
        self._made: ScriptedRuntime | None = None

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        if odd is None:
            self._made = ScriptedRuntime(clock, self._ledger)
        return self._made if odd is None else None

    async def wait_held(self, name: str) -> None:
        assert self._made is not None
        await self._made.holds.held(name)

    def release(self, name: str) -> None:
        assert self._made is not None
        self._made.holds.release(name)

    def command(self, name: str) -> str:
        return f"make {name}"

    def runs(self, name: str) -> int:
        played = self._ledger.load("scripted-thread")
        return sum(entry.executions.count(self.command(name)) for entry in played)

    def folders(self, name: str) -> list[str]:
        return []

    async def kill(self, runtime: Runtime, children: Sequence[Process]) -> None:
        assert self._made is not None
        self._made.lose()

    def freeze(self, children: Sequence[Process]) -> bool:
        return False


class ProgramStage:
    """Base of stages with a real program that runs commands."""

    runs_commands = True
    deadline = 10.0

    def __init__(self, folder: Path) -> None:
        self.workspace = folder

    @property
    def tricks(self) -> Sequence[Trick]:
        return ()

    def command(self, name: str) -> str:
        return f"pwd >> {self.workspace / name}"

    def folders(self, name: str) -> list[str]:
        trace = self.workspace / name
        return trace.read_text().splitlines() if trace.exists() else []

    def runs(self, name: str) -> int:
        return len(self.folders(name))

    async def kill(self, runtime: Runtime, children: Sequence[Process]) -> None:
        kill_all(children)

    def freeze(self, children: Sequence[Process]) -> bool:
        kill_all(children, signal.SIGSTOP)
        return True


class PipeStage(ProgramStage):
    """A program that plays scripts itself, and holds at named pipes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.holds = folder / "holds"
        self._open: dict[str, int] = {}

    async def wait_held(self, name: str) -> None:
        """Open the pipe for writing, which blocks until the agent reads."""
        self.holds.mkdir(exist_ok=True)
        with suppress(FileExistsError):
            os.mkfifo(self.holds / name, 0o600)
        try:
            self._open[name] = await asyncio.to_thread(os.open, self.holds / name, os.O_WRONLY)
        except asyncio.CancelledError:
            os.close(os.open(self.holds / name, os.O_RDONLY | os.O_NONBLOCK))  # the thread waits no longer
            raise

    def release(self, name: str) -> None:
        os.write(self._open[name], b"!")
        os.close(self._open.pop(name))

    def __del__(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)


class ModelStage(ProgramStage):
    """A program that uses our scripted model."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        super().__init__(folder)
        self._model = model

    async def wait_held(self, name: str) -> None:
        await self._model.held(name)

    def release(self, name: str) -> None:
        self._model.release(name)

    def was_told(self, words: str) -> bool:
        return any(words in json.dumps(request.body) for request in self._model.requests)


class CodexStage(ModelStage):
    """The real Codex. `keeps`: the home of clew for a kept Codex."""

    limit = "!error insufficient_quota"
    empty = "!text"

    def __init__(self, folder: Path, home: Path, model: ScriptedModel, keeps: Home | None = None) -> None:
        super().__init__(folder, model)
        self._home = home
        self._keeps = keeps

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        command = between(self.workspace, str(odd)).split('"')[1] if odd else None
        config = CodexConfig(
            command, str(self._home), start_timeout=60, request_timeout=self.deadline, interrupt_timeout=self.deadline
        )
        if self._keeps is None:
            return CodexRuntime(config, clock, marks)
        self._keeps.prepare()
        return None if odd else CodexRuntime(replace(config, transport="socket"), clock, marks, self._keeps)


class ClaudeStage(ModelStage):
    """The real Claude Code, with the login of a subscription."""

    limit = "!limit five_hour 4102444800"
    empty = "!text"

    def __init__(self, folder: Path, home: Path, model: ScriptedModel) -> None:
        skip_without_claude()
        super().__init__(folder, model)
        self._home = home

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        program = odd_claude.between(self.workspace, ODDLY[odd]) if odd else None
        return ClaudeRuntime(self.config(program), clock, marks)

    def config(self, program: str | None = None) -> ClaudeConfig:
        return ClaudeConfig(
            program or claude_program.PROGRAM,
            str(self._home),
            start_timeout=60,
            request_timeout=self.deadline,
            interrupt_timeout=self.deadline,
        )


ODDLY = {Oddity.JUNK: "junk", Oddity.UNKNOWN: "unknown", Oddity.FLOOD: "flood"}


def acp_config(folder: Path, *what: str, **settings: Any) -> AcpConfig:
    """Return a config entry that starts our own agent."""
    program = str(ROOT / "tests/runtimes/acp/agent.py")
    command = (sys.executable, "-S", program, str(folder / "holds"), *what)
    return AcpConfig(command=command, env={"PYTHONPATH": str(ROOT)}, **settings)


def acp_toml(folder: Path, *what: str) -> str:
    """Return the same as a table of config.toml."""
    agent = acp_config(folder, *what)
    command = ", ".join(f'"{word}"' for word in agent.command)
    env = ", ".join(f'{name} = "{value}"' for name, value in agent.env.items())
    return f"[runtimes.acp.player]\ncommand = [{command}]\nenv = {{ {env} }}\n"


class AcpStage(PipeStage):
    """Our own ACP agent, `acp/agent.py`."""

    limit = "!limit"
    empty = "!text"
    models = ("small", "large")

    def __init__(self, folder: Path, *what: str) -> None:
        super().__init__(folder)
        self._what = what

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        odd_too = (*self._what, ODDLY[odd]) if odd else self._what
        config = acp_config(self.workspace, *odd_too, request_timeout=self.deadline, interrupt_timeout=self.deadline)
        return acp.make({"player": config}, clock, marks)["player"]

    def was_told(self, words: str) -> bool:
        return any(words in file.read_text() for file in self.workspace.glob("*.session"))

    @property
    def tricks(self) -> Sequence[Trick]:
        """Each asks about one command or diff, and then makes clew do something else."""
        (self.workspace / "sub").mkdir(exist_ok=True)
        env = [{"name": "HARM", "value": "harm"}]
        file, asked = self.workspace / "diff", self.command("trick")
        diff = {"toolCallId": "c", "kind": "edit", "content": [{"type": "diff", "path": str(file), "newText": "good"}]}
        with_env = f"echo $HARM >> {self.workspace / 'env'}"
        words = {"command": "/bin/sh", "args": ["-c", '"$0" "$@"', "echo", "unseen"]}
        twice = [[("create", {"command": each, "under": 7})] for each in (asked, self.command("second"))]
        return (
            self._trick(asked, [{"command": self.command("other")}], lambda: self.folders("other")),
            self._trick(asked, [{"command": asked, "cwd": "sub"}], lambda: self.folders("trick")),
            self._trick(asked, [{"command": asked}] * 2, lambda: self.folders("trick")[1:]),
            self._trick(with_env, [{"command": with_env, "env": env}], lambda: self.folders("env")),
            Trick(
                steps(("permit", diff), ("put", {"path": str(file), "content": "evil"})),
                lambda: "" if self.folders("diff") in ([], ["good"]) else "another text was written",
            ),
            Trick(steps(("create", words)), lambda: "", "echo unseen"),
            Trick(steps(("at-once", twice)), lambda: f"it ran in {ran}" if (ran := self.folders("second")) else ""),
        )

    def _trick(self, command: str, then: list[dict[str, object]], harm: Callable[[], list[str]]) -> Trick:
        ask = {"toolCallId": "c", "kind": "execute", "title": "x", "rawInput": {"command": command}}
        script = steps(("permit", ask), *(("create", each) for each in then))
        return Trick(script, lambda: f"it ran in {harm()}" if harm() else "")


def steps(*given: tuple[str, object]) -> str:
    """Return a script for `acp/agent.py`."""
    return "\n".join(f"!{name} {json.dumps(what)}" for name, what in given)
