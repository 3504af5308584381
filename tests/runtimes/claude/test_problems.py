"""Why a turn of Claude failed: by its own names and numbers, never by its words if there is anything else."""

from __future__ import annotations

import pytest

from clew.runtimes import claude_limits as limits
from clew.runtimes.claude import problems

REJECTED = limits.parse({"status": "rejected", "resetsAt": 1_795_036_680, "rateLimitType": "five_hour"})


@pytest.mark.parametrize(
    ("error", "status", "terminal", "code"),
    [
        ("authentication_failed", 401, "api_error", "not_logged_in"),
        ("rate_limit", 429, "api_error", "rate_limit"),
        ("usage_limit_reached", 429, "api_error", "usage_limit"),
        ("unknown", 400, "api_error", "bad_request"),
        ("server_error", 500, "api_error", "model_error"),
        ("server_error", 529, "api_error", "overloaded"),
        (None, 503, "api_error", "model_error"),
        (None, None, "prompt_too_long", "context_window"),
        (None, None, "api_error", "connection"),
        (None, None, "strange", "failed"),
        ([1], "x", None, "failed"),
    ],
)
def test_a_failure_has_its_code(error: object, status: object, terminal: object, code: str) -> None:
    assert problems.problem("its words", error=error, status=status, terminal=terminal).code == code


def test_a_refusal_is_a_used_up_window_only_if_claude_said_so_before() -> None:
    assert problems.problem("You've hit your limit", status=429, limits=REJECTED).code == "usage_limit"
    assert problems.problem("You've hit your limit", status=429).code == "rate_limit"
    assert problems.problem("You've hit your limit", status=400, limits=REJECTED).code == "bad_request"


def test_a_missing_login_says_what_to_do() -> None:
    found = problems.problem("Not logged in · Please run /login")
    assert found.code == "not_logged_in" and "claude auth login" in found.message
