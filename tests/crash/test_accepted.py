"""Promise 2: a committed but unacknowledged message is sent again by its platform, and is still one message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crash.conftest import SECRET, System
from tests.helpers.receivers import post_signed

pytestmark = pytest.mark.process


def test_a_committed_but_unacknowledged_message_is_one_turn(system: System, tmp_path: Path) -> None:
    clew = system.clew
    pid = clew.up(env={"CLEW_CRASH": "inbox.accepted-not-acknowledged"})
    body = json.dumps({"id": "m1", "conversation": "c", "sender": "ann", "text": "!text once"}).encode()
    with pytest.raises(OSError):
        post_signed(clew.json("status")["daemon"]["http"], "x", SECRET, body)
    clew.wait_gone(pid)
    clew.up()
    again = post_signed(clew.json("status")["daemon"]["http"], "x", SECRET, body)
    clew.wait_for(again["thread"], "delivery.sent")
    assert again["repeated"] is True
    assert system.model.count("once") == 1 and [got.json["text"] for got in system.hook.deliveries] == ["once"]
    assert clew.json("status")["fates"]["turn"] == 1
