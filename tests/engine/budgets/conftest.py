"""Budgets are of a day: the tests begin at noon, so that none of them crosses midnight."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from clew.support.clock import SystemClock


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    today = datetime.now().astimezone()
    noon = today.replace(hour=12, minute=0, second=0) + timedelta(days=1)
    ahead = round((noon - today).total_seconds() * 1000)
    true_now = SystemClock.now
    monkeypatch.setattr(SystemClock, "now", lambda self: true_now(self) + ahead)
