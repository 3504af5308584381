"""Single checks of `clew doctor`; the whole of it is tried in test_main."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from clew.cli.checks import CLOCK_SLACK, all_checks
from clew.cli.doctor import Finding
from clew.clock import SystemClock
from clew.home import Home
from clew.store.migrate import open_store


def found(home: Home, check: str) -> Finding:
    return next(finding for finding in all_checks(home) if finding.check == check)


def write_entry(home: Home, at: int) -> None:
    home.prepare()
    store = open_store(home.database, SystemClock())
    asyncio.run(store.write(lambda tx: tx.log("T", None, "notice", at)))
    store.close()


def test_a_clock_that_stands_before_what_was_written_is_found(tmp_path: Path) -> None:
    home = Home(tmp_path)
    now = time.time_ns() // 1_000_000
    write_entry(home, now)
    assert found(home, "clock").ok
    write_entry(home, now + 10 * CLOCK_SLACK)
    finding = found(home, "clock")
    assert not finding.ok
    assert "the newest entry of the store is of " in finding.detail
    assert finding.todo is not None


def test_a_setting_that_cannot_work_is_found(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_text('[threads]\nruntime = "codx"\n')
    finding = found(home, "config")
    assert not finding.ok
    assert "it must be one of codex, scripted" in finding.detail
