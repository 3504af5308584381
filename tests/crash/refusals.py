"""A held turn, and messages that a daemon cannot store: what their senders are told, and how it ends."""

from __future__ import annotations

import json
from urllib.error import HTTPError

import pytest

from tests.crash.conftest import SECRET, System
from tests.crash.flows import post
from tests.crash.outside import unfinished
from tests.helpers.receivers import post_signed


def letter(id: str, text: str, conversation: str = "c") -> bytes:
    return json.dumps({"id": id, "conversation": conversation, "sender": "ann", "text": text}).encode()


def refused(desk: Desk, id: str) -> tuple[int, str]:
    """Send a message, and return how it is refused."""
    with pytest.raises(HTTPError) as caught:
        post_signed(desk.clew.json("status")["daemon"]["http"], "x", SECRET, letter(id, "!text late"))
    with caught.value as answer:
        return answer.code, str(json.loads(answer.read())["detail"])


def held_turn(desk: Desk) -> str:
    """Start a turn that is held, and return its thread."""
    desk.clew.up()
    accepted = post(desk, "m1", "!hold here\n!text kept")
    desk.model.wait_held("here")
    return str(accepted["thread"])


def check(desk: System, *texts: str) -> None:
    desk.clew("down")
    assert [delivery.json["text"] for delivery in desk.hook.deliveries] == [*texts]
    assert unfinished(desk.clew.home.database) == []
