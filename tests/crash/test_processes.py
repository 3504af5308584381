"""Promise 10: no process outlives its purpose."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from clew.process import scan
from tests.crash.conftest import TRANSPORTS, System, open_system
from tests.crash.flows import only


def _busy(desk: Desk, folder: Path) -> list[scan.Process]:
    """Run a turn whose command leaves a grandchild in its own session, and return the processes."""
    desk.clew.up()
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    # The grandchild reports that it runs, and then waits for ever without exec.
    left = f"echo > {folder}/begun; read line < {folder}/never"
    command = f"setsid sh -c '{left}' > /dev/null 2>&1 < /dev/null & cat {folder}/begun"
    desk.clew.json("start", f"!shell {command}\n!hold here", "--workspace", str(folder), "--policy", "yolo")
    desk.model.wait_held("here")
    return desk.clew.children()


def test_10_no_process_outlives_its_purpose(desk: Desk, tmp_path: Path) -> None:
    """After SIGKILL the next start ends leftovers; so does `down` without a next start."""
    busy = _busy(desk, tmp_path)
    assert any(process.command == "sh" and process.session == process.pid for process in busy)
    assert any("codex" in process.command for process in busy)
    desk.clew.kill()
    desk.clew.up()
    assert [process for process in desk.clew.children() if process.key in {old.key for old in busy}] == []
    desk.clew.kill()
    desk.clew("down")
    assert desk.clew.children() == []


def test_ps_shows_codex_and_its_children_and_clean_ends_leftovers(desk: System, tmp_path: Path) -> None:
    grandchild = next(each.pid for each in _busy(desk, tmp_path) if each.command == "sh" and each.session == each.pid)
    rows = {row["pid"]: row for row in desk.clew.json("ps") if row["threads"] == [only(desk)]}
    [codex] = [pid for pid, row in rows.items() if row["role"] == "agent"]
    assert "codex" in rows[codex]["command"] and rows[grandchild]["role"] == "command"
    assert all(row["rss"] > 0 and row["age"] > 0 for row in rows.values())
    os.kill(codex, signal.SIGSTOP)  # so that it does not notice the end of its daemon
    desk.clew.kill_for_good()
    left = {row["pid"] for row in desk.clew.json("ps") if row["role"] == "left"}
    assert {codex, grandchild} <= left
    cleaned = desk.clew.run("doctor", "--clean").err
    assert all(f"ended pid {pid}" in cleaned for pid in (codex, grandchild))
    assert (desk.clew.children(), desk.clew.alive()) == ([], [])


def test_down_leaves_nothing_behind_while_a_turn_runs(desk: System, tmp_path: Path) -> None:
    assert _busy(desk, tmp_path)
    desk.clew("down", "--grace", "0")
    assert desk.clew.children() == []


def _bare(desk: Desk, folder: Path) -> int:
    """Run a turn whose command has an empty environment and keeps running; return its pid."""
    desk.clew.up()
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    command = f"env -i /bin/sh -c 'echo $$ > {folder}/begun; read line < {folder}/never'"
    desk.clew.json("start", f"!shell {command}", "--workspace", str(folder), "--policy", "yolo")
    pid = int((folder / "begun").read_text())
    process = scan.get(pid)
    assert process is not None and process.mark is None
    return pid


def test_ps_and_clean_find_children_with_an_empty_environment(desk: System, tmp_path: Path) -> None:
    pid = _bare(desk, tmp_path)
    rows = {row["pid"]: row for row in desk.clew.json("ps")}
    assert (rows[pid]["role"], rows[pid]["threads"]) == ("command", [only(desk)])
    [codex] = [row["pid"] for row in rows.values() if row["role"] == "agent"]
    os.kill(codex, signal.SIGSTOP)  # so that it and its command stay
    desk.clew.kill_for_good()
    assert {row["role"] for row in desk.clew.json("ps") if row["pid"] in (codex, pid)} == {"left"}
    assert f"ended pid {pid}" in desk.clew.run("doctor", "--clean").err
    assert scan.get(pid) is None


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_down_ends_children_with_an_empty_environment(tmp_path: Path, transport: str) -> None:
    with open_system(tmp_path, transport=transport) as desk:
        pid = _bare(desk, tmp_path)
        desk.clew("down", "--grace", "0")
        assert scan.get(pid) is None and desk.clew.alive() == []
