"""Brings the daemon back after a crash, and after a hang. Run as a script of its own, by `python -I -S`, so that it
stays very small: it imports nothing of clew but `heartbeat.py`, and else only what Python has in memory anyway.

    supervisor.py RUN SOCKET HANG READY ADOPT COMMAND…

RUN is the home's folder for what lives as long as a daemon, SOCKET where a daemon answers, HANG after how many seconds
without an answer it is restarted (0: never), READY a pipe for the daemon's word that it is ready, ADOPT
the pid of a daemon that runs already (0: start one), and COMMAND starts a daemon. What it says goes to stderr.

Its lock is the kernel's, as the daemon's own: who holds `supervisor.lock` is the supervisor. The file names it and its
daemon, so that `clew down` finds also a daemon that has only just begun. A daemon that was asked to stop says so in
`clew.lock` before it does; any other end is a crash. It decides nothing else: SIGTERM ends it, and the daemon goes on.

A daemon that listens at its socket and gives no answer there hangs: its event loop does not turn. It is asked three
times a minute, over a socket and not by a file, so that no disk is written and an adopted daemon can be asked, too.
"""

# ruff: noqa: PTH100, PTH120, PTH123, SIM105
# pathlib and contextlib alone would be a tenth of its memory.

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # not from typing: that would be more memory
if TYPE_CHECKING or __package__:
    from clew.process.heartbeat import REPORT, Heartbeat, millis, say, write_note
else:  # run as a script: with -I its own folder is not searched, and clew is not installed there
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from heartbeat import REPORT, Heartbeat, millis, say, write_note

    del sys.path[0]

LOCK = "supervisor.lock"
GAVE_UP = "gave-up"  # why, as long as nobody has tried again

QUICK = 10.0  # a daemon that ends so many seconds after its start, or is never ready, has died quickly
DEATHS = 5  # quick ones in a row, after which it is given up
PAUSES = (0.0, 0.25, 0.5, 1.0)  # seconds before the next start, after one quick death, two, …
LOOK = 1.0  # seconds between looks where the system cannot wake us
PATIENCE = 0.5  # seconds; somebody who looks whether a lock is free takes it for a moment
SIZE = 192  # bytes of a note: each write covers the one before as a whole
WORDS = 400  # characters of a daemon's last words that are kept
ARMED = "CLEW_CRASH"  # for the first daemon only, or it would crash for ever


class Told(Exception):
    """Somebody has told us to end."""


class Bell:
    """Wakes us at a signal. What signals ask for is done only where we wait, so that nothing is left half done."""

    def __init__(self) -> None:
        self.told = False
        self._out, self._in = os.pipe()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._tell)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _tell(self, number: int, frame: object) -> None:
        self.told = True

    def wait(self, others: list[int], patience: float | None) -> list[int]:
        """Which of the others can be read. Raises Told."""
        ready = [] if self.told else select.select([self._out, *others], [], [], patience)[0]
        if self._out in ready:
            ready.remove(self._out)
            os.read(self._out, 4096)
        if self.told:
            raise Told
        return ready


