"""Ctrl-C at `run`, also before the daemon has accepted the prompt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from queue import SimpleQueue
from typing import TypeVar

import pytest

from clew.cli.ctrl_c import CtrlC
from clew.cli.view.screen import Screen
from clew.client.requests import Request
from tests.helpers.daemons import TIMEOUT
from tests.helpers.views import made

T = TypeVar("T")


class RecordingClient:
    """A client that records requests, and a screen that records lines."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[tuple[str, ...]] = SimpleQueue()
        self.said: SimpleQueue[str] = SimpleQueue()

    def ask(self, request: Request[T]) -> T:
        self.asked.put(request.path)
        return made(request.gives)

    def say(self, line: str) -> None:
        self.said.put(line)


@pytest.fixture
def recorder() -> Iterator[RecordingClient]:
    before = signal.getsignal(signal.SIGINT)
    yield RecordingClient()
    signal.signal(signal.SIGINT, before)


def stopping(recorder: RecordingClient) -> CtrlC:
    screen: Screen = recorder  # type: ignore[assignment]
    return CtrlC(screen, recorder)


def test_ctrl_c_before_the_thread_is_known_stops_the_turn_later(recorder: RecordingClient) -> None:
    ctrl_c = stopping(recorder)
    signal.raise_signal(signal.SIGINT)
    assert recorder.said.get(timeout=TIMEOUT).startswith("stopping the turn…")
    assert recorder.asked.empty()
    ctrl_c.set_thread("T")
    assert recorder.asked.get(timeout=TIMEOUT) == ("threads", "T", "stop")


def test_a_second_ctrl_c_leaves_at_once_and_says_how_to_return(recorder: RecordingClient) -> None:
    stopping(recorder)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    said = {recorder.said.get(timeout=TIMEOUT), recorder.said.get(timeout=TIMEOUT)}
    assert "left without waiting; clew threads shows whether it was started" in said


def test_a_second_ctrl_c_names_the_handle(recorder: RecordingClient) -> None:
    stopping(recorder).set_thread("01M7", "fix-retry")
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    said = {recorder.said.get(timeout=TIMEOUT), recorder.said.get(timeout=TIMEOUT)}
    assert any("watch fix-retry returns" in line for line in said)
