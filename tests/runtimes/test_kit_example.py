"""The example runtime of docs/how-to/runtimes/writing-one.md passes the runtime kit."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.model.runtime import Runtime
from clew.process.scan import Marks
from clew.support.clock import Clock
from clew.testing import runtime_history_checks, runtime_kit, runtime_stage
from clew.testing.runtime_kit import Check
from clew.testing.runtime_stage import Oddity
from tests.helpers.paths import ROOT
from tests.runtimes.stages import PipeStage

PAGE = ROOT / "docs" / "how-to" / "runtimes" / "writing-one.md"
PROGRAM = """#!/bin/sh
export PYTHONPATH={root} AGENT_IS_ODD={odd}
exec {python} -S {root}/tests/runtimes/line_agent.py {holds}
"""


def example() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


class LineAgentStage(PipeStage):
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.code = example()
        self._program = folder / "agent"
        monkeypatch.setenv("LINE_AGENT", str(self._program))

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        text = PROGRAM.format(root=ROOT, odd=odd or "", python=sys.executable, holds=self.holds)
        self._program.write_text(text)
        self._program.chmod(0o755)
        module: dict[str, Any] = {}
        exec(compile(self.code, str(PAGE), "exec"), module)
        runtime: Runtime = module["LineAgents"](clock, marks)
        return runtime


def test_the_example_is_small() -> None:
    lines = [line for line in example().splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("import", "from"))]) <= 95


def checks() -> list[object]:
    """Return the checks; slow ones are heavy."""
    long = (runtime_kit.a_frozen_agent_is_given_up_in_time,)
    return [
        pytest.param(check, id=runtime_kit.named(check), marks=[pytest.mark.heavy] if check in long else [])
        for check in runtime_kit.CHECKS
    ]


@pytest.mark.process
@pytest.mark.parametrize("check", checks())
async def test_the_example_conforms(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await check(LineAgentStage(tmp_path, monkeypatch))


FAULTS = {
    "ends twice": (
        runtime_kit.a_turn_has_one_start_and_one_end_which_comes_last,
        "yield TurnEnded(TurnState(state), answer, problem)",
        "yield TurnEnded(TurnState(state), answer, problem); yield TurnEnded(TurnState(state), answer, problem)",
    ),
    "starts late": (
        runtime_kit.a_turn_has_one_start_and_one_end_which_comes_last,
        "answer = text.whole() if",
        "yield TurnStarted(request.turn); answer = text.whole() if",
    ),
    "forgets that it was cut": (
        runtime_kit.text_deltas_are_contiguous_and_every_text_ends,
        "item, text = item + 1, GrowingText(self._seat.longest_text)",
        "pass",
    ),
    "says any amount": (
        runtime_kit.a_too_long_text_is_cut_with_a_notice,
        "item, text = 0, GrowingText(self._seat.longest_text)",
        "item, text = 0, GrowingText()",
    ),
    "answers with nothing": (
        runtime_kit.the_record_matches_the_turn,
        "TurnRecord(known, request.turn, answer)",
        "TurnRecord(known, request.turn)",
    ),
    "takes what it does not pass on": (
        runtime_kit.a_steer_is_in_the_turn_or_refused,
        "return False  # then",
        "return True  # then",
    ),
    "takes a yes twice": (runtime_kit.an_accepted_command_runs_exactly_once, "self._asked.discard(ref)", "pass"),
    "shows another folder": (
        runtime_kit.an_accepted_command_runs_in_the_folder_that_was_shown,
        "folder=self._seat.workspace",
        'folder="/"',
    ),
    "says yes to all": (runtime_kit.a_declined_command_does_not_run, "yes=answer.is_yes", "yes=True"),
    "calls every gate the same": (
        runtime_kit.an_answer_counts_for_the_gate_with_its_reference,
        'ref := f"{self.child.mark}-{number}"',
        'ref := f"{self.child.mark}-1"',
    ),
    "takes a late yes": (runtime_kit.a_yes_after_an_interrupt_has_no_effect, "self._asked.clear()", "pass"),
    "concludes from a death": (
        runtime_kit.a_killed_agent_leaves_the_turn_in_doubt,
        'raise RuntimeLost("the agent is gone")',
        "yield TurnEnded(TurnState.COMPLETED, text.whole())",
    ),
    "says that it resumed": (
        runtime_history_checks.a_session_says_how_it_began,
        "return self._began",
        "return SessionBegan.RESUMED",
    ),
    "forgets all": (
        runtime_history_checks.a_restarted_runtime_knows_the_history,
        "past=request.prelude",
        'past=""',
    ),
    "kills only the agent": (
        runtime_kit.background_processes_of_a_command_are_ended,
        "await session.close()",
        "os.kill(session.child.pid, 9); await session.child.wait_exited(); session.child._transport.close()",
    ),
    "trips over junk": (
        runtime_kit.invalid_lines_are_ignored,
        "pass  # not a message of the agent",
        "self.messages.put_nowait(None)",
    ),
}


@pytest.mark.process
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_kit_finds_a_planted_fault(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check, right, wrong = FAULTS[fault]
    stage = LineAgentStage(tmp_path, monkeypatch)
    assert stage.code.count(right) == 1, right
    stage.code = stage.code.replace(right, wrong)
    monkeypatch.setattr(runtime_stage, "PATIENCE", 3.0)  # do not wait long for what never comes
    with pytest.raises((AssertionError, TimeoutError)):
        await check(stage)
