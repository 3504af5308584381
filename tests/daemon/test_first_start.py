"""The first start of a new home: it gets the policy `sandbox` if the agent's sandbox works here, and writes it down."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.config.settings import Config, load
from clew.daemon.first_start import FIRST_CONFIG, write_first_config
from clew.support.home import Home
from tests.helpers.daemons import Clew
from tests.helpers.fake_codex import FAILS, WORKS, codex_on_path

pytestmark = pytest.mark.process


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


def use_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    monkeypatch.setenv("PATH", codex_on_path(tmp_path, sandbox)["PATH"])


async def test_a_new_home_gets_the_sandbox_if_it_works(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_codex(tmp_path, monkeypatch, WORKS)
    await write_first_config(home)
    assert home.config.read_text() == FIRST_CONFIG
    assert load(home.config).threads.policy == "sandbox"
    assert home.config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("sandbox", [FAILS, "exit 0"])
async def test_a_new_home_stays_careful_if_the_sandbox_does_not_work(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    use_codex(tmp_path, monkeypatch, sandbox)
    await write_first_config(home)
    assert not home.config.exists() and load(home.config) == Config()


@pytest.mark.parametrize("name", ["config.toml", "clew.db", "clew.db.saved"])
async def test_a_home_that_was_used_before_keeps_its_policy(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    use_codex(tmp_path, monkeypatch, WORKS)
    (home.root / name).write_text("")
    await write_first_config(home)
    assert load(home.config).threads.policy == "careful"


def test_the_first_thread_of_a_new_home_has_the_policy_that_was_written(tmp_path: Path) -> None:
    clew = Clew(tmp_path / "home")
    with clew:
        clew.home.config.unlink()
        clew.up(env=codex_on_path(tmp_path, WORKS))
        started = clew.json("start", "hello")
        assert clew.json("show", started["thread"])["policy"] == "sandbox"
        assert clew("config", "get", "threads.policy") == "sandbox\n"
