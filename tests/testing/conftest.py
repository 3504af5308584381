from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from clew.support.clock import SystemClock
from clew.testing.scripted_model import ScriptedModel


@pytest.fixture(scope="module")
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model
