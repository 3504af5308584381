"""A daemon that hangs: who reports it, how soon, and who restarts it. SIGSTOP makes a real one hang."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from clew.cli.doctor.checks import all_checks
from clew.client import sync
from clew.config.settings import SupervisorConfig
from clew.process import heartbeat, hung, lock, start
from clew.support.home import Home
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient

HANG = 15  # seconds: long enough that no busy machine makes a daemon look hung


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.prepare()
    return home


@pytest.fixture
def listener(home: Home) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen()
        yield listener


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.process
def test_status_and_doctor_say_that_the_daemon_hangs_and_which_process_it_is(clew: Clew) -> None:
    pid = clew.up()
    with stopped(pid):
        status, data, doctor = clew.run("status"), clew.run("status", "--json"), clew.run("doctor")
    words = f"the daemon (pid {pid}) does not answer; it may be hung, or have far too much to do. {TODO}"
    assert (status.code, status.out, status.err) == (3, "", f"clew: {words}\n")
    assert (data.code, data.json["daemon"]) == (3, None)
    assert data.json["error"] == {"code": "deaf", "message": words, "pid": pid}
    assert doctor.code == 3
    assert f"✘ daemon     {words}\n" in doctor.out
    assert "✘ socket     nothing is answered at" in doctor.out and "a daemon answers" not in doctor.out
    assert sync.UNASKED + sync.SURE < 3
    assert clew.json("status")["daemon"]["pid"] == pid  # and all is well after it


@pytest.mark.process
def test_other_commands_say_that_they_wait_and_go_on_when_it_does(clew: Clew) -> None:
    pid = clew.up()
    with stopped(pid):
        asking = clew.begin("threads", "--json")
        assert asking.stderr is not None
        said = asking.stderr.readline()
    assert said.startswith(f"waiting: the daemon (pid {pid}) does not answer")
    assert clew.wait(asking).json == []


TODO = "`clew logs` may tell why; `clew restart` starts another one"


def test_a_daemon_that_is_only_slow_is_waited_for(
    home: Home, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not respond to one request, but to the next: so its event loop is not blocked."""
    monkeypatch.setattr(sync, "UNASKED", 0.01)
    said: list[str] = []

    def answer() -> None:
        with listener.accept()[0] as first, listener.accept()[0] as second:
            second.send(b"HTTP/1.1 404 Not Found\r\n\r\n")
            with suppress(ConnectionResetError):
                while second.recv(1 << 16):
                    pass  # until who asked has heard that
            first.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            first.recv(1 << 16)

    with ThreadPoolExecutor(1) as other:
        answering = other.submit(answer)
        assert JsonClient(home, start=False, looks=True, say=said.append).get("status") == {}
        answering.result()
    assert said == []


BLOCKS = """
import signal, threading

def stuck_here(number, frame):
    threading.Event().wait()

signal.signal(signal.SIGUSR1, stuck_here)
"""


@pytest.mark.process
def test_a_daemon_that_hangs_is_ended_with_a_traceback_and_brought_back(clew: Clew, tmp_path: Path) -> None:
    """A signal handler blocks its event loop: it runs in the loop's thread."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKS)
    clew.configure(f"{SCRIPTED}[supervisor]\nhang = {HANG}\n")
    pid = clew.up(env={"PYTHONPATH": str(tmp_path)})
    thread = clew.json("run", "!text kept")["thread"]
    os.kill(pid, signal.SIGUSR1)
    clew.wait_gone(pid)
    assert clew.json("up")["started"] is False  # its supervisor has done that
    assert clew.pid != pid and clew.json("show", thread)["status"] == "idle"
    said = (clew.home.logs / start.OUTPUT).read_text()
    for words in (
        f"the daemon, pid {pid}, has not answered for ",
        f"it is restarted if it does not within {HANG} s",
        "sending SIGABRT for a traceback:",
        "Fatal Python error: Aborted",
        "in stuck_here",
        f"the daemon, pid {pid}, was killed by SIGABRT; bringing it back",
    ):
        assert words in said
    assert not (clew.home.run / heartbeat.HUNG).exists()


@pytest.mark.process
def test_an_adopted_daemon_that_hangs_is_brought_back_too(clew: Clew) -> None:
    clew.configure(f"{SCRIPTED}[supervisor]\nhang = {HANG}\n")
    pid = clew.up()
    clew.kill_supervisor()
    clew("threads")
    os.kill(pid, signal.SIGSTOP)  # it hears of its end only when it is continued
    clew.wait_gone(pid)
    assert clew.json("up")["started"] is False
    assert clew.pid != pid


class Time:
    """A `time` module whose monotonic clock the test sets."""

    strftime = staticmethod(time.strftime)
    time_ns = staticmethod(time.time_ns)
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Watched:
    """A supervisor's heartbeat check of a daemon that is only a socket, with a fake clock."""

    def __init__(self, home: Home, now: Time, hang: float = SupervisorConfig().hang) -> None:
        self.home = home
        self.now = now
        self.pulse = heartbeat.Heartbeat(str(home.run), str(home.socket), hang)
        self.pulse.begin(os.getpid())
        self.pulse.look([])

    def close(self) -> None:
        self.pulse.begin(0)

    def pass_by(self, seconds: float, step: float = 20.0) -> list[int]:
        """The signals that the daemon should get meanwhile."""
        told: list[int] = []
        for _ in range(round(seconds / step)):
            self.now.now += step
            told += filter(None, [self.pulse.look([])])
        return told

    @property
    def is_reported(self) -> bool:
        return (self.home.run / heartbeat.HUNG).exists()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Time:
    now = Time()
    monkeypatch.setattr(heartbeat, "time", now)
    return now


