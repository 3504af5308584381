"""A malformed thread id is a usage error before anything else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


@pytest.mark.parametrize("command", ["show", "stop", "watch", "verify", "read", "where", "cancel"])
@pytest.mark.parametrize("given", ["", "a/b", "../status"])
def test_a_malformed_id_is_a_usage_error(tmp_path: Path, command: str, given: str) -> None:
    result = Clew(tmp_path / "home").run(command, given)
    assert result.code == 2 and "names no thread" in result.err


def test_a_home_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    result = Clew(tmp_path / "home").run("status")
    assert result.code == 1 and "is not a folder" in result.err
