"""Every runtime keeps its word: the same kit for all, on the real programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.runtimes import conformance
from clew.runtimes.conformance import Check
from clew.scripted_model import ScriptedModel, write_codex_home
from tests.runtimes.stages import CodexStage, ScriptedStage

LONG = (conformance.frozen_it_is_given_up_in_time,)


def checks() -> list[object]:
    return [
        pytest.param(check, id=conformance.named(check), marks=[pytest.mark.heavy] if check in LONG else [])
        for check in conformance.CHECKS
    ]


@pytest.fixture
async def own_model() -> AsyncIterator[ScriptedModel]:
    """One for each check, since a hold that was released stays so."""
    async with ScriptedModel() as model:
        yield model


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.named)
async def test_scripted_conforms(check: Check, tmp_path: Path) -> None:
    await check(ScriptedStage(tmp_path))


@pytest.mark.parametrize("check", checks())
async def test_codex_conforms(
    check: Check, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, own_model: ScriptedModel
) -> None:
    home = write_codex_home(tmp_path_factory.mktemp("codex"), own_model.url, stream_retries=1)
    await check(CodexStage(tmp_path, home, own_model))
