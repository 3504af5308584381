"""The overhead of clew on a turn of Claude Code: the same turns through clew and through the bare program, which gets
the same arguments, alternately, each in one process that stays open."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from benchmarks.report import Line
from benchmarks.turns import SECRET, Hook, post
from clew.model.runtime import Seat
from clew.process.start import ensure_daemon
from clew.process.stop import stop_daemon
from clew.runtimes.claude.program.arguments import Begin, command_line, environment
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.home import Home
from clew.testing.scripted_model import ScriptedModel, write_claude_home
from tests.helpers.json_client import JsonClient as Client

PROGRAM = os.environ.get("CLEW_CLAUDE", "claude")
WARM_UP = 3
LINE = 64 * 1024 * 1024


class Turn(NamedTuple):
    name: str
    text: str
    at_most: float | None = None


TURNS = (
    Turn("a turn of Claude, its model takes half a second", "!slow 20 25", 1.05),
    Turn("a turn of Claude, its model takes no time", "!text t{number} b c d e"),
)


class Bare:
    """One process of Claude with as little code as possible between the caller and the pipe."""

    def __init__(self, config: ClaudeConfig, workspace: Path) -> None:
        self._config = config
        self._workspace = workspace

    async def __aenter__(self) -> Bare:
        seat = Seat("bare", str(self._workspace))
        self._process = await asyncio.create_subprocess_exec(
            *command_line(PROGRAM, Begin(str(uuid.uuid4())), seat, self._config),
            cwd=self._workspace,
            env={**os.environ, **environment(self._config)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def turn(self, text: str) -> None:
        """Run a turn, from the message to its result."""
        reader, writer = self._process.stdout, self._process.stdin
        assert reader is not None and writer is not None
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        row = {"type": "user", "uuid": str(uuid.uuid4()), "session_id": "", "message": message, "client_composed": True}
        writer.write(json.dumps(row).encode() + b"\n")
        while line := await reader.readline():
            if json.loads(line)["type"] == "result":
                return
        raise SystemExit("claude has ended")


async def measure(rounds: int = 30) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedModel() as model:
            claude = write_claude_home(Path(folder) / "claude", model.address)
            return await _turns(Path(folder), ClaudeConfig(PROGRAM, str(claude)), rounds)


async def _turns(folder: Path, config: ClaudeConfig, rounds: int) -> list[Line]:
    hook = Hook()
    home = _home(folder, config, await hook.start())
    await asyncio.to_thread(ensure_daemon, home, lambda line: None)
    try:
        status = await asyncio.to_thread(Client(home).get, "status")
        port = int(status["daemon"]["http"].rsplit(":", 1)[1])
        async with Bare(config, folder) as bare:
            return [await _compare(hook, port, bare, rounds, turn) for turn in TURNS]
    finally:
        await asyncio.to_thread(stop_daemon, home, 0, lambda line: None)
        await hook.stop()


async def _compare(hook: Hook, port: int, bare: Bare, rounds: int, turn: Turn) -> Line:
    ours, theirs = [], []
    for number in range(rounds + WARM_UP):
        text = turn.text.format(number=number)
        began = time.perf_counter()
        await bare.turn(text)
        theirs.append(time.perf_counter() - began)
        arrived = hook.expect("claude")
        began = time.perf_counter()
        await post(port, "claude", text)
        ours.append(await arrived - began)
    mine, bare_one = statistics.median(ours[WARM_UP:]), statistics.median(theirs[WARM_UP:])
    return Line(turn.name, mine * 1000, "ms", mine / bare_one, at_most=turn.at_most)


def _home(folder: Path, config: ClaudeConfig, url: str) -> Home:
    home = Home(folder / "home")
    home.prepare()
    home.config.write_text(
        f'[threads]\nruntime = "claude"\n[runtimes.claude]\ncommand = "{PROGRAM}"\nhome = "{config.home}"\n'
        f'[http]\nport = 0\n[surfaces.webhook.x]\nurl = "{url}"\nsecret = "{SECRET}"\nworkspace = "{folder}"\n'
    )
    return home


if __name__ == "__main__":
    for each in asyncio.run(measure()):
        print(each)
