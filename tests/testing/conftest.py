from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from clew.testing.scripted_model import ScriptedModel


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model