class Supervisor:
    def __init__(self, run: str, pulse: Heartbeat, ready: int, command: list[str]) -> None:
        self._run = run
        self._pulse = pulse
        self._ready = ready  # -1 when who started us has been told
        self._command = command
        self._lock = os.open(f"{run}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._me = _names(os.getpid())
        self._pipe = -1  # where our daemon says that it is ready
        self._was_ready = False
        self._said = 0  # how long stderr was when it began
        self._lack = ""  # why none can be started just now
        self.bell: Bell

    def take(self) -> bool:
        """Whether we are the supervisor now. If not, there is another one, or it is not wanted any more."""
        if not _try_for_a_moment(self._lock):
            self._tell(b'{"error": {"code": "store_held", "message": "another supervisor is there"}}\n')
            return False
        self.bell = Bell()
        self._note(0)
        self._tell(b" ", more=True)
        return self._ready >= 0  # else who started us was interrupted, and nobody waits for a daemon

    def keep(self, adopted: int) -> None:
        """Until the daemon is stopped on purpose, or given up. Raises Told."""
        deaths = 0
        is_first = not adopted
        while True:
            began = time.monotonic()
            pid, end = self._adopt(adopted) if adopted else self._start()
            if (pid and self._is_on_purpose(pid)) or (is_first and not self._was_ready):
                return  # in the second case, who started it has been told why
            if pid:
                is_quick = not self._was_ready or time.monotonic() - began < QUICK
                deaths = deaths + 1 if is_quick else 0
                if deaths >= DEATHS:
                    self._give_up(pid, end)
                    return
                say(f"the daemon, pid {pid}, {end}; bringing it back")
            self._pause(PAUSES[min(max(deaths - 1, 0), len(PAUSES) - 1)] if pid else LOOK)
            if not self._wait_for_the_store():
                return
            adopted, is_first = 0, False

    def _start(self) -> tuple[int, str]:
        """Start a daemon and follow it to its end. Pid 0: none could be started. The system is short of something, as
        after it has killed a daemon for its memory; nothing has died, so that is tried for as long as it takes."""
        self._was_ready = False
        self._said = os.fstat(2).st_size
        try:
            pid = self._begin()
        except OSError as error:
            self._lacks(error.strerror or str(error))
            return 0, ""
        self._lack = ""
        os.environ.pop(ARMED, None)
        self._pulse.begin(pid)
        while (status := _reap(pid)) is None:
            self._listen(self._wait(pid, [self._pipe] if self._pipe >= 0 else []))
        self._pulse.begin(0)
        self._listen_to_the_end()
        return pid, _fate(status)

    def _wait(self, pid: int, others: list[int], patience: float = REPORT) -> list[int]:
        """Which of the others can be read. A daemon that hangs is ended meanwhile. Raises Told."""
        ready = self.bell.wait([*others, *self._pulse.handles()], min(patience, self._pulse.patience()))
        if (number := self._pulse.look(ready)) and self._is_named(pid) and not self._is_free():
            _kill(pid, number)
            _kill(pid, signal.SIGCONT)  # one that was stopped hears nothing else
        return [each for each in ready if each in others]

    def _lacks(self, what: str) -> None:
        """Said once, however often it is tried."""
        if what != self._lack:
            say(f"the daemon cannot be started: {what}")
            self._lack = what

    def _begin(self) -> int:
        self._pipe, word = os.pipe()
        try:
            waits, go = os.pipe()
            try:
                return self._fork(word, waits, go)
            finally:
                os.close(waits)
                os.close(go)
        except OSError:
            os.close(self._pipe)
            self._pipe = -1
            raise
        finally:
            os.close(word)

    def _fork(self, word: int, waits: int, go: int) -> int:
        """The child waits for our go: until its pid is written down, it ends with us. A SIGTERM for it waits too, until
        it has no handler of ours any more."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            pid = os.fork()
        except OSError:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            raise
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            self._note(pid)
            os.write(go, b"!")
            return pid
        try:
            os.close(go)
            if os.read(waits, 1):
                self._become(word)
        finally:
            os._exit(127)

    def _become(self, word: int) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.set_inheritable(word, True)
        command = [*self._command, "--ready-fd", str(word)]
        try:
            os.execv(command[0], command)
        except OSError as error:
            say(f"{command[0]} cannot be run: {error.strerror}")

    def _listen(self, ready: list[int]) -> None:
        """Pass on what the daemon says of its start. That it says no more is told once it has ended: a process that
        dies lets go of its pipe while it still looks alive."""
        if self._pipe not in ready:
            return
        if news := os.read(self._pipe, 65536):
            self._was_ready = self._was_ready or b'"ready"' in news
            self._tell(news, more=not news.endswith(b"\n"))
        else:
            os.close(self._pipe)
            self._pipe = -1

    def _listen_to_the_end(self) -> None:
        """Its last word may still be on the way; but what it left behind may hold the pipe open."""
        while self._pipe >= 0 and select.select([self._pipe], [], [], 0)[0]:
            self._listen([self._pipe])
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        self._tell(b"")

    def _tell(self, news: bytes, more: bool = False) -> None:
        if self._ready < 0:
            return
        try:
            os.write(self._ready, news)
        except OSError:
            more = False  # who started us has gone
        if not more:
            os.close(self._ready)
            self._ready = -1

    def _adopt(self, pid: int) -> tuple[int, str]:
        """Follow a daemon that somebody else has started. It is the one, if the lock is held and names it."""
        watch = _watch(pid)
        self._note(pid)
        self._tell(b'{"ready": true}\n')
        self._was_ready = True
        self._said = os.fstat(2).st_size
        os.environ.pop(ARMED, None)
        try:
            if not self._is_free() and self._is_named(pid):
                self._pulse.begin(pid)
                while not self._has_ended(pid, watch):
                    pass
        finally:
            self._pulse.begin(0)
            if watch >= 0:
                os.close(watch)
        return pid, "ended"

    def _has_ended(self, pid: int, watch: int) -> bool:
        if watch >= 0:
            return bool(self._wait(pid, [watch]))
        self._wait(pid, [], LOOK)
        return self._is_free()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.bell.wait([], left)

    def _wait_for_the_store(self) -> bool:
        """Somebody else may hold it just now, such as `clew notify`. False: another daemon did, and was stopped."""
        if self._is_free():
            return True
        while not self._is_free():
            self._pause(LOOK)
        return b'"stopping": true' not in self._holder()

    def _is_free(self) -> bool:
        try:
            handle = os.open(f"{self._run}/clew.lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        except OSError:
            return False  # nobody knows just now
        try:
            return _try(handle, fcntl.LOCK_SH)  # two who only look do not see each other
        finally:
            os.close(handle)

    def _holder(self) -> bytes:
        while True:
            try:
                with open(f"{self._run}/clew.lock", "rb", 0) as file:
                    return file.read()
            except FileNotFoundError:
                return b""
            except OSError:
                self._pause(LOOK)  # what cannot be read just now is not nothing

    def _is_named(self, pid: int) -> bool:
        return b'"pid": %d,' % pid in self._holder()

    def _is_on_purpose(self, pid: int) -> bool:
        return self._is_named(pid) and b'"stopping": true' in self._holder()

    def _note(self, daemon: int) -> None:
        line = b'{"supervisor": %s, "daemon": %s}' % (self._me, _names(daemon) if daemon else b"null")
        try:
            os.pwrite(self._lock, line.ljust(SIZE), 0)
        except OSError:
            pass  # a full disk: it is more needed than its name

    def _give_up(self, pid: int, end: str) -> None:
        why = f"the daemon died {DEATHS} times in a row; the last one, pid {pid}, {end}{_last_words(self._said)}"
        say(f"given up: {why}")
        write_note(f"{self._run}/{GAVE_UP}", why.encode())


def _names(pid: int) -> bytes:
    """What names a process for good: the pid, and the system's word for its beginning. Where that is not to be had, the
    time: now, because it has only just begun."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            started = file.read().rpartition(b")")[2].split()[19]
    except OSError:
        started = b""
    return b'{"pid": %d, "started": "%s", "since": %d}' % (pid, started, millis())


def _watch(pid: int) -> int:
    """What can be read once a process has ended; -1: this system has no such thing, or it has ended."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError:
            return -1
    return -1


def _reap(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return status if ended else None


def _fate(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {_name(-code)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(begin: int) -> str:
    said = os.pread(2, 1 << 16, max(begin, os.fstat(2).st_size - (1 << 16))).decode("utf-8", "replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f": {lines[-1][:WORDS]}" if lines else ""


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended


def _try(handle: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_for_a_moment(handle: int) -> bool:
    until = time.monotonic() + PATIENCE
    while not _try(handle):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _detach() -> None:
    """Nobody's child, in a session of its own."""
    if os.fork():
        os._exit(0)
    os.setsid()


def main(run: str, socket: str, hang: str, ready: str, adopted: str, *command: str) -> None:
    _detach()
    os.set_inheritable(int(ready), False)
    supervisor = Supervisor(run, Heartbeat(run, socket, float(hang)), int(ready), list(command))
    try:
        if supervisor.take():
            supervisor.keep(int(adopted))
    except Told:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
