"""Deliveries that do not arrive: the output of `status` and `notify`."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.receivers import Answer, Receiver

pytestmark = pytest.mark.process


def with_hook(root: Path, receiver: Receiver) -> Clew:
    hook = f'[surfaces.webhook.ci]\nurl = "{receiver.url}"\nsecret = "hush"\n'
    return Clew(root, SCRIPTED + hook)


def of_webhook(clew: Clew) -> str:
    return next(line for line in clew("status").splitlines() if line.startswith("surface  webhook"))


def wait_for_error(clew: Clew) -> str:
    """Poll for the error: a failed try is not an event."""
    deadline = time.monotonic() + TIMEOUT
    while "last error" not in (said := of_webhook(clew)):
        assert time.monotonic() < deadline, said
    return said


def test_a_surface_that_is_up_with_waiting_answers_says_so(tmp_path: Path) -> None:
    refuses = Answer(503, b"later", {"Retry-After": "3600"})
    with Receiver(otherwise=refuses) as receiver, with_hook(tmp_path, receiver) as clew:
        thread = clew.json("start", "!text hi", "--notify", "webhook:ci")["thread"]
        receiver.wait_for(1)
        said = wait_for_error(clew)
        assert said.split()[2] == "up"
        assert "1 waiting for a retry; the last error: " in said and "503" in said
        receiver.otherwise = Answer()
        clew("notify")
        clew.wait_for(thread, "delivery.sent")
        assert of_webhook(clew).split() == ["surface", "webhook", "up"]


def test_a_failed_answer_is_reported_until_it_is_retried(tmp_path: Path) -> None:
    with Receiver(Answer(404, b"nobody")) as receiver, with_hook(tmp_path, receiver) as clew:
        thread = clew.json("start", "!text hi", "--notify", "webhook:ci")["thread"]
        clew.wait_for(thread, "delivery.failed")
        assert "1 not delivered (`clew notify --retry-failed` retries); the last error: " in of_webhook(clew)
        result = clew.run("notify")
        assert (result.code, result.out) == (0, "no new deliveries are pending\n")
        assert result.err == "1 failed before; clew notify --retry-failed retries them\n"
        assert clew.json("notify") == []
        clew("notify", "--retry-failed")
        assert clew("notify") == "no deliveries are pending\n"


def test_only_what_is_configured_is_listed(tmp_path: Path) -> None:
    with Clew(tmp_path) as clew:
        assert [row["name"] for row in clew.json("surfaces")] == ["local"]
        assert [row["name"] for row in clew.json("status")["surfaces"]] == ["local"]
