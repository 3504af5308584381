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


def refused(system: System, id: str) -> tuple[int, str]:
    """Send a message, and return how it is refused."""
    with pytest.raises(HTTPError) as caught:
        post_signed(system.clew.json("status")["daemon"]["http"], "x", SECRET, letter(id, "!text late"))
    with caught.value as answer:
        return answer.code, str(json.loads(answer.read())["detail"])


def held_turn(system: System) -> str:
    """Start a turn that is held, and return its thread."""
    system.clew.up()
    accepted = post(system, "m1", "!hold here\n!text kept")
    system.model.wait_held("here")
    return str(accepted["thread"])


def check(system: System, *texts: str) -> None:
    system.clew("down")
    assert [delivery.json["text"] for delivery in system.hook.deliveries] == [*texts]
    assert unfinished(system.clew.home.database) == []
