"""Promise 10: no process outlives its purpose."""

from __future__ import annotations

import os
from pathlib import Path

from clew import processes
from tests.crash.conftest import Desk


def _busy(desk: Desk, folder: Path) -> list[processes.Process]:
    """A turn whose command has left a grandchild in a session of its own; the processes that are there then."""
    desk.clew.up()
    for name in ("begun", "never"):
        os.mkfifo(folder / name)
    # What it leaves says that it is there, and then waits for ever without becoming another program.
    left = f"echo > {folder}/begun; read line < {folder}/never"
    command = f"setsid sh -c '{left}' > /dev/null 2>&1 < /dev/null & cat {folder}/begun"
    desk.clew.json("start", f"!shell {command}\n!hold here", "--workspace", str(folder), "--policy", "yolo")
    desk.model.wait_held("here")
    return desk.clew.children()


def test_10_no_process_outlives_its_purpose(desk: Desk, tmp_path: Path) -> None:
    """Killed without a word, the next start ends what is left; and so does `down` where there is no next start."""
    busy = _busy(desk, tmp_path)
    assert any(process.command == "sh" and process.session == process.pid for process in busy)
    assert any("codex" in process.command for process in busy)
    desk.clew.kill()
    desk.clew.up()
    assert [process for process in desk.clew.children() if process.key in {old.key for old in busy}] == []
    desk.clew.kill()
    desk.clew("down")
    assert desk.clew.children() == []


def test_down_leaves_nothing_behind_while_a_turn_runs(desk: Desk, tmp_path: Path) -> None:
    assert _busy(desk, tmp_path)
    desk.clew("down", "--grace", "0")
    assert desk.clew.children() == []
