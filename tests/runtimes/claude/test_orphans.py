"""A Claude that an earlier daemon left: it may finish what needs nobody, but not for ever."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.process import scan
from clew.process.scan import Mark, Process
from clew.runtimes.claude.record import orphans
from clew.runtimes.claude.record.orphans import Orphans
from clew.runtimes.claude.settings import ClaudeConfig
from clew.support.clock import SystemClock

SESSION = "5ac9712c-2ff5-5ec8-98ad-60b1621f7585"
SAID = {"type": "user", "uuid": "turn", "message": {"role": "user", "content": "hello"}}
WRITES = {
    "type": "assistant",
    "uuid": "a",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "o"}]},
}
CALL = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
CALLS = {"type": "assistant", "uuid": "b", "message": {"role": "assistant", "content": [CALL]}}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
GOES_ON = {"type": "user", "uuid": "d", "message": {"role": "user", "content": [RESULT]}}
NO = {**RESULT, "content": "Tool permission stream closed before response received", "is_error": True}
DENIED = {"type": "user", "uuid": "d", "message": {"role": "user", "content": [NO]}}


class Later(SystemClock):
    """A clock on which each sleep is long."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self._step = step
        self._passed = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._passed

    async def sleep(self, seconds: float) -> None:
        self._passed += self._step
        await super().sleep(0.01)


@pytest.fixture
def config(tmp_path: Path) -> ClaudeConfig:
    return ClaudeConfig(home=str(tmp_path))


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Process]:
    """A process that says that it is Claude, and has the session open."""
    mark = Mark(f"store{os.getpid()}", "earlier", 1)
    child = subprocess.Popen(["sleep", "600"], env={scan.VARIABLE: str(mark)}, start_new_session=True)
    found = _seen(child.pid)
    (tmp_path / "sessions").mkdir()
    told = {"pid": found.pid, "procStart": found.started, "sessionId": SESSION}
    (tmp_path / "sessions/1.json").write_text(json.dumps(told))
    yield found
    child.kill()
    child.wait()


def _seen(pid: int) -> Process:
    """The process as it is after its exec, during which it shows no environment for a moment."""
    while (found := scan.get(pid)) is None or found.mark is None:
        pass
    return found


def write(folder: Path, *rows: dict[str, Any]) -> None:
    (folder / "projects/x").mkdir(parents=True, exist_ok=True)
    parents = [None, *(row["uuid"] for row in rows[:-1])][: len(rows)]
    linked = [{"parentUuid": above, **row} for above, row in zip(parents, rows, strict=True)]
    lines = [json.dumps(row, separators=(",", ":")) for row in linked]
    (folder / f"projects/x/{SESSION}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("rows", "is_spared"),
    [
        ((), True),
        ((SAID,), True),
        ((SAID, WRITES), True),
        ((SAID, CALLS, GOES_ON), True),
        ((SAID, CALLS), False),
        ((SAID, CALLS, DENIED), False),
        ((SAID, CALLS, DENIED, WRITES), False),
    ],
)
@pytest.mark.process
async def test_it_may_finish_unless_it_asks(
    config: ClaudeConfig, tmp_path: Path, left: Process, rows: tuple[dict[str, Any], ...], is_spared: bool
) -> None:
    write(tmp_path, *rows)
    found = Orphans(config, SystemClock())
    assert await found.take_over({left.pid: left.started}) == ({left.pid} if is_spared else set())
    assert (found.of(SESSION) is not None) is is_spared
    await found.close()
    assert scan.is_alive(left) is not is_spared


@pytest.mark.process
async def test_a_process_with_another_start_is_not_taken(config: ClaudeConfig, left: Process) -> None:
    assert await Orphans(config, SystemClock()).take_over({left.pid: "1"}) == frozenset()


@pytest.mark.process
async def test_one_whose_mark_cannot_be_read_is_not_taken_and_nothing_is_ended(
    config: ClaudeConfig, tmp_path: Path, left: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No mark is what all processes of other programs have too: each of them would be ended."""
    write(tmp_path, SAID)
    ended: list[Process] = []
    monkeypatch.setattr(scan, "get", lambda pid: replace(left, mark=None))
    monkeypatch.setattr(scan, "send_signal", lambda process, number: ended.append(process))
    found = Orphans(config, SystemClock())
    assert await found.take_over({left.pid: left.started}) == frozenset()
    await found.close()
    assert ended == []


@pytest.mark.process
async def test_it_is_ended_if_it_is_silent_for_too_long(config: ClaudeConfig, tmp_path: Path, left: Process) -> None:
    write(tmp_path, SAID)
    slow = Orphans(config, Later(orphans.SILENCE / 10))
    await slow.take_over({left.pid: left.started})
    orphan = slow.of(SESSION)
    assert orphan is not None
    async with asyncio.timeout(30):
        while not orphan.is_over:
            await orphan.rows.wait()
    assert not scan.is_alive(left)


@pytest.mark.process
async def test_it_is_ended_once_it_asks(config: ClaudeConfig, tmp_path: Path, left: Process) -> None:
    write(tmp_path, SAID)
    found = Orphans(config, SystemClock())
    await found.take_over({left.pid: left.started})
    orphan = found.of(SESSION)
    assert orphan is not None
    write(tmp_path, SAID, CALLS)
    async with asyncio.timeout(30):
        while not orphan.is_over:
            await orphan.rows.wait()
    assert found.of(SESSION) is None and not scan.is_alive(left)
