"""`clew limits` with the real daemon and the real Codex: two accounts, each logged in where it belongs, and a service
on loopback that knows what they have used."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.model.events import LimitStatus
from clew.runtimes.codex.settings import CodexConfig
from clew.testing.scripted_model import write_codex_home
from tests.crash.conftest import open_system
from tests.runtimes.codex.account_service import AccountService, Used
from tests.runtimes.conftest import MakeRuntime

pytestmark = pytest.mark.process

ACCOUNTS = {"mine": Used(42, 12), "of-work": Used(95, 100)}


def holders(folder: Path, secret: str) -> list[Path]:
    """The files below a folder that hold a secret."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in files if secret.encode() in path.read_bytes())


def test_limits_are_asked_for_per_account_once_a_minute_and_no_credentials_are_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    more = f"""
        [runtimes.codex-work]
        type = "codex"
        home = "{work}"
    """
    with AccountService(ACCOUNTS) as service, open_system(tmp_path, more=more) as system:
        write_codex_home(work, system.model.url)
        logins = [service.log_in(tmp_path / "codex", "mine"), service.log_in(work, "of-work")]
        before = [(login.read_bytes(), login.stat().st_mtime_ns) for login in logins]
        clew = system.clew
        clew.up()
        rows = clew.json("limits")
        told = {(row["runtime"], row["window"]): (row["used"], row["status"], row["minutes"]) for row in rows}
        assert told == {
            ("codex", "primary"): (0.42, "ok", 300),
            ("codex", "secondary"): (0.12, "ok", 10_080),
            ("codex-work", "primary"): (0.95, "warning", 300),
            ("codex-work", "secondary"): (1.0, "reached", 10_080),
        }
        assert {row["resets_at"] for row in rows} == {service.resets_at * 1000}
        shown = clew("limits")
        assert "42 %" in shown and "95 %" in shown
        assert service.asked == {"mine": 1, "of-work": 1}, "the second time within a minute nobody is asked"
        clew("down")
        assert [(login.read_bytes(), login.stat().st_mtime_ns) for login in logins] == before
        for login, account in zip(logins, ACCOUNTS, strict=True):
            assert holders(tmp_path, f"again-{account}") == [login]


async def test_codex_is_used_although_its_account_cannot_be_looked_up_now(
    make_runtime: MakeRuntime, tmp_path: Path
) -> None:
    """Codex itself asks the service for it, which may be out of reach for a moment."""
    home = write_codex_home(tmp_path / "codex", "http://127.0.0.1:9/v1")
    config = home / "config.toml"
    config.write_text(config.read_text().replace('model_provider = "scripted"\n', ""))
    with AccountService(ACCOUNTS) as service:
        service.log_in(home, "mine")
        runtime = make_runtime(CodexConfig(home=str(home), start_timeout=60))
        found = await runtime.limits()
    assert [(each.used, each.status) for each in found] == [(0.42, LimitStatus.OK), (0.12, LimitStatus.OK)]
