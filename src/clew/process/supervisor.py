"""Restarts the daemon after a crash or a hang. Run as a script by `python -I -S`, so that it needs little memory: it
imports nothing of clew except `heartbeat.py`, and otherwise only modules that Python has loaded anyway.

    supervisor.py HOME SOCKET HANG READY ADOPT COMMAND…

HOME is the folder of the home, SOCKET the daemon's socket, HANG the seconds without a response after which the daemon
is restarted (0: never), READY a pipe in which the daemon reports that it is ready, ADOPT the pid of a daemon that runs
already (0: start one), and COMMAND starts a daemon. Messages go to stderr.

Like the daemon's, its lock is a kernel lock: the holder of `supervisor.lock` is the supervisor. The file names it and
its daemon, so that `clew down` also finds a daemon that is just starting. A daemon that was asked to stop writes that
to `clew.lock` first; any other end is a crash. SIGTERM ends the supervisor, and the daemon goes on.

A daemon that listens at its socket and does not respond hangs: its event loop is blocked. It is checked three times a
minute, over the socket instead of a file, so that nothing is written to disk and an adopted daemon can be checked, too.
"""

# ruff: noqa: PTH100, PTH120, PTH123, SIM105
# pathlib and contextlib alone would add a tenth to its memory.

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # not from typing: that would be more memory
if TYPE_CHECKING or __package__:
    from clew.process.heartbeat import REPORT, Heartbeat, millis, remove, say, write_note
else:  # run as a script: with -I its own folder is not searched, and clew is not installed there
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from heartbeat import REPORT, Heartbeat, millis, remove, say, write_note

    del sys.path[0]

LOCK = "supervisor.lock"
# The file that says why the daemon is not restarted now, during a long pause: when it is (milliseconds), the number of
# deaths, the pid and the exit code of the last one (negative: a signal), and in the next line its last words.
GAVE_UP = "gave-up"

QUICK = 10.0  # a daemon that ends within this many seconds of its start, or is never ready, has crashed quickly
DEATHS = 5  # quick crashes in a row after which the pauses are long, and people are told
PAUSES = (0.0, 0.25, 0.5, 1.0)  # seconds before the next start, after one quick crash, two, …
LONG_PAUSES = (60.0, 300.0, 900.0)  # the same, after DEATHS quick crashes, one more, …
LOOK = 1.0  # seconds between two polls, if the system cannot wake us
LOCK_TIMEOUT = 0.5  # seconds; whoever checks whether a lock is free takes it for a moment
SIZE = 192  # bytes of a note: each write replaces the one before completely
WORDS = 400  # characters of a daemon's last line that are shown
ARMED = "CLEW_CRASH"  # for the first daemon only, or it would crash for ever


class StopRequested(Exception):
    """We got SIGTERM."""


