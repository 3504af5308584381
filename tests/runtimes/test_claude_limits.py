"""What Claude says about the limits of an account, by itself and through its ACP adapter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.model.events import LimitStatus, LimitWindow
from clew.runtimes.claude_limits import milliseconds, parse

RESET = 1_795_036_680  # seconds since 1970


def test_the_window_that_decides_comes_first_with_its_reset() -> None:
    found = parse(
        {
            "status": "rejected",
            "resetsAt": RESET,
            "rateLimitType": "five_hour",
            "unifiedWindows": {
                "seven_day": {"utilization": 0.4, "resetsAt": RESET + 1, "status": "allowed"},
                "five_hour": {"utilization": 1.0, "resetsAt": RESET, "status": "rejected"},
            },
        }
    )
    assert found is not None and found.is_refused and found.resets_at == RESET * 1000
    assert found.windows == (
        LimitWindow("five_hour", LimitStatus.REACHED, 1.0, RESET * 1000),
        LimitWindow("seven_day", LimitStatus.OK, 0.4, (RESET + 1) * 1000),
    )


@pytest.mark.parametrize("given", [RESET, float(RESET), RESET * 1000])
def test_a_time_in_seconds_or_milliseconds_is_the_same(given: float) -> None:
    assert milliseconds(given) == RESET * 1000


@pytest.mark.parametrize("at", [None, 0, -1, True, "soon", float("nan"), float("inf"), 10**20, [RESET]])
def test_what_is_no_time_is_unknown(at: object) -> None:
    found = parse({"status": "rejected", "resetsAt": at})
    assert found is not None and found.is_refused and found.resets_at is None


@pytest.mark.parametrize("info", [None, {}, [], "rejected", 7, {"status": "new"}, {"status": 7}])
def test_an_unknown_shape_or_status_is_no_limit(info: object) -> None:
    assert parse(info) is None


def test_unknown_fields_and_words_do_no_harm() -> None:
    windows = {"new": {"utilization": "all", "status": "allowed"}, "odd": 3, "other": {"status": "strange"}}
    found = parse({"status": "allowed_warning", "rateLimitType": 7, "unifiedWindows": windows})
    assert found is not None and not found.is_refused
    assert found.windows == (LimitWindow("", LimitStatus.WARNING), LimitWindow("new"))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["status", "resetsAt"]), below),
    max_leaves=8,
)


@given(JSON)
def test_anything_can_be_read(info: Any) -> None:
    parse(info)
    parse({"status": "allowed", "resetsAt": info, "utilization": info, "unifiedWindows": info, "rateLimitType": info})
