"""The daemon is killed by SIGKILL while it suspends a thread whose budget is used up, with the real Codex. The message
is kept, clew asks after the restart, and the answer arrives once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.conftest import open_system

pytestmark = pytest.mark.process


@pytest.mark.parametrize("point", ["budget.suspended"])
def test_a_turn_above_the_budget_waits_and_runs_once_after_a_kill(tmp_path: Path, point: str) -> None:
    with open_system(tmp_path, more="[budgets.thread]\nturns = 1") as system:
        clew = system.clew
        clew.up()
        first = clew.json("start", "!text one", "--notify", "webhook:x", "--workspace", str(tmp_path))
        clew.wait_for(first["thread"], "delivery.sent")
        clew("down")
        pid = clew.up(env={"CLEW_CRASH": point})
        clew.run("resume", first["thread"], "--supplement", "!text two")  # its answer may be lost with the daemon
        clew.wait_gone(pid)
        clew.up()
        waiting = clew.wait(clew.begin("watch", first["thread"]))
        assert waiting.code == 5, waiting.err
        view = clew.json("show", first["thread"])
        assert (view["status"], view["suspended_by"], view["queued"]) == ("suspended", "budget", 1)
        assert system.model.count("!text two") == 0
        clew("resume", first["thread"], "--supplement", "go on")
        system.hook.wait_for(3)  # the first answer, the question, and the second answer
        clew("down")
        finals = [each.json["text"] for each in system.hook.deliveries if each.json["kind"] == "final"]
        assert finals == ["one", "two"]
