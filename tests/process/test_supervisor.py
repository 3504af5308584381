"""The supervisor: what happens when it, the daemon or both are killed. With real processes."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.process import lock, scan, start, supervisor
from clew.support.errors import ClewError
from clew.support.home import Home
from tests.helpers.daemons import SCRIPTED, Clew

pytestmark = pytest.mark.process

BROKEN = "[http]\nprot = 1\n"


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


def given(run: Path) -> list[str]:
    """Its first arguments: the folder, the socket, and no restart of a hung daemon."""
    return [str(run), str(run / "none.sock"), "0"]


def supervised(clew: Clew) -> bool:
    return bool(clew.json("status")["daemon"]["supervised"])


def test_it_is_very_small_and_has_a_session_of_its_own(clew: Clew) -> None:
    daemon = scan.get(clew.up())
    small = scan.get(clew.supervisor)
    assert daemon is not None and small is not None
    assert small.rss < 15 << 20
    assert (small.session, daemon.parent, daemon.session) == (small.pid, small.pid, daemon.pid)
    assert small.parent != os.getpid()
    assert supervised(clew)


def test_a_killed_daemon_is_brought_back_by_itself_as_often_as_it_takes(clew: Clew) -> None:
    seen = {clew.up()}
    thread = clew.json("run", "!text kept")["thread"]
    for _ in range(2):
        clew.kill()
        back = clew.json("up")
        assert back["started"] is False  # nobody but the supervisor has started it
        seen.add(back["daemon"]["pid"])
    assert len(seen) == 3
    assert "has ended without being asked to" in clew("logs")
    assert clew.json("show", thread)["status"] == "idle"


def test_a_kill_point_is_armed_for_the_first_daemon_only(clew: Clew) -> None:
    dies = clew.up(env={"CLEW_CRASH": "turn.ended-not-owed"})
    turn = clew.json("start", "!text once")
    clew.wait_gone(dies)
    clew.up()
    assert clew.wait_ended(turn)["text"] == "once"
    clew.wait_ended(clew.json("start", "!text twice"))
    assert clew.pid != dies


def test_daemon_and_supervisor_do_not_carry_the_mark_of_an_agent(clew: Clew) -> None:
    daemon = clew.up(env={scan.VARIABLE: "store:incarnation:1"})
    found = [scan.get(pid) for pid in (daemon, clew.supervisor)]
    assert [(process.mark, process.has_cleared_mark) for process in found if process] == [(None, True)] * 2


def test_a_dead_supervisor_is_restored_by_the_next_command(clew: Clew) -> None:
    pid = clew.up()
    clew.kill_supervisor()
    assert clew("status").splitlines()[2].startswith("crashes   nothing brings it back")
    assert not supervised(clew)  # who only looks restores nothing
    several = [clew.begin("threads") for _ in range(3)]
    assert [clew.wait(process).code for process in several] == [0, 0, 0]
    assert supervised(clew)
    assert clew.pid == pid
    for late in set(clew.alive()) - {pid, clew.supervisor}:
        clew.wait_gone(late)  # each of the commands may have tried to, and one was the first
    clew.kill()
    assert clew.json("up")["started"] is False


def test_an_adopted_daemon_that_is_stopped_is_not_brought_back(clew: Clew) -> None:
    clew.up()
    clew.kill_supervisor()
    clew("threads")
    adopter = clew.supervisor
    clew.kill(signal.SIGTERM)
    clew.wait_gone(adopter)
    assert clew.alive() == []


def test_a_daemon_that_ends_by_a_signal_in_order_is_not_brought_back(clew: Clew) -> None:
    clew.up()
    keeper = clew.supervisor
    clew.kill(signal.SIGTERM)
    clew.wait_gone(keeper)
    assert clew.alive() == []


DEATHS = {
    "nothing": "",
    "the daemon": "d",
    "the supervisor": "s",
    "the daemon, then the supervisor": "ds",
    "the supervisor, then the daemon": "sd",
    "the supervisor, its daemon and what brought it back": "srd",
}


@pytest.mark.parametrize("deaths", DEATHS.values(), ids=DEATHS.keys())
def test_down_leaves_nothing_whatever_was_killed(clew: Clew, deaths: str) -> None:
    clew.up()
    for each in deaths:
        match each:
            case "d":
                clew.kill()
            case "s":
                clew.kill_supervisor()
            case "r":
                clew("threads")
    clew("down")
    assert clew.alive() == []
    assert not clew.home.socket.exists()
    assert lock.is_free(clew.home.lock)


HELD = """
import os, sys
if "clew.daemon.main" in sys.orig_argv:
    os.read(os.open(os.environ["HOLD"], os.O_RDONLY), 1)
