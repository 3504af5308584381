"""Ctrl-C at `run`, also before the daemon has said that it took the prompt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from clew.cli.ctrl_c import CtrlC
from clew.cli.view.screen import Screen
from tests.helpers.daemons import TIMEOUT


class Noting:
    """A client that records requests, and a screen that records lines."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[tuple[str, ...]] = SimpleQueue()
        self.said: SimpleQueue[str] = SimpleQueue()

    def post(self, *path: str, body: Any = None) -> Any:
        self.asked.put(path)

    def say(self, line: str) -> None:
        self.said.put(line)


@pytest.fixture
def noting() -> Iterator[Noting]:
    before = signal.getsignal(signal.SIGINT)
    yield Noting()
    signal.signal(signal.SIGINT, before)


def stopping(noting: Noting) -> CtrlC:
    screen: Screen = noting  # type: ignore[assignment]
    return CtrlC(screen, noting)  # type: ignore[arg-type]


def test_ctrl_c_before_the_thread_is_known_stops_the_turn_later(noting: Noting) -> None:
    by_key = stopping(noting)
    signal.raise_signal(signal.SIGINT)
    assert noting.said.get(timeout=TIMEOUT).startswith("stopping the turn…")
    assert noting.asked.empty()
    by_key.set_thread("T")
    assert noting.asked.get(timeout=TIMEOUT) == ("threads", "T", "stop")


def test_a_second_ctrl_c_leaves_at_once_and_says_how_to_return(noting: Noting) -> None:
    stopping(noting)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    said = {noting.said.get(timeout=TIMEOUT), noting.said.get(timeout=TIMEOUT)}
    assert "left without waiting; clew threads shows whether it was started" in said
