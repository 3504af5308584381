"""A message that is refused: `clew send` says why, in the language of the terminal."""

from __future__ import annotations

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process
CHINESE = {"LC_ALL": "zh_CN.UTF-8"}


def test_an_empty_message_to_a_thread_is_refused_clearly(clew: Clew) -> None:
    thread = clew.json("start", "!text hello")["thread"]
    refused = clew.run("send", thread, "  ")
    assert refused.code == 1 and "nothing in that message" in refused.err
    assert "这条消息是空的" in clew.run("send", thread, "  ", env=CHINESE).err


def test_a_message_to_a_cancelled_thread_is_refused_in_the_terminals_language(clew: Clew) -> None:
    thread = clew.json("run", "!text hello")["thread"]
    clew("cancel", thread)
    assert "never runs again" in clew.run("send", thread, "more").err
    assert "已取消" in clew.run("send", thread, "more", env=CHINESE).err