"""


def test_down_finds_a_daemon_that_has_only_just_begun_and_lost_its_supervisor(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HELD)
    os.mkfifo(tmp_path / "hold")
    clew.env = {"PYTHONPATH": str(tmp_path), "HOLD": str(tmp_path / "hold")}
    starting = clew.begin("up")
    hold = os.open(tmp_path / "hold", os.O_WRONLY)  # it is there, long before it takes the store
    try:
        clew.kill_supervisor()
        assert clew("down") == "stopped\n"
    finally:
        os.close(hold)
    assert clew.wait(starting).code == 1
    assert clew.alive() == []


def test_a_start_that_was_interrupted_starts_nothing(tmp_path: Path) -> None:
    """The process that wanted a daemon has gone before the supervisor started: nobody would know of the daemon."""
    asked, ready = os.pipe()
    os.close(asked)
    ends, life = os.pipe()  # it ends with the last process that has it
    began = tmp_path / "began"
    command = [sys.executable, "-I", "-S", supervisor.__file__, *given(tmp_path), str(ready), "0"]
    subprocess.run([*command, "/usr/bin/touch", str(began)], pass_fds=[ready, life], check=True)
    os.close(ready)
    os.close(life)
    assert os.read(ends, 1) == b""
    os.close(ends)
    assert (tmp_path / supervisor.LOCK).exists() and not began.exists()


def test_a_waiting_command_learns_at_once_that_the_supervisor_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    os.mkfifo(began := tmp_path / "began")
    never_ready = f"import signal; open({str(began)!r}, 'w').close(); signal.pause()"
    monkeypatch.setattr(start, "_daemon_command", lambda: [sys.executable, "-I", "-S", "-c", never_ready])
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(start.ensure_daemon, home, lambda line: None)
        began.read_bytes()
        note = start.read_note(home)
        assert note is not None and note.daemon is not None
        try:
            os.kill(note.supervisor.pid, signal.SIGKILL)
            with pytest.raises(ClewError, match="the supervisor of the daemon ended while it started"):
                starting.result()
        finally:
            os.kill(note.daemon.pid, signal.SIGKILL)


def test_a_daemon_that_dies_slowly_is_not_taken_for_its_supervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process closes its pipe before it looks dead."""
    home = Home(tmp_path / "home")
    home.prepare()
    os.mkfifo(silent := tmp_path / "silent")
    os.mkfifo(dies := tmp_path / "dies")
    slow = f"import os, sys; os.close(int(sys.argv[2])); open({str(silent)!r}, 'w').close(); open({str(dies)!r}).read()"
    monkeypatch.setattr(start, "_daemon_command", lambda: [sys.executable, "-I", "-S", "-c", slow])
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(start.ensure_daemon, home, lambda line: None)
        silent.read_bytes()
        dies.write_bytes(b"")
        with pytest.raises(ClewError, match=r"^the daemon ended while it started"):
            starting.result()


