"""Checks of the runtime kit: what becomes of a command under each policy. docs/reference/rules.md shows the table."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from clew.model.events import GateOpened
from clew.model.gates import Answer, Policy
from clew.model.runtime import Session
from clew.testing.runtime_stage import NO, YES, RuntimeRig, Stage, Turn, answer_all


class Fate(StrEnum):
    """What a runtime does with a command that writes in the workspace."""

    ASKS = "asks"  # clew decides: a rule, the policy, or a person
    RUNS = "runs in the sandbox"  # without asking
    REFUSES = "refuses"  # without asking


# By policy: of a runtime with a sandbox, and of one without. The engine never gives `sandbox` to one without.
FATES: Mapping[Policy, tuple[Fate, Fate]] = MappingProxyType(
    {
        Policy.CAREFUL: (Fate.ASKS, Fate.ASKS),
        Policy.SANDBOX: (Fate.RUNS, Fate.ASKS),
        Policy.TRUSTED: (Fate.RUNS, Fate.ASKS),
        Policy.READ_ONLY: (Fate.REFUSES, Fate.ASKS),
        Policy.YOLO: (Fate.ASKS, Fate.ASKS),
    }
)


async def a_command_has_the_fate_of_its_policy(stage: Stage) -> None:
    """Under each policy, the runtime asks about a command, runs it in its sandbox, or refuses it, as `FATES` says."""
    async with RuntimeRig(stage) as rig:
        for policy, (boxed, unboxed) in FATES.items():
            session = await rig.open(thread=f"thread-{policy}", policy=policy)
            name = f"under-{policy}"
            asked = await _run(rig, session, f"!approve {stage.command(name)}\n!text done", NO)
            fate = Fate.ASKS if asked else Fate.RUNS if stage.runs(name) else Fate.REFUSES
            assert fate is (boxed if rig.runtime.can.sandbox else unboxed), f"under {policy} it {fate}"
            assert fate is Fate.RUNS or stage.runs(name) == 0, f"under {policy} it ran without a yes"
            await session.close()


async def a_sandbox_is_left_only_by_a_yes_which_counts_once(stage: Stage) -> None:
    """Under `sandbox`, a command cannot write outside of the workspace, and is not retried outside. To run one there,
    the runtime asks; a yes is one run."""
    async with RuntimeRig(stage) as rig:
        if not rig.runtime.can.sandbox:
            return
        session = await rig.open(policy=Policy.SANDBOX)
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="clew-outside-") as outside:
            touch = f"touch {outside}/made"
            asked = await _run(rig, session, f"!approve {stage.command('one')}; {touch}\n!text done", YES)
            made = _has_files(outside)
            assert (asked, stage.runs("one"), made) == (0, 1, False), "the sandbox did not hold"
            asked = await _run(rig, session, f"!beyond {stage.command('two')}; {touch}\n!text done", NO)
            made = _has_files(outside)
            assert (asked, stage.runs("two"), made) == (1, 0, False), "it left the sandbox without a yes"
            asked = await _run(rig, session, f"!beyond {stage.command('two')}; {touch}\n!text done", YES)
            made = _has_files(outside)
            assert (asked, stage.runs("two"), made) == (1, 1, True), "a yes was not one run outside of the sandbox"


def _has_files(folder: str) -> bool:
    return any(Path(folder).iterdir())


async def _run(rig: RuntimeRig, session: Session, script: str, answer: Answer) -> int:
    """Run a script and give this answer to every gate. Returns how many gates there were."""
    turn: Turn = rig.start(session, script)
    answering = asyncio.ensure_future(answer_all(session, turn, answer))
    await turn.wait_over()
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    return sum(isinstance(event, GateOpened) for event in turn.events)
