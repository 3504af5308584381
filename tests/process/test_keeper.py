"""The keeper ends its program when no daemon returns and the program does no work, and not before. The program is a
shell, and the probe reads from a file whether it works."""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clew.process import keeper, kept_programs, scan
from clew.process import start as proce_start
from clew.process.kept_programs import KeptProgram
from clew.process.scan import Mark
from clew.runtimes.process import child_environment
from clew.support.clock import SystemClock
from clew.support.home import Home

GUARD = 60.0
WAITS = "exec sleep 1000"


@dataclass
class Making:
    home: Home
    looks: Path  # a pipe: each look says so there
    answer: Path  # there: it works
    made: list[KeptProgram] = field(default_factory=list)

    async def start(
        self, script: str = WAITS, keep_alive: float = 0.3, name: str = "codex-test", python: str = sys.executable
    ) -> KeptProgram:
        mark = Mark(f"keeper{os.getpid()}", f"kept.{SystemClock().token()[:8]}", 1)
        look = f"import os,sys; os.write(os.open({str(self.looks)!r}, os.O_WRONLY), b'?'); "
        look += f"sys.exit(0 if os.path.exists({str(self.answer)!r}) else 3)"
        kept = await kept_programs.start(
            self.home,
            name,
            ["/bin/sh", "-c", script],
            look=[python, "-I", "-S", "-c", look],
            mark=mark,
            env=child_environment(mark, {}),
            keep_alive=keep_alive,
            version="1.2.3",
        )
        assert kept is not None, "another is there"
        self.made.append(kept)
        return kept


@pytest.fixture
async def making(tmp_path: Path) -> AsyncIterator[Making]:
    home = Home(tmp_path / "home")
    home.prepare()
    os.mkfifo(tmp_path / "looks")
    it = Making(home, tmp_path / "looks", tmp_path / "works")
    yield it
    for kept in it.made:
        await kept_programs.end(kept, SystemClock())
        assert kept.family() == []


async def gone(kept: KeptProgram) -> bool:
    """Wait for the end of the program and of its keeper, which has then recorded how it ended."""
    there = [process for process in (kept.find(), kept.keeper.find()) if process is not None]
    return all([await scan.wait_gone(process, SystemClock(), GUARD) for process in there])


def hears(pipe: int, patience: float = GUARD) -> bool:
    """Whether a probe was run."""
    heard = bool(select.select([pipe], [], [], patience)[0])
    return heard and bool(os.read(pipe, 1))


@pytest.mark.process
async def test_a_kept_program_is_ended_when_no_daemon_returns(making: Making) -> None:
    making.answer.touch()
    pipe = os.open(making.looks, os.O_RDWR)
    kept = await making.start("setsid sleep 1000 & exec sleep 1000")
    assert [each.name for each in kept_programs.running(making.home)] == ["codex-test"]
    making.answer.unlink()
    assert await gone(kept) and hears(pipe, 0)
    assert sys.platform != "linux" or kept.family() == [], "with what it has begun"
    ended = kept_programs.read(kept_programs.record(making.home, kept.name))
    assert ended is not None and ended.fate == "killed by SIGTERM"
    os.close(pipe)


