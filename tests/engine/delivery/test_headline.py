"""What a place with a single line shows, such as `--notify local`: what happened to which task, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.surface import SurfaceCan
from tests.helpers.rig import Rig, Room


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("!text all green\nmore", '✔ "Fix the test" is done: all green `clew read fix-test`'),
        ("!approve pytest -q", '⚠ "Fix the test" asks: run pytest -q? `clew approve CODE` · `clew deny CODE`'),
        ("!ask Which one?", '⚠ "Fix the test" asks: Which one? `clew answer CODE …`'),
        (
            "!error server_error",
            '✘ "Fix the test" failed: The model said server_error. `clew show fix-test`',
        ),
    ],
)
async def test_the_line_names_the_task_and_what_to_do(tmp_path: Path, script: str, told: str) -> None:
    async with Rig(tmp_path, room=Room(SurfaceCan(headline=True))) as rig:
        await rig.start(script, title="Fix the test", notify="room:a")
        await rig.saw("delivery.sent")
        [code, *_] = [*(gate.code for gate in await rig.engine.gates.all()), ""]
    assert rig.room.sent[-1].headline == told.replace("CODE", code)