def test_a_hang_is_reported_after_a_minute_and_ended_after_five(
    home: Home, now: Time, listener: socket.socket, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(Watched(home, now)) as watched:
        assert watched.pass_by(40) == [] and not watched.is_reported
        assert watched.pass_by(20) == [] and watched.is_reported
        assert watched.pass_by(220) == []
        assert watched.pass_by(20) == [signal.SIGABRT]
        assert watched.pass_by(20) == [signal.SIGKILL]  # it has not even ended by that
        assert capfd.readouterr().err.count("supervisor: ") == 2


def test_what_the_supervisor_knows_is_shown(home: Home, now: Time, listener: socket.socket) -> None:
    with lock.hold(home.lock, lock.Holder(os.getpid(), "", 0)):
        assert "its supervisor has noticed" not in hung.describe(home)
        with closing(Watched(home, now)) as watched:
            watched.pass_by(60)
            words = hung.describe(home)
            assert "; its supervisor has noticed, at " in words and " and restarts it at " in words
        with closing(Watched(home, now, hang=0)) as watched:
            watched.pass_by(60)
            assert "has noticed, at" in hung.describe(home) and "restarts it at" not in hung.describe(home)
            with patch.object(hung, "pid", lambda home: 1):
                assert "has noticed" not in hung.describe(home)  # that was another daemon


def test_it_is_never_ended_if_the_settings_say_so(home: Home, now: Time, listener: socket.socket) -> None:
    with closing(Watched(home, now, hang=0)) as watched:
        assert watched.pass_by(86_400) == [] and watched.is_reported


def test_one_that_answers_again_is_left_alone(home: Home, now: Time, listener: socket.socket) -> None:
    with closing(Watched(home, now)) as watched:
        watched.pass_by(280)
        with listener.accept()[0] as asked:
            assert asked.recv(4096) == heartbeat.QUESTION
            asked.send(b"HTTP/1.1 404 Not Found\r\n\r\n")
        assert watched.pulse.look(watched.pulse.handles()) == 0
        assert not watched.is_reported
        assert watched.pass_by(280) == []  # counted from the beginning


def test_time_in_which_the_supervisor_did_not_run_itself_does_not_count(
    home: Home, now: Time, listener: socket.socket
) -> None:
    with closing(Watched(home, now)) as watched:
        watched.pass_by(280)
        assert watched.pass_by(86_400, step=86_400) == []  # a suspended machine, or both were stopped
        assert watched.pass_by(280) == []
        assert watched.pass_by(20) == [signal.SIGABRT]


def test_one_that_does_not_listen_yet_or_any_more_is_no_hang(home: Home, now: Time) -> None:
    with closing(Watched(home, now)) as watched:
        assert watched.pass_by(86_400) == [] and not watched.is_reported


def test_one_that_ends_while_it_is_asked_is_no_hang(
    home: Home, now: Time, listener: socket.socket, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(Watched(home, now)) as watched:
        watched.pass_by(60)
        listener.accept()[0].close()
        listener.close()
        assert watched.pulse.look(watched.pulse.handles()) == 0
        assert watched.pass_by(86_400) == [] and not watched.is_reported
        assert "answers again" not in capfd.readouterr().err


def test_one_that_takes_no_connection_hangs_too(home: Home, now: Time, listener: socket.socket) -> None:
    listener.listen(0)
    with socket.socket(socket.AF_UNIX) as full:
        full.connect(str(home.socket))
        with closing(Watched(home, now)) as watched:
            assert watched.pulse.handles() == []
            assert watched.pass_by(300) == [signal.SIGABRT]


@pytest.mark.process
def test_doctor_asks_a_hung_daemon_only_once(
    home: Home, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patience in ("UNASKED", "SURE"):
        monkeypatch.setattr(sync, patience, 0.1)
    findings = {finding.check: finding for finding in all_checks(home)}
    assert findings["socket"].ok is findings["daemon"].ok is False
    listener.setblocking(False)
    asked = []
    with pytest.raises(BlockingIOError):
        while taken := listener.accept()[0]:
            asked.append(taken)
    for each in asked:
        each.close()
    assert len(asked) == 2  # the question itself, and whether it gives any sign of life