DIES_ONCE = """
import os, signal, sys
os.chdir(os.environ["RUN"])
if os.path.exists("began"):
    open("clew.lock", "w").write('{"pid": %d, "stopping": true}' % os.getpid())
else:
    open("began", "w").close()
    os.write(int(sys.argv[2]), b'{"ready": true}\\n')
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_on_a_full_disk_a_killed_daemon_is_brought_back_too(tmp_path: Path) -> None:
    asked, ready = os.pipe()
    ends, life = os.pipe()  # it ends with the last process that has it
    command = [sys.executable, "-I", "-S", supervisor.__file__, *given(tmp_path), str(ready), "0"]
    daemon = [sys.executable, "-I", "-S", "-c", DIES_ONCE]
    env = {**os.environ, "RUN": str(tmp_path)}
    with Path("/dev/full").open("r+b", 0) as full:
        subprocess.run([*command, *daemon], pass_fds=[ready, life], stderr=full, env=env, check=True)
    os.close(ready)
    os.close(life)
    assert os.read(ends, 1) == b""
    os.close(ends)
    os.close(asked)
    assert b'"stopping": true' in (tmp_path / "clew.lock").read_bytes()


def test_it_waits_for_somebody_else_who_holds_the_store(clew: Clew) -> None:
    clew.up()
    handle = os.open(clew.home.lock, os.O_RDWR)
    os.kill(clew.supervisor, signal.SIGSTOP)  # so that it is not quicker than the other
    clew.kill()
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(clew.supervisor, signal.SIGCONT)
    assert "is just being started by its supervisor" in clew.run("status").err
    os.close(handle)
    assert clew.json("up")["started"] is False


def test_down_ends_the_supervisor_at_once_also_if_the_clock_was_set_meanwhile(clew: Clew) -> None:
    clew.up()
    path = clew.home.supervisor_lock
    note = json.loads(path.read_bytes())
    note["supervisor"]["since"] -= 3_600_000
    with path.open("r+b") as file:
        file.write(json.dumps(note).encode().ljust(supervisor.SIZE))
    watch = os.pidfd_open(clew.supervisor)
    stopping = clew.begin("down", "--grace", "3600")
    assert stopping.stderr is not None
    assert stopping.stderr.readline().startswith("stopping the daemon")
    assert select.select([watch], [], [], 0)[0]  # it goes first
    os.close(watch)
    assert clew.wait(stopping).code == 0
    assert clew.alive() == []


def test_down_waits_for_a_holder_that_has_not_said_yet_who_it_is(clew: Clew) -> None:
    """Between taking the lock and writing to the file, the file names the previous holder, which is gone."""
    pid = clew.up()
    said = clew.home.lock.read_bytes()
    with clew.home.lock.open("r+b") as file:
        file.write(said.replace(b'"started": "', b'"started": "9'))
        file.flush()
        stopping = clew.begin("down", "--grace", "0")
        clew.wait_gone(clew.supervisor)  # that goes first
        file.seek(0)
        file.write(said)
    assert clew.wait(stopping).code == 0
    assert scan.get(pid) is None


# A Python script that patches the system, and then runs the supervisor.
BEFORE = """
import os, signal, sys
{}
sys.argv.pop(0)
__file__ = sys.argv[0]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""
BLIND = BEFORE.format("""
def pidfd_open(pid):
    raise OSError
os.pidfd_open = pidfd_open
""")
TOLD_TO_END = BEFORE.format("""
go_on = os.execv
def execv(*words):
    os.kill(os.getpid(), signal.SIGTERM)
    go_on(*words)
os.execv = execv
""")


def test_a_daemon_that_is_told_to_end_before_it_has_begun_ends(
    clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "told.py").write_text(TOLD_TO_END)
    monkeypatch.setattr(start, "_small_python", lambda: [sys.executable, "-I", "-S", str(tmp_path / "told.py")])
    with pytest.raises(ClewError, match="the daemon ended while it started"):
        start.ensure_daemon(clew.home, lambda line: None)
    clew.wait_gone(clew.supervisor)
    assert clew.alive() == []


# A resource that it needs to start a daemon fails from its Nth use on, several times; time runs 100 times as fast.
SHORT = BEFORE.format("""
import errno, select, time
name, first, times = os.environ["SHORT"].split()
give, uses = getattr(os, name), 0
def short():
    global uses
    uses += 1
    if 0 <= uses - int(first) < int(times):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return give()
setattr(os, name, short)
wait, now = select.select, time.monotonic
select.select = lambda reads, writes, odd, patience: wait(reads, writes, odd, patience and patience / 100)
time.monotonic = lambda: now() * 100
""")
LACK = "the daemon cannot be started: Resource temporarily unavailable"


@contextmanager
def short_of(short: str, tmp_path: Path, said: int) -> Iterator[None]:
    """A supervisor whose first daemon dies, and whose system is then short of a resource; waits for its end."""
    (tmp_path / "short.py").write_text(SHORT)
    asked, ready = os.pipe()
    ends, life = os.pipe()  # it ends with the last process that has it
    command = [sys.executable, "-I", "-S", str(tmp_path / "short.py"), supervisor.__file__, *given(tmp_path)]
    daemon = [sys.executable, "-I", "-S", "-c", DIES_ONCE]
    env = {**os.environ, "RUN": str(tmp_path), "SHORT": short}
    subprocess.run([*command, str(ready), "0", *daemon], pass_fds=[ready, life], stderr=said, env=env, check=True)
    for handle in (ready, life, said):
        os.close(handle)
    yield
    assert os.read(ends, 1) == b""
    os.close(ends)
    os.close(asked)


@pytest.mark.parametrize("short", ["fork 3 9", "pipe 4 9", "pipe 5 9"])
def test_a_daemon_without_free_memory_is_started_when_there_is_some(tmp_path: Path, short: str) -> None:
    """The first fork is its own, the second its first daemon's; a pipe is its own, and two are each daemon's."""
    said = tmp_path / "said"
    with short_of(short, tmp_path, os.open(said, os.O_RDWR | os.O_CREAT)):
        pass  # by itself
    assert b'"stopping": true' in (tmp_path / "clew.lock").read_bytes()
    assert [line.partition("supervisor: ")[2] for line in said.read_text().splitlines()][1:] == [LACK]


