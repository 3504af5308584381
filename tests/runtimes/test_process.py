"""Child processes: their lines, their end, and the processes that they leave behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.daemon import holding
from clew.process import kept_programs, scan
from clew.process.scan import Mark, Marks
from clew.runtimes.process import Child, spawn
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeLost
from clew.support.home import Home

GUARD = 60.0  # seconds; only ends a broken test


class Output:
    """Collects the lines of a child, and waits for them."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._news = asyncio.Event()

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self._news.set()

    async def until(self, count: int) -> list[bytes]:
        async with asyncio.timeout(GUARD):
            while len(self.lines) < count:
                self._news.clear()
                await self._news.wait()
        return self.lines


class Making:
    def __init__(self, clock: SystemClock, marks: Marks) -> None:
        self.clock = clock
        self.marks = marks
        self.output = Output()
        self.children: list[Child] = []

    async def python(self, code: str, marks: Marks | None = None) -> Child:
        return await self.run(sys.executable, "-c", code, marks=marks)

    async def shell(self, code: str, marks: Marks | None = None, on_lost: Callable[[], None] = lambda: None) -> Child:
        return await self.run("/bin/sh", "-c", code, marks=marks, on_lost=on_lost)

    async def run(self, *argv: str, marks: Marks | None = None, on_lost: Callable[[], None] = lambda: None) -> Child:
        mark = (marks or self.marks).next()
        child = await spawn(argv, mark, self.clock, self.output.add, name="child", on_lost=on_lost)
        self.children.append(child)
        return child


@pytest.fixture
async def making(clock: SystemClock, marks: Marks) -> AsyncIterator[Making]:
    making = Making(clock, marks)
    yield making
    for child in making.children:
        await child.end(grace=0.2)


def alive(pid: int) -> bool:
    return scan.get(pid) is not None


async def exits(child: Child) -> None:
    await child.wait_exited(GUARD)
    assert child.exit_code is not None


@pytest.mark.process
async def test_lines_of_any_length_arrive_complete_and_in_order(making: Making) -> None:
    await making.python("print('a'); print('x' * 3_000_000); print('b')")
    first, long, last = await making.output.until(3)
    assert (first, len(long), last) == (b"a", 3_000_000, b"b")


@pytest.mark.process
async def test_written_data_arrives(making: Making) -> None:
    child = await making.shell("read line; echo got $line; read more")
    child.write(b"this\n")
    assert await making.output.until(1) == [b"got this"]


@pytest.mark.process
async def test_a_last_line_without_a_newline_is_delivered(making: Making) -> None:
    await making.shell("printf unfinished")
    assert await making.output.until(1) == [b"unfinished"]


@pytest.mark.process
async def test_a_child_has_a_session_of_its_own_and_a_recorded_start(making: Making) -> None:
    child = await making.shell("echo up; read line")
    await making.output.until(1)
    now = scan.get(child.pid)
    assert now is not None and child.process is not None
    assert (now.session, now.group) == (child.pid, child.pid)
    assert now.mark == child.mark
    assert now.key == child.process.key == (child.pid, now.started)


@pytest.mark.process
async def test_writing_to_a_dead_child_is_a_lost_runtime(making: Making) -> None:
    child = await making.shell("exit 7")
    await exits(child)
    with pytest.raises(RuntimeLost, match="exit code 7"):
        child.write(b"hello\n")


@pytest.mark.process
async def test_the_loss_is_reported_once_after_the_last_line(making: Making) -> None:
    told: list[int] = []
    gone = asyncio.Event()

    def lost() -> None:
        told.append(len(making.output.lines))
        gone.set()

    child = await making.shell("read line; echo last; exit 3", on_lost=lost)
    child.write(b"go\n")
    async with asyncio.timeout(GUARD):
        await gone.wait()
    await child.end()
    assert told == [1]
    assert child.exit_reason() == "exit code 3"


@pytest.mark.process
async def test_the_loss_is_reported_even_if_a_grandchild_holds_the_pipe(making: Making) -> None:
    gone = asyncio.Event()
    child = await making.shell("sleep 1000 & echo $!; read line; exit 3", on_lost=gone.set)
    (pid,) = await making.output.until(1)
    child.write(b"go\n")
    async with asyncio.timeout(GUARD):
        await gone.wait()
    await child.end()
    assert not alive(int(pid))


@pytest.mark.process
async def test_stderr_goes_to_the_log_only_with_long_lines_cut(
    making: Making, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="clew.child.child"):
        child = await making.python(
            "import sys; sys.stderr.write('y' * 100_000 + '\\n\\x1b[31mlast words\\x1b[0m\\n'); print('out')"
        )
        await exits(child)
    assert await making.output.until(1) == [b"out"]
    assert child.stderr_tail[-1] == "last words"
    assert max(len(record.message) for record in caplog.records) <= 2000


