"""What every test has: asyncio for `async def`, a home of its own, no way out of this machine, no child left behind,
and no silent skip in CI."""

from __future__ import annotations

import gc
import ipaddress
import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from clew.store.sqlite.driver import SqliteConnection

GRACE = float(
    os.environ.get("CLEW_TEST_GRACE", "30")
)  # seconds in which a child that was told to end may still do so, on a machine that is busy


def pytest_configure(config: pytest.Config) -> None:
    """Login shells of agents read nobody's profile: what that prints would be part of a command's output."""
    home = tempfile.TemporaryDirectory(prefix="clew-home-")
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = home.name
    sys.addaudithook(_only_loopback)
    sys.addaudithook(_note_start)
    _refuse_empty_lists()
    _settle_hypothesis()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for what a shell began in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _refuse_empty_lists() -> None:
    """No statement has an empty list: SQLite takes it, PostgreSQL does not."""
    for name in ("run", "insert", "all"):
        setattr(SqliteConnection, name, _without_empty_lists(getattr(SqliteConnection, name)))


def _without_empty_lists(execute: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(execute)
    def run(connection: SqliteConnection, sql: str, params: Sequence[Any]) -> Any:
        assert "IN ()" not in sql, f"PostgreSQL refuses an empty list; use `among`: {sql}"
        return execute(connection, sql, params)

    return run


def _settle_hypothesis() -> None:
    """The same examples in each run, however busy the machine; `--hypothesis-profile=explore` looks for new ones."""
    settings.register_profile("same", derandomize=True, deadline=None, database=None)
    settings.register_profile("explore", deadline=None, max_examples=2_000)
    settings.load_profile("same")


def pytest_collection_finish() -> None:
    """The garbage collector need not look at thousands of collected tests again and again: 6 % of the CPU time."""
    gc.collect()
    gc.freeze()


def _only_loopback(event: str, given: tuple[Any, ...]) -> None:
    """Nothing that a test does by itself leaves this machine. An audit hook sees every connection, whoever makes it."""
    if event in ("socket.connect", "socket.sendto") and isinstance(given[1], tuple) and not _is_here(given[1][0]):
        raise RuntimeError(f"a test may not leave this machine, and {given[1][0]} is not on it")


STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "pty.spawn")


_started: list[str] = []  # what the running test has started


def _note_start(event: str, given: tuple[Any, ...]) -> None:
    if event in STARTS:
        _started.append(f"{event} {given[:1]!r}"[:200])


def _is_here(host: object) -> bool:
    if not isinstance(host, str) or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test, and no clew that a test starts, ever sees the home of the person who runs it."""
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLEW_CRASH", raising=False)


@pytest.fixture(autouse=True)
def a_start_of_a_process_is_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """`./check --fast` leaves out the tests that start a process, by their mark, so the mark has to be there. It leaves
    out heavy tests anyway."""
    _started.clear()
    yield
    if _started and not any(request.node.get_closest_marker(mark) for mark in ("process", "heavy")):
        pytest.fail(f"it starts a process ({_started[0]}): mark it with @pytest.mark.process")


@pytest.fixture(autouse=True)
def no_child_left_behind() -> Iterator[None]:
    before = _children()
    yield
    left = [pid for pid in _children() - before if not _ends(pid)]
    words = [f"{pid} {_read(Path(f'/proc/{pid}/cmdline')).replace(chr(0), ' ')}" for pid in left]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if left:
        pytest.fail(f"left a child process behind: {'; '.join(words)}")


TASKS = Path("/proc/self/task")
HAS_TASKS = TASKS.is_dir()


def _children() -> set[int]:
    """The children of this process. Read from /proc, so on Linux only."""
    return {int(word) for task in TASKS.iterdir() for word in _read(task / "children").split()} if HAS_TASKS else set()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _ends(pid: int) -> bool:
    """It has ended, or does so in its time of grace; whether somebody has asked for its exit code is all the same."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], GRACE)[0])
    finally:
        os.close(watch)


def _skips_count() -> bool:
    return os.environ.get("CLEW_NO_SKIPS") == "1"


def _fail_a_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure, so that the closing line says so; an expected failure stays one."""
    if _skips_count() and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"a skipped test counts as a failure here: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_a_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_a_skip(report)
    return report
