"""Promise 10: no process outlives its purpose."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from clew.process import scan
from tests.crash.conftest import TRANSPORTS, System, open_system
from tests.crash.flows import only

pytestmark = pytest.mark.process


def _busy(system: System, folder: Path) -> list[scan.Process]:
    """Run a turn whose command leaves a grandchild in its own session, and return the processes."""
    system.clew.up()
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    # The grandchild reports that it runs, and then waits for ever without exec.
    left = f"echo > {folder}/begun; read line < {folder}/never"
    command = f"setsid sh -c '{left}' > /dev/null 2>&1 < /dev/null & cat {folder}/begun"
    system.clew.json("start", f"!shell {command}\n!hold here", "--workspace", str(folder), "--policy", "yolo")
    system.model.wait_held("here")
    return system.clew.children()


def test_10_no_process_outlives_its_purpose(system: System, tmp_path: Path) -> None:
    """After SIGKILL the next start ends leftovers; so does `down` without a next start."""
    busy = _busy(system, tmp_path)
    assert any(process.command == "sh" and process.session == process.pid for process in busy)
    assert any("codex" in process.command for process in busy)
    system.clew.kill()
    system.clew.up()
    assert [process for process in system.clew.children() if process.key in {old.key for old in busy}] == []
    system.clew.kill()
    system.clew("down")
    assert system.clew.children() == []


def test_ps_shows_codex_and_its_children_and_clean_ends_leftovers(system: System, tmp_path: Path) -> None:
    grandchild = next(each.pid for each in _busy(system, tmp_path) if each.command == "sh" and each.session == each.pid)
    rows = {row["pid"]: row for row in system.clew.json("ps") if row["threads"] == [only(system)]}
    [codex] = [pid for pid, row in rows.items() if row["role"] == "agent"]
    assert "codex" in rows[codex]["command"] and rows[grandchild]["role"] == "command"
    assert all(row["rss"] > 0 and row["age"] > 0 for row in rows.values())
    os.kill(codex, signal.SIGSTOP)  # so that it does not notice the end of its daemon
    system.clew.kill_for_good()
    left = {row["pid"] for row in system.clew.json("ps") if row["role"] == "left"}
    assert {codex, grandchild} <= left
    cleaned = system.clew.run("doctor", "--clean").err
    assert all(f"ended pid {pid}" in cleaned for pid in (codex, grandchild))
    assert (system.clew.children(), system.clew.alive()) == ([], [])


def test_down_leaves_nothing_behind_while_a_turn_runs(system: System, tmp_path: Path) -> None:
    assert _busy(system, tmp_path)
    system.clew("down", "--grace", "0")
    assert system.clew.children() == []


def _bare(system: System, folder: Path) -> int:
    """Run a turn whose command has an empty environment and keeps running; return its pid."""
    system.clew.up()
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    command = f"env -i /bin/sh -c 'echo $$ > {folder}/begun; read line < {folder}/never'"
    system.clew.json("start", f"!shell {command}", "--workspace", str(folder), "--policy", "yolo")
    pid = int((folder / "begun").read_text())
    process = scan.get(pid)
    assert process is not None and process.mark is None
    return pid


def test_ps_and_clean_find_children_with_an_empty_environment(system: System, tmp_path: Path) -> None:
    pid = _bare(system, tmp_path)
    rows = {row["pid"]: row for row in system.clew.json("ps")}
    assert (rows[pid]["role"], rows[pid]["threads"]) == ("command", [only(system)])
    [codex] = [row["pid"] for row in rows.values() if row["role"] == "agent"]
    os.kill(codex, signal.SIGSTOP)  # so that it and its command stay
    system.clew.kill_for_good()
    assert {row["role"] for row in system.clew.json("ps") if row["pid"] in (codex, pid)} == {"left"}
    assert f"ended pid {pid}" in system.clew.run("doctor", "--clean").err
    assert scan.get(pid) is None


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_down_ends_children_with_an_empty_environment(tmp_path: Path, transport: str) -> None:
    with open_system(tmp_path, transport=transport) as system:
        pid = _bare(system, tmp_path)
        system.clew("down", "--grace", "0")
        assert scan.get(pid) is None and system.clew.alive() == []
