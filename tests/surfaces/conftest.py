"""One fake of each platform for all tests of a run, and a separate bot for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.helpers.stores import copy_migrated
from tests.surfaces.fakes.process import Fake
from tests.surfaces.feishu.apps import App
from tests.surfaces.telegram.bots import Bot


@pytest.fixture(scope="session")
def fake_telegram() -> Iterator[Fake]:
    with Fake("telegram") as fake:
        yield fake


@pytest.fixture
async def bot(fake_telegram: Fake) -> AsyncIterator[Bot]:
    bot = await Bot(fake_telegram).open()
    yield bot
    await bot.close()


@pytest.fixture(scope="session")
def fake_feishu() -> Iterator[Fake]:
    with Fake("feishu") as fake:
        yield fake


@pytest.fixture
async def app(fake_feishu: Fake) -> AsyncIterator[App]:
    app = await App(fake_feishu).open()
    yield app
    await app.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a check of the kit, with a store that is migrated already."""
    copy_migrated(tmp_path / "clew.db")
    return tmp_path