@pytest.mark.process
async def test_its_children_with_an_empty_environment_end_with_it(making: Making, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    bare = f"echo $$ > {tmp_path}/begun; exec sleep 1000"
    kept = await making.start(f"setsid env -i /bin/sh -c '{bare}' & exec sleep 1000", keep_alive=1000)
    left = scan.get(int(await asyncio.to_thread((tmp_path / "begun").read_text)))
    assert left is not None and left.mark is None
    await kept_programs.end(kept, SystemClock())
    assert not scan.is_alive(left)


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
async def test_on_a_full_disk_it_is_ended_in_order_too(making: Making) -> None:
    (making.home.logs / proce_start.OUTPUT).symlink_to("/dev/full")
    making.answer.touch()
    pipe = os.open(making.looks, os.O_RDWR)
    kept = await making.start(f"trap 'exit 7' TERM; rm '{making.answer}'; while :; do sleep 0.01; done")
    assert await gone(kept)
    ended = kept_programs.read(kept_programs.record(making.home, kept.name))
    assert ended is not None and ended.fate == "exit code 7"
    os.close(pipe)


@pytest.mark.process
async def test_a_kept_program_that_works_is_not_ended(making: Making) -> None:
    making.answer.touch()
    pipe = os.open(making.looks, os.O_RDWR)
    kept = await making.start()
    for _ in range(12):  # twice the time after which it would be ended
        assert hears(pipe)
    assert kept.find() is not None
    making.answer.unlink()
    assert await gone(kept)
    os.close(pipe)


def put(program: Path, text: str) -> None:
    """Write a script atomically: nobody can run it half written."""
    fresh = program.with_suffix(".fresh")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(program)


@pytest.mark.process
async def test_a_kept_program_that_cannot_be_probed_is_not_ended(making: Making, tmp_path: Path) -> None:
    """The Python of the probe disappears, as in an upgrade, and comes back."""
    python = tmp_path / "python"
    kept = await making.start(python=str(python))
    pipe = os.open(making.looks, os.O_RDWR)
    assert not hears(pipe, 0.6) and kept.find() is not None, "twice the time after which it would be ended"
    put(python, "#!/bin/sh\nexit 1\n")
    assert not hears(pipe, 0.6) and kept.find() is not None
    put(python, f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert hears(pipe) and await gone(kept)
    os.close(pipe)


@pytest.mark.process
async def test_a_kept_program_is_not_probed_while_a_daemon_runs(making: Making) -> None:
    daemon = os.open(making.home.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(daemon, fcntl.LOCK_EX)
    pipe = os.open(making.looks, os.O_RDWR)
    kept = await making.start(keep_alive=0.05)
    assert not hears(pipe, 0.5) and kept.find() is not None
    os.close(daemon)
    assert await gone(kept)
    os.close(pipe)


@pytest.mark.heavy
async def test_a_kept_program_that_works_for_ever_is_ended(making: Making) -> None:
    making.answer.touch()
    pipe = os.open(making.looks, os.O_RDWR)
    assert await gone(await making.start(keep_alive=0.05))
    os.close(pipe)


@pytest.mark.heavy
async def test_a_daemon_that_ignores_signals_is_killed(making: Making) -> None:
    pipe = os.open(making.looks, os.O_RDWR)
    making.answer.touch()
    kept = await making.start(f"trap '' TERM; rm '{making.answer}'; exec sleep 1000")
    assert await gone(kept)
    ended = kept_programs.read(kept_programs.record(making.home, kept.name))
    assert ended is not None and ended.fate == "killed by SIGKILL"
    os.close(pipe)


@pytest.mark.process
async def test_last_words_and_exit_of_a_kept_program_are_recorded(making: Making) -> None:
    kept = await making.start("echo one >&2; printf 'two \\303\\244 \\042x\\042' >&2; exit 7")
    assert await gone(kept)
    seen = kept_programs.read(kept_programs.record(making.home, kept.name))
    assert seen is not None and (seen.fate, seen.words) == ("exit code 7", ("one", "two ä  x"))
    assert (making.home.logs / "codex.log").read_text().startswith("one\n")
    assert kept_programs.running(making.home) == []


@pytest.mark.process
async def test_it_starts_when_the_log_folder_was_removed(making: Making) -> None:
    making.home.logs.rmdir()
    await making.start(keep_alive=600)
    assert stat.S_IMODE((making.home.logs / proce_start.OUTPUT).stat().st_mode) == 0o600


@pytest.mark.process
async def test_a_second_keeper_of_the_same_name_does_nothing(making: Making) -> None:
    first = await making.start(keep_alive=600)
    with pytest.raises(AssertionError, match="another is there"):
        await making.start(keep_alive=600)
    assert kept_programs.running(making.home) == [first] and len(first.family()) == 2, "the keeper and its program"


@pytest.mark.process
async def test_a_short_look_at_the_lock_does_not_prevent_keeping(making: Making) -> None:
    stale = await making.start("exit 7", keep_alive=600)
    assert await gone(stale)
    looking = os.open(kept_programs.record(making.home, stale.name), os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
    asyncio.get_running_loop().call_later(0.1, os.close, looking)
    again = await making.start(keep_alive=600)
    assert again.mark != stale.mark and kept_programs.running(making.home) == [again]


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a program with its parent")
async def test_a_kept_program_ends_with_its_keeper(making: Making) -> None:
    kept = await making.start(keep_alive=600)
    os.kill(kept.keeper.pid, signal.SIGKILL)
    assert await gone(kept) and kept_programs.running(making.home) == []


@pytest.mark.process
async def test_the_first_signal_gives_a_kept_program_its_grace_period(making: Making) -> None:
    ready, go = (making.home.root / name for name in ("ready", "go"))
    for pipe in (ready, go):
        os.mkfifo(pipe)
    told = "signal.pthread_sigmask(0, [15]); open(sys.argv[1], 'w'); signal.sigwait([15]); open(sys.argv[2]).read()"
    kept = await making.start(f'exec {sys.executable} -c "import signal, sys; {told}" {ready} {go}', keep_alive=600)
    await asyncio.to_thread(ready.read_text)
    ending = asyncio.create_task(kept_programs.end(kept, SystemClock(), grace=GUARD))
    await asyncio.to_thread(go.write_text, "x")
    await ending
    ended = kept_programs.read(kept_programs.record(making.home, kept.name))
    assert ended is not None and ended.fate == "exit code 0"


@pytest.fixture
def stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[keeper.Stderr]:
    monkeypatch.setattr(keeper, "LOGGED", 3)
    made = keeper.Stderr(str(tmp_path / "log"))
    yield made
    os.close(made.theirs)
    made.pump()


def say(stderr: keeper.Stderr, words: bytes) -> None:
    os.write(stderr.theirs, words)
    stderr.pump()


def test_a_log_that_cannot_be_replaced_is_emptied_instead(stderr: keeper.Stderr, tmp_path: Path) -> None:
    log, old = tmp_path / "log", tmp_path / "log.1"
    (old / "in the way").mkdir(parents=True)
    say(stderr, b"first")
    say(stderr, b"second")
    with (tmp_path / "another file").open("wb") as other:  # which would get the number of a log that was let go
        say(stderr, b"third")
        assert os.fstat(other.fileno()).st_size == 0
    assert log.read_bytes() == b"third"
    (old / "in the way").rmdir()
    old.rmdir()
    say(stderr, b"fourth")
    assert (old.read_bytes(), log.read_bytes()) == (b"third", b"fourth")
    assert stderr.last_words() == ["firstsecondthirdfourth"]


def test_a_removed_log_is_created_again(stderr: keeper.Stderr, tmp_path: Path) -> None:
    say(stderr, b"first")
    (tmp_path / "log").unlink()
    say(stderr, b"second")
    assert (tmp_path / "log").read_bytes() == b"second" and not (tmp_path / "log.1").exists()


def test_two_keepers_of_one_log_rotate_it_once(stderr: keeper.Stderr, tmp_path: Path) -> None:
    other = keeper.Stderr(str(tmp_path / "log"))
    say(stderr, b"first")
    say(stderr, b"2")
    say(other, b"3")
    assert ((tmp_path / "log.1").read_bytes(), (tmp_path / "log").read_bytes()) == (b"first", b"23")
    os.close(other.theirs)
    other.pump()


@pytest.mark.process
def test_output_during_a_probe_does_not_block_the_program(stderr: keeper.Stderr, tmp_path: Path) -> None:
    it = keeper.Keeper(str(tmp_path / "record"), "", "", 1.0, "", "")
    it._stderr = stderr
    os.set_inheritable(stderr.theirs, True)
    says = f"import os, sys; os.write({stderr.theirs}, bytes(300_000)); sys.exit(0)"
    assert it._is_busy([sys.executable, "-I", "-S", "-c", says])
    for handle in (it._record, it._out, it._in):
        os.close(handle)