def test_one_that_cannot_start_a_daemon_can_be_told_to_end(tmp_path: Path) -> None:
    hear, say = os.pipe()
    with os.fdopen(hear) as lines, short_of("fork 3 1000000", tmp_path, say):
        assert any(LACK in line for line in lines)
        os.kill(json.loads((tmp_path / supervisor.LOCK).read_bytes())["supervisor"]["pid"], signal.SIGTERM)


def test_a_start_without_free_memory_fails_at_once(clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "short.py").write_text(SHORT)
    monkeypatch.setenv("SHORT", "fork 2 1000000")
    monkeypatch.setattr(start, "_small_python", lambda: [sys.executable, "-I", "-S", str(tmp_path / "short.py")])
    with pytest.raises(ClewError, match=f"the daemon ended while it started: .*{LACK}"):
        start.ensure_daemon(clew.home, lambda line: None)
    clew.wait_gone(clew.supervisor)


def test_without_pidfd_the_supervisor_polls(clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blind.py").write_text(BLIND)
    clew.up()
    clew.kill_supervisor()
    monkeypatch.setattr(start, "_small_python", lambda: [sys.executable, "-I", "-S", str(tmp_path / "blind.py")])
    start.ensure_supervisor(clew.home)
    assert supervised(clew)
    clew.kill()
    assert clew.json("up")["started"] is False


def test_restart_replaces_daemon_and_supervisor(clew: Clew) -> None:
    before = {clew.up(), clew.supervisor}
    clew("restart")
    assert before.isdisjoint({clew.pid, clew.supervisor})
    assert supervised(clew)
    assert len(clew.alive()) == 2


def test_in_the_foreground_it_has_no_supervisor(clew: Clew) -> None:
    daemon = clew.begin("up", "--foreground")
    assert daemon.stderr is not None
    assert daemon.stderr.readline().startswith("ready")
    clew("threads")
    assert not supervised(clew)
    assert clew.alive() == []  # beside the command that began it
    assert clew.end(daemon).code == 0


def test_a_daemon_that_cannot_start_at_all_leaves_no_supervisor(clew: Clew) -> None:
    clew.configure(BROKEN)
    result = clew.run("up")
    assert (result.code, "http.prot is not a setting" in result.err) == (1, True)
    clew.wait_gone(clew.supervisor)
    assert clew.alive() == []


def test_after_five_quick_deaths_it_pauses_long_and_commands_say_why(clew: Clew) -> None:
    clew.up()
    keeper = clew.supervisor
    left = leave_a_child(clew)
    clew.configure(BROKEN)
    clew.kill()
    wait_for_note(clew)
    for command in ("status", "threads", "doctor"):
        result = clew.run(command)
        said = result.err + result.out
        assert result.code == (1 if command == "doctor" else 3)
        assert "the daemon died 5 times in a row" in said
        assert "line 2: http.prot is not a setting" in said
        assert "The next try is at " in said and "`clew up` tries now" in said
    assert "tries now" in clew.json("threads", code=3)["error"]["message"]
    chinese = clew.run("threads", env={"LC_ALL": "zh_CN.UTF-8"}).err
    assert "守护进程连续退出了 5 次；最后一次（进程号" in chinese and "以退出码 1 结束" in chinese
    assert clew.supervisor == keeper and start.is_supervised(clew.home), "it goes on"
    clew.configure(SCRIPTED)
    clew.up()
    assert left.wait() == -signal.SIGTERM
    assert supervised(clew)
    assert clew.json("threads") == []
    assert start.why_given_up(clew.home) is None


def wait_for_note(clew: Clew) -> None:
    """Wait until the supervisor pauses long: it says so in the daemon's output."""
    with subprocess.Popen(["tail", "-n", "+1", "-F", clew.home.logs / start.OUTPUT], stdout=subprocess.PIPE) as lines:
        assert lines.stdout is not None
        assert any(b"supervisor: the daemon died 5 times in a row" in line for line in lines.stdout)
        lines.kill()
    while start.why_given_up(clew.home) is None:
        pass  # it writes the note right after the line


# A daemon that is ready once, then dies six times, and then is stopped.
DIES_OFTEN = """
import os, signal, sys
os.chdir(os.environ["RUN"])
os.makedirs("run", exist_ok=True)
with open("began", "a+") as file:
    file.write(f"{os.path.exists('run/gave-up')}\\n")
    file.seek(0)
    number = len(file.readlines())
if number == 1:
    os.write(int(sys.argv[2]), b'{"ready": true}\\n')
if number == 8:
    open("clew.lock", "w").write('{"pid": %d, "stopping": true}' % os.getpid())
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""
# Time runs fast while it waits, and it tells how long it waited.
QUICKLY = BEFORE.format("""
import select, time
wait, now, passed = select.select, time.monotonic, 0.0
def quickly(reads, writes, odd, patience):
    global passed
    ready = wait(reads, writes, odd, 0)
    if ready[0] or patience is None or patience < 30:
        return ready if ready[0] else wait(reads, writes, odd, patience)
    passed += patience
    os.write(2, b"waited %d\\n" % round(patience))
    return ready
select.select = quickly
time.monotonic = lambda: now() + passed
""")


def test_after_quick_deaths_it_goes_on_with_long_pauses_and_tells_it_once(tmp_path: Path) -> None:
    (tmp_path / "quickly.py").write_text(QUICKLY)
    said = tmp_path / "said"
    asked, ready = os.pipe()
    ends, life = os.pipe()  # it ends with the last process that has it
    command = [sys.executable, "-I", "-S", str(tmp_path / "quickly.py"), supervisor.__file__, *given(tmp_path)]
    daemon = [sys.executable, "-I", "-S", "-c", DIES_OFTEN]
    with said.open("w+b") as out:
        subprocess.run(
            [*command, str(ready), "0", *daemon],
            pass_fds=[ready, life],
            stderr=out,
            env={**os.environ, "RUN": str(tmp_path)},
            check=True,
        )
    for handle in (ready, life):
        os.close(handle)
    assert os.read(ends, 1) == b""
    os.close(ends)
    os.close(asked)
    lines = said.read_text().splitlines()
    waits = [int(line.split()[1]) for line in lines if line.startswith("waited") and int(line.split()[1]) > 60]
    assert sum("5 times in a row" in line for line in lines) == 1
    assert "waited 60" in lines and waits == [300, 900]
    assert (tmp_path / "began").read_text().split() == ["False"] * 8, "no note stays while it is tried"
    assert not (tmp_path / "run" / supervisor.GAVE_UP).exists()


DIES = """
import os, sys
if "clew.daemon.main" in sys.orig_argv and os.path.exists(os.environ["HOLD"]):
    if os.path.exists(os.environ["HOLD"] + "/first"):
        os.read(os.open(os.environ["HOLD"] + "/first", os.O_RDONLY), 1)
    os._exit(9)
"""


def test_a_command_that_waited_while_it_was_given_up_says_why_and_starts_nothing(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES)
    clew.env = {"PYTHONPATH": str(tmp_path), "HOLD": str(tmp_path / "hold")}
    clew.up()
    keeper = clew.supervisor
    (tmp_path / "hold").mkdir()
    os.mkfifo(tmp_path / "hold" / "first")
    clew.kill()
    waiting = clew.begin("threads")
    assert waiting.stderr is not None
    assert waiting.stderr.readline().startswith("waiting for the daemon")
    first = os.open(tmp_path / "hold" / "first", os.O_WRONLY)
    (tmp_path / "hold" / "first").unlink()
    os.close(first)  # it dies, and all that come after it
    result = clew.wait(waiting)
    assert (result.code, "the daemon died 5 times in a row" in result.err) == (3, True)
    assert clew.alive() == [keeper]


def test_down_ends_leftovers_of_a_dead_daemon_even_if_a_later_one_could_not_start(clew: Clew) -> None:
    clew.up()
    left = leave_a_child(clew)
    clew.kill_for_good()
    clew.configure(BROKEN)
    assert clew.run("up").code == 1
    clew("down")
    assert left.wait() == -signal.SIGTERM


def test_a_note_of_a_supervisor_that_is_gone_does_not_count(clew: Clew) -> None:
    clew.home.prepare()
    (clew.home.run / supervisor.GAVE_UP).write_text("1\nit died")
    assert clew.run("status").err == "clew: the daemon does not run; `clew up` starts it\n"
    assert clew.json("threads") == []


def leave_a_child(clew: Clew) -> subprocess.Popen[bytes]:
    """A process with the mark of this home's store, like a leftover child of a runtime."""
    holder = lock.read(clew.home.lock)
    assert holder is not None and holder.store is not None
    mark = scan.Marks(holder.store, "dead").next()
    return subprocess.Popen(["sleep", "600"], env={**os.environ, scan.VARIABLE: str(mark)})
