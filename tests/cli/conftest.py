from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.daemons import Clew


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """One daemon per module: each test starts its own threads."""
    with Clew(tmp_path_factory.mktemp("home")) as clew:
        clew.up()
        yield clew
