"""Brings the daemon back after a crash, and after a hang. Run as a script of its own, by `python -I -S`, so that it
stays very small: it imports nothing of clew, and only what Python has in memory anyway.

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

# ruff: noqa: PTH105, PTH108, PTH123, SIM105
# pathlib and contextlib alone would be a tenth of its memory.

from __future__ import annotations

import _socket  # `socket` would be a twentieth of its memory
import fcntl
import os
import select
import signal
import sys
import time

LOCK = "supervisor.lock"
GAVE_UP = "gave-up"  # why, as long as nobody has tried again
HUNG = "hung"  # which daemon does not answer, since when, and when it is restarted

QUICK = 10.0  # a daemon that ends so many seconds after its start, or is never ready, has died quickly
DEATHS = 5  # quick ones in a row, after which it is given up
PAUSES = (0.0, 0.25, 0.5, 1.0)  # seconds before the next start, after one quick death, two, …
LOOK = 1.0  # seconds between looks where the system cannot wake us
PATIENCE = 0.5  # seconds; somebody who looks whether a lock is free takes it for a moment
SIZE = 192  # bytes of a note: each write covers the one before as a whole
WORDS = 400  # characters of a daemon's last words that are kept
REPORT = 60.0  # seconds without an answer, after which that is told; or half of HANG, if that is less
LOOKS = 3  # questions in that time
SLACK = 1.0  # seconds by which we may wake up late
ABORT = 10.0  # seconds that a hung daemon has to write down what it does, before SIGKILL
QUESTION = b"GET /alive HTTP/1.1\r\nHost: clew\r\nConnection: close\r\n\r\n"  # "no such page" is a sign of life, too
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


class Pulse:
    """Whether the daemon answers. The time without an answer is counted only while we run ourselves: after a suspend, a
    stop of both or a starved machine it is counted anew. Where nobody listens nothing is counted: the daemon starts
    (and may have much to migrate), or stops."""

    def __init__(self, run: str, path: str, hang: float) -> None:
        self._note = f"{run}/{HUNG}"
        self._path = path
        self._hang = hang
        self._report = min(REPORT, hang / 2) if hang else REPORT
        self._every = self._report / LOOKS
        self._asked: _socket.socket | None = None
        self._silent = 0.0  # seconds
        self._waits = False
        self.begin(0)

    def begin(self, pid: int) -> None:
        """From now on this daemon is meant; 0: none."""
        self._pid = pid
        self._last = self._next = time.monotonic()
        self._aborted = 0.0  # when
        self._told = True  # whatever was told of another one counts no more
        self._start_anew()

    def handles(self) -> list[int]:
        return [self._asked.fileno()] if self._asked else []

    def patience(self) -> float:
        """Seconds until there is something to do."""
        return max(0.0, self._next - time.monotonic())

    def look(self, ready: list[int]) -> int:
        """What the daemon should be told now: SIGABRT, SIGKILL, or 0 for nothing."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self._asked and self._asked.fileno() in ready:
            self._hear()
        if passed > 2 * self._every + SLACK:
            self._silent, self._told = 0.0, False  # we did not run ourselves
        elif self._waits:
            self._silent += passed
        if now >= self._next:
            self._next = now + self._every
            self._ask()
        return self._judge(now)

    def _ask(self) -> None:
        """One question at a time: one that hung and goes on answers it then."""
        if self._asked:
            return
        try:
            self._asked = _ask(self._path)
            self._waits = True
        except BlockingIOError:  # so many wait there already that it takes nobody in
            self._waits = True
        except OSError:  # nobody listens
            self._start_anew()

    def _hear(self) -> None:
        """Closed without an answer, it has ended, or does something: nothing that hangs closes a connection."""
        assert self._asked is not None
        try:
            heard = self._asked.recv(4096)
        except OSError:
            heard = b""
        if self._told and heard:
            _say(f"the daemon, pid {self._pid}, answers again")
        self._start_anew()

    def _start_anew(self) -> None:
        if self._told:
            _remove(self._note)
        self._silent, self._waits, self._told = 0.0, False, False
        if self._asked:
            self._asked.close()
        self._asked = None

    def _judge(self, now: float) -> int:
        if self._silent >= self._report and not self._told:
            self._tell()
        if self._aborted:
            return signal.SIGKILL if now - self._aborted >= ABORT else 0
        if not self._hang or self._silent < self._hang:
            return 0
        self._aborted = now
        _say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; SIGABRT, to see what it does:")
        return signal.SIGABRT

    def _tell(self) -> None:
        self._told = True
        what = f"it is restarted if it does not within {self._hang:g} s" if self._hang else "it is left alone"
        _say(f"the daemon, pid {self._pid}, has not answered for {self._silent:.0f} s; {what}")
        since = _millis() - int(self._silent * 1000)
        restart = b"%d" % (since + int(self._hang * 1000)) if self._hang else b"null"
        _write(self._note, b'{"pid": %d, "since": %d, "restart": %s}' % (self._pid, since, restart))


class Supervisor:
    def __init__(self, run: str, pulse: Pulse, ready: int, command: list[str]) -> None:
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
                _say(f"the daemon, pid {pid}, {end}; bringing it back")
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
            _say(f"the daemon cannot be started: {what}")
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
            _say(f"{command[0]} cannot be run: {error.strerror}")

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
        _say(f"given up: {why}")
        _write(f"{self._run}/{GAVE_UP}", why.encode())


def _names(pid: int) -> bytes:
    """What names a process for good: the pid, and the system's word for its beginning. Where that is not to be had, the
    time: now, because it has only just begun."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            started = file.read().rpartition(b")")[2].split()[19]
    except OSError:
        started = b""
    return b'{"pid": %d, "started": "%s", "since": %d}' % (pid, started, _millis())


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


def _say(words: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        os.write(2, f"{stamp} supervisor: {words}\n".encode())
    except OSError:
        pass  # a full disk does not hold it up


def _ask(path: str) -> _socket.socket:
    """Ask for a sign of life, and do not wait for it."""
    asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        asked.setblocking(False)
        asked.connect(path)
        asked.send(QUESTION)
    except OSError:
        asked.close()
        raise
    return asked


def _write(path: str, content: bytes) -> None:
    """Whole or not at all."""
    try:
        with open(f"{path}.draft", "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        os.replace(f"{path}.draft", path)
    except OSError:
        pass  # a full disk does not hold it up


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


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


def _millis() -> int:
    return time.time_ns() // 1_000_000


def _detach() -> None:
    """Nobody's child, in a session of its own."""
    if os.fork():
        os._exit(0)
    os.setsid()


def main(run: str, socket: str, hang: str, ready: str, adopted: str, *command: str) -> None:
    _detach()
    os.set_inheritable(int(ready), False)
    supervisor = Supervisor(run, Pulse(run, socket, float(hang)), int(ready), list(command))
    try:
        if supervisor.take():
            supervisor.keep(int(adopted))
    except Told:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