@pytest.mark.process
async def test_a_flood_on_stderr_does_not_block_the_child(making: Making) -> None:
    await making.python("import sys\nfor _ in range(20_000): sys.stderr.write('noise ' * 10 + '\\n')\nprint('done')")
    assert await making.output.until(1) == [b"done"]


@pytest.mark.process
async def test_only_the_start_and_the_tail_of_a_stderr_flood_are_kept(
    making: Making, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="clew.child.child"):
        child = await making.python("import sys\nfor n in range(20_000): sys.stderr.write(f'{n}\\n')")
        await exits(child)
    assert caplog.messages[0] == "0" and child.stderr_tail[-1] == "19999"
    assert len(caplog.messages) < 5_000


@pytest.mark.process
async def test_the_crash_point_and_an_inherited_mark_are_not_passed_on(
    making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_CRASH", "somewhere")
    monkeypatch.setenv("CLEW_CHILD", "other:run:1")
    child = await making.shell('echo "$CLEW_CHILD,$CLEW_CRASH"')
    assert await making.output.until(1) == [f"{child.mark},".encode()]


@pytest.mark.process
@pytest.mark.parametrize(
    "code",
    [
        "read line",  # ends when its stdin does
        "trap '' HUP; while :; do sleep 1000; done",  # ends by SIGTERM
        "trap '' TERM HUP; while :; do sleep 1000; done",  # ends by SIGKILL only
    ],
)
async def test_a_child_is_ended_by_the_mildest_means_that_works(making: Making, code: str) -> None:
    child = await making.shell(f"echo up; {code}")
    await making.output.until(1)
    await child.end(grace=0.3)
    assert not alive(child.pid)
    assert not child.is_alive


@pytest.mark.process
async def test_end_kills_all_descendants_also_in_their_own_sessions(making: Making) -> None:
    code = (
        "import subprocess, sys\n"
        "own = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "bare = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={})\n"
        "near = subprocess.Popen(['sleep', '1000'])\n"
        "print(own.pid, bare.pid, near.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    child = await making.python(code)
    pids = [int(word) for word in (await making.output.until(1))[0].split()]
    assert all(map(alive, pids))
    await child.end()
    assert not any(map(alive, pids))


@pytest.mark.process
async def test_end_kills_orphans_of_a_child_that_died_by_itself(making: Making) -> None:
    child = await making.shell("setsid sh -c 'echo $$; while :; do sleep 1000; done' & exit 1")
    (pid,) = await making.output.until(1)
    await exits(child)
    assert alive(int(pid))
    await child.end()
    assert not alive(int(pid))
    assert child.mark not in [process.mark for process in scan.scan()]


@pytest.mark.process
async def test_one_childs_end_leaves_another_child_alone(making: Making) -> None:
    first, second = await making.shell("read line"), await making.shell("read line")
    await first.end()
    assert not alive(first.pid) and alive(second.pid)


@pytest.mark.process
async def test_ending_twice_at_once_is_fine(making: Making) -> None:
    child = await making.shell("read line")
    await asyncio.gather(child.end(), child.end())
    await child.end()


@pytest.mark.process
async def test_a_program_that_is_not_there_is_an_os_error(making: Making) -> None:
    with pytest.raises(OSError, match="nowhere"):
        await making.run("/nowhere/at/all")


@pytest.mark.process
async def test_a_sweep_ends_what_earlier_daemons_left_and_nothing_else(making: Making, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    store = making.clock.token()[:8]
    old = await making.shell("setsid sleep 1000 & echo $!; read line", Marks(store, "host.1.1.old"))
    foreign = await making.shell("echo up; read line", Marks(f"{store}x", "host.1.1.old"))
    with holding.held(home, making.clock, "daemon") as held:
        us = f"host.{held.holder.pid}.{held.holder.started}.us"
        mine = await making.shell("echo up; read line", Marks(store, us))
        await making.output.until(3)
        swept = await scan.sweep(lambda: kept_programs.leftovers(home, store), making.clock)
    assert {process.mark for process in swept} == {old.mark}
    assert len(swept) == 2
    assert not alive(old.pid) and alive(mine.pid) and alive(foreign.pid)
    swept = await scan.sweep(lambda: kept_programs.children(home, store), making.clock)
    assert [process.pid for process in swept] == [mine.pid]


@pytest.mark.process
async def test_a_sweep_spares_itself_and_its_ancestors_though_they_carry_the_mark(making: Making) -> None:
    store = making.clock.token()[:8]
    code = (
        "import asyncio, os\n"
        "from clew.process import scan as processes\nfrom clew.support.clock import SystemClock\n"
        f"swept = asyncio.run(processes.sweep(lambda: processes.children('{store}'), SystemClock()))\n"
        "print('swept', sorted(p.command for p in swept), flush=True)"
    )
    script = f'sleep 1000 & {sys.executable} -c "{code}"; echo still here'
    await making.shell(script, Marks(store, "agent"))
    assert await making.output.until(2) == [b"swept ['sleep']", b"still here"]


@pytest.mark.process
async def test_a_process_without_environment_has_its_ancestors_mark(making: Making) -> None:
    store = making.clock.token()[:8]
    child = await making.shell("env -i /bin/sh -c 'echo $$; read line'; true", Marks(store, "now"))
    pid = int((await making.output.until(1))[0])
    bare = scan.get(pid)
    assert bare is not None and bare.mark is None
    assert {each.pid: each.mark for each in scan.children(store)} == {child.pid: child.mark, pid: child.mark}


@pytest.mark.process
async def test_a_sweep_ends_it_even_if_its_parent_ends_first(making: Making) -> None:
    store = making.clock.token()[:8]
    deaf = 'trap "" TERM; echo $$; exec sleep 1000'
    child = await making.shell(f"env -i /bin/sh -c '{deaf}'; true", Marks(store, "old"))
    pid = int((await making.output.until(1))[0])
    swept = await scan.sweep(lambda: scan.children(store), making.clock, grace=0.2)
    assert {process.pid for process in swept} == {child.pid, pid} and not alive(pid)


@pytest.mark.process
async def test_a_process_that_removed_the_mark_is_not_swept(making: Making) -> None:
    store = making.clock.token()[:8]
    child = await making.shell(
        "CLEW_CHILD= sh -c 'echo $$; env -i /bin/sh -c \"echo \\$\\$; read line\"; true'; true", Marks(store, "old")
    )
    pids = [int(line) for line in await making.output.until(2)]
    swept = await scan.sweep(lambda: scan.children(store), making.clock)
    assert [process.pid for process in swept] == [child.pid]
    assert all(map(alive, pids))


@pytest.mark.process
async def test_a_recycled_pid_is_never_hit(making: Making) -> None:
    child = await making.shell("read line")
    assert child.process is not None
    other = replace(child.process, started="1")
    scan.send_signal(other, signal.SIGKILL)
    assert alive(child.pid)
    scan.send_signal(child.process, signal.SIGKILL)
    await exits(child)
    assert child.exit_reason() == "killed by SIGKILL"


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every signal has a name")
async def test_a_signal_without_a_name_is_shown_by_number(making: Making) -> None:
    child = await making.shell("kill -35 $$")
    await exits(child)
    assert child.exit_reason() == "killed by signal 35"


@pytest.mark.process
async def test_children_are_listed_with_their_details(making: Making) -> None:
    store = making.clock.token()[:8]
    child = await making.shell("echo up; read line", Marks(store, "now"))
    await making.output.until(1)
    (listed,) = scan.children(store)
    assert (listed.pid, listed.mark, listed.command) == (child.pid, Mark(store, "now", 1), "sh")
    assert listed.rss > 0 and 0 <= listed.age < GUARD


def test_we_are_not_in_our_own_list() -> None:
    pids = {process.pid for process in scan.scan()}
    assert os.getpid() not in pids and os.getppid() not in pids


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:c", "a:b:"])
def test_an_invalid_mark_is_ignored(text: str) -> None:
    assert Mark.parse(text) is None


def test_a_mark_survives_being_written_and_read() -> None:
    mark = Marks("store", "host:12:34").next()
    assert Mark.parse(str(mark)) == mark == Mark("store", "host:12:34", 1)
    with pytest.raises(ValueError, match="colon"):
        Marks("a:b", "x")


_PS_LINE = (
    "  501   1   501  2048  1-02:03:04 Mon Nov  2 10:11:12 2026 /bin/codex app-server PATH=/bin CLEW_CHILD=s:i:7 A=b"
)


def test_the_process_list_of_macos_is_understood() -> None:
    process = scan._read_ps(_PS_LINE)
    assert process is not None
    assert (process.pid, process.parent, process.group, process.rss) == (501, 1, 501, 2048 * 1024)
    assert process.age == 86_400 + 2 * 3600 + 3 * 60 + 4
    assert process.started == "Mon Nov 2 10:11:12 2026"
    assert process.mark == Mark("s", "i", 7)
    assert scan._read_ps("no such line") is None


@pytest.mark.process
async def test_a_child_ends_also_in_the_clean_up_of_a_task_that_was_cancelled(marks: Marks, clock: SystemClock) -> None:
    """It ignores the end of its input and SIGTERM, so that the waits time out."""
    ready, begun = asyncio.Event(), asyncio.Event()
    deaf = "trap '' TERM; echo ready; while :; do sleep 1000; done"
    child = await spawn(["/bin/sh", "-c", deaf], marks.next(), clock, lambda line: ready.set(), name="deaf")

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await child.end(grace=0.1)

    working = asyncio.create_task(work())
    await ready.wait()
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert child.exit_code == -signal.SIGKILL
