"""A daemon that listens, but accepts no connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.cli.doctor.checks import all_checks
from clew.process import hung, kept_programs, start
from clew.support import sockets
from clew.support.errors import NotAnswering
from clew.support.home import Home
from tests.helpers.json_client import JsonClient as Client


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Home, socket.socket]]:
    """A home whose socket has a full backlog."""
    monkeypatch.setattr(sockets, "TIMEOUT", 0.1)
    home = Home(tmp_path)
    home.prepare()
    waiting = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen(0)
        while True:
            try:
                waiting.append(sockets.connect(home.socket))
            except TimeoutError:
                break
        yield home, listener
        for each in waiting:
            each.close()


@pytest.mark.process
def test_connecting_times_out(full: tuple[Home, socket.socket]) -> None:
    home, listener = full
    asking = Client(home)
    for ask in (
        lambda: start.is_answering(home),
        lambda: start.ensure_daemon(home, print),
        lambda: asking.get("status"),
    ):
        with pytest.raises(NotAnswering, match="`clew restart` starts another one") as found:
            ask()
        assert found.value.exit == 3
    findings = {each.check: each for each in all_checks(home)}
    assert findings["socket"].ok is findings["daemon"].ok is False
    assert findings["daemon"].detail == hung.describe(home)
    listener.accept()[0].close()
    assert start.is_answering(home)


async def test_an_agent_that_accepts_no_connection_counts_as_listening(full: tuple[Home, socket.socket]) -> None:
    assert await kept_programs.listens(full[0].socket)