class SignalWaiter:
    """Waits for file descriptors and signals. Signals take effect only here, so that nothing is left half done."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._out, self._in = os.pipe()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._request_stop)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _request_stop(self, number: int, frame: object) -> None:
        self.stop_requested = True

    def wait(self, others: list[int], timeout: float | None) -> list[int]:
        """Wait, and return which of the others can be read. Raises StopRequested."""
        ready = [] if self.stop_requested else select.select([self._out, *others], [], [], timeout)[0]
        if self._out in ready:
            ready.remove(self._out)
            os.read(self._out, 4096)
        if self.stop_requested:
            raise StopRequested
        return ready


class Supervisor:
    def __init__(self, home: str, heartbeat: Heartbeat, ready: int, command: list[str]) -> None:
        self._home = home
        self._heartbeat = heartbeat
        self._ready = ready  # -1 after the process that started us got its report
        self._command = command
        self._lock = os.open(f"{home}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._me = _process_ref(os.getpid())
        self._pipe = -1  # in which our daemon reports that it is ready
        self._was_ready = False
        self._stderr_start = 0  # the size of stderr when the daemon started
        self._start_error = ""  # why no daemon can be started now
        self._exit = 0  # the exit code of the last daemon; negative: a signal
        self.signals: SignalWaiter

    def take(self) -> bool:
        """Take the lock. False: there is another supervisor, or nobody waits for a daemon any more."""
        if not _lock_with_timeout(self._lock):
            self._report(b'{"error": {"code": "store_held", "message": "another supervisor is there"}}\n')
            return False
        self.signals = SignalWaiter()
        self._note(0)
        self._report(b" ", more=True)
        return self._ready >= 0  # else the process that started us was interrupted, and nobody waits for a daemon

    def keep(self, adopted: int) -> None:
        """Run and restart the daemon until it is stopped on purpose. Raises StopRequested."""
        deaths = 0
        is_first = not adopted
        while True:
            began = time.monotonic()
            pid, end = self._adopt(adopted) if adopted else self._start()
            if (pid and self._was_stopped(pid)) or (is_first and not self._was_ready):
                return  # in the second case, the process that started us got the reason
            if pid:
                is_quick = not self._was_ready or time.monotonic() - began < QUICK
                deaths = deaths + 1 if is_quick else 0
            if pid and deaths >= DEATHS:
                self._pause_long(pid, end, deaths)
            elif pid:
                say(f"the daemon, pid {pid}, {end}; bringing it back")
                self._pause(PAUSES[min(max(deaths - 1, 0), len(PAUSES) - 1)])
            else:
                self._pause(LOOK)
            if not self._wait_for_the_store():
                return
            adopted, is_first = 0, False

    def _start(self) -> tuple[int, str]:
        """Start a daemon and wait for its end. Pid 0: none could be started, because the system is short of a resource,
        as after an out-of-memory kill. That is no crash, so the caller tries again for as long as it takes."""
        self._was_ready = False
        self._stderr_start = os.fstat(2).st_size
        try:
            pid = self._spawn()
        except OSError as error:
            self._report_start_error(error.strerror or str(error))
            return 0, ""
        self._start_error = ""
        os.environ.pop(ARMED, None)
        self._heartbeat.begin(pid)
        while (status := _reap(pid)) is None:
            self._listen(self._wait(pid, [self._pipe] if self._pipe >= 0 else []))
        self._heartbeat.begin(0)
        self._drain_pipe()
        self._exit = os.waitstatus_to_exitcode(status)
        return pid, _describe_exit(self._exit)

    def _wait(self, pid: int, others: list[int], timeout: float = REPORT) -> list[int]:
        """Wait, and return which of the others can be read. Ends a daemon that hangs. Raises StopRequested."""
        ready = self.signals.wait([*others, *self._heartbeat.handles()], min(timeout, self._heartbeat.next_check_in()))
        if (number := self._heartbeat.look(ready)) and self._holds_lock(pid) and not self._is_free():
            _kill(pid, number)
            _kill(pid, signal.SIGCONT)  # a stopped process handles no other signal
        return [each for each in ready if each in others]

    def _report_start_error(self, what: str) -> None:
        """Log the error once, however often the start is tried."""
        if what != self._start_error:
            say(f"the daemon cannot be started: {what}")
            self._start_error = what

    def _spawn(self) -> int:
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
        """Fork a child that waits until we have recorded its pid; before that it ends with us. SIGTERM is blocked in it
        until our handlers are removed."""
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
                self._exec_daemon(word)
        finally:
            os._exit(127)

    def _exec_daemon(self, word: int) -> None:
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
        """Forward what the daemon reports about its start. The end of the pipe is reported only after the daemon has
        ended: a dying process closes its pipe while it still looks alive."""
        if self._pipe not in ready:
            return
        if news := os.read(self._pipe, 65536):
            self._was_ready = self._was_ready or b'"ready"' in news
            self._report(news, more=not news.endswith(b"\n"))
        else:
            os.close(self._pipe)
            self._pipe = -1

    def _drain_pipe(self) -> None:
        """Read the rest of the pipe without waiting: a leftover child may hold it open."""
        while self._pipe >= 0 and select.select([self._pipe], [], [], 0)[0]:
            self._listen([self._pipe])
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        self._report(b"")

    def _report(self, news: bytes, more: bool = False) -> None:
        if self._ready < 0:
            return
        try:
            os.write(self._ready, news)
        except OSError:
            more = False  # the process that started us has gone
        if not more:
            os.close(self._ready)
            self._ready = -1

    def _adopt(self, pid: int) -> tuple[int, str]:
        """Wait for the end of a daemon that another process has started, if it holds the lock."""
        watch = _watch(pid)
        self._note(pid)
        self._report(b'{"ready": true}\n')
        self._was_ready = True
        self._stderr_start = os.fstat(2).st_size
        os.environ.pop(ARMED, None)
        try:
            if not self._is_free() and self._holds_lock(pid):
                self._heartbeat.begin(pid)
                while not self._has_ended(pid, watch):
                    pass
        finally:
            self._heartbeat.begin(0)
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
            self.signals.wait([], left)

    def _wait_for_the_store(self) -> bool:
        """Wait while another process holds the lock, such as `clew notify`. False: it was a daemon, and was stopped."""
        if self._is_free():
            return True
        while not self._is_free():
            self._pause(LOOK)
        return b'"stopping": true' not in self._holder()

    def _is_free(self) -> bool:
        try:
            handle = os.open(f"{self._home}/clew.lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        except OSError:
            return False  # unknown
        try:
            return _try_lock(handle, fcntl.LOCK_SH)  # shared, so that two checks do not see each other
        finally:
            os.close(handle)

    def _holder(self) -> bytes:
        while True:
            try:
                with open(f"{self._home}/clew.lock", "rb", 0) as file:
                    return file.read()
            except FileNotFoundError:
                return b""
            except OSError:
                self._pause(LOOK)  # unreadable now, which does not mean empty

    def _holds_lock(self, pid: int) -> bool:
        return b'"pid": %d,' % pid in self._holder()

    def _was_stopped(self, pid: int) -> bool:
        return self._holds_lock(pid) and b'"stopping": true' in self._holder()

    def _note(self, daemon: int) -> None:
        line = b'{"supervisor": %s, "daemon": %s}' % (self._me, _process_ref(daemon) if daemon else b"null")
        try:
            os.pwrite(self._lock, line.ljust(SIZE), 0)
        except OSError:
            pass  # a full disk: running is more important than the note

    def _pause_long(self, pid: int, end: str, deaths: int) -> None:
        """Pause, and say why: in the log once in full, and in a note for people who ask meanwhile."""
        seconds = LONG_PAUSES[min(deaths - DEATHS, len(LONG_PAUSES) - 1)]
        last_words = _last_words(self._stderr_start)
        shown = f": {last_words}" if last_words else ""
        why = f"the daemon died {deaths} times in a row; the last one, pid {pid}, {end}{shown}"
        if deaths == DEATHS:
            minutes = ", ".join(f"{pause / 60:.0f}" for pause in LONG_PAUSES)
            say(f"{why}. It is tried again after {minutes} min, and so on")
        else:
            say(f"the daemon, pid {pid}, {end}; the next try is in {seconds / 60:.0f} min")
        note = f"{self._home}/run/{GAVE_UP}"
        facts = b"%d %d %d %d" % (millis() + int(seconds * 1000), deaths, pid, self._exit)
        write_note(note, b"%s\n%s" % (facts, last_words.encode()))
        try:
            self._pause(seconds)
        finally:
            remove(note)


def _process_ref(pid: int) -> bytes:
    """JSON that identifies a process: its pid and start time; if that cannot be read, the current time, since the
    process has just started."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            started = file.read().rpartition(b")")[2].split()[19]
    except OSError:
        started = b""
    return b'{"pid": %d, "started": "%s", "since": %d}' % (pid, started, millis())


def _watch(pid: int) -> int:
    """A descriptor that becomes readable when the process ends; -1: not supported, or it has ended."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError:
            return -1
    return -1


def _reap(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return status if ended else None


def _describe_exit(code: int) -> str:
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {_name(-code)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(begin: int) -> str:
    said = os.pread(2, 1 << 16, max(begin, os.fstat(2).st_size - (1 << 16))).decode("utf-8", "replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:WORDS] if lines else ""


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended


def _try_lock(handle: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_with_timeout(handle: int) -> bool:
    until = time.monotonic() + LOCK_TIMEOUT
    while not _try_lock(handle):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _detach() -> None:
    """Fork, and go on in the child in its own session."""
    if os.fork():
        os._exit(0)
    os.setsid()


def main(home: str, socket: str, hang: str, ready: str, adopted: str, *command: str) -> None:
    _detach()
    os.set_inheritable(int(ready), False)
    supervisor = Supervisor(home, Heartbeat(f"{home}/run", socket, float(hang)), int(ready), list(command))
    try:
        if supervisor.take():
            supervisor.keep(int(adopted))
    except StopRequested:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
