"""Switching agents and asking another one, on a real daemon."""

from __future__ import annotations

import pytest

from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


def test_an_opinion_is_printed_and_quoted_and_the_own_agent_is_told(clew: Clew) -> None:
    thread = clew.json("run", "!text hello")["thread"]
    assert "it is wrong" in clew("ask", thread, "--runtime", "scripted", "!text it is wrong")
    shown = clew("read", thread, "--plain")
    assert "(asked by you: !text it is wrong)" in shown and shown.rstrip().endswith("it is wrong")
    assert clew.run("read", thread, "--told").code == 1
    clew.json("send", thread, "!text two")
    clew("wait", thread)
    assert "The user asked Scripted for an opinion:" in clew("read", thread, "--told")
    assert "(told Scripted what happened before; messages: 1)" in clew("read", thread, "--plain")


def test_switching_says_who_works_from_when(clew: Clew) -> None:
    thread = clew.json("run", "!text hello")["thread"]
    assert "from its next turn on: Scripted large" in clew("switch", thread, "scripted", "--model", "large")
    refused = clew.run("switch", thread, "nobody")
    assert refused.code != 0 and "There is no agent 'nobody'" in refused.err
