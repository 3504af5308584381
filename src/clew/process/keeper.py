"""The parent process of one agent program that outlives the daemon (a "kept program"). Run as a script by
`python -I -S`, so that it needs little memory: it imports nothing of clew, only modules that Python has loaded anyway.

    keeper.py RECORD DAEMON LOG READY KEEP_ALIVE SOCKET ABOUT LOOK… -- COMMAND…

RECORD is the record file: the holder of its lock is the keeper, and it names the program. DAEMON is the lock file of
the home's daemon, LOG the file for the program's stderr, READY a pipe in which the keeper reports that it has started
the program, SOCKET the program's socket, ABOUT further fields of the record (JSON without its braces). COMMAND is the
program. LOOK is a probe: its exit code is 0 if the program works on something, and 3 if it does not.

The program ends with its keeper, and the keeper with its program. If no daemon ran for KEEP_ALIVE seconds and the
program did no work meanwhile, the keeper ends it with all its descendants. If no daemon ran for 48 times as long, the
keeper ends it even if it works: the work may never end. The keeper ignores SIGTERM; that is for the program.
"""

# ruff: noqa: PTH105, PTH116, PTH123, PTH208, SIM105
# pathlib and contextlib alone would add a tenth to its memory.

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time

TAKING = 1.0  # seconds to wait for the lock: whoever checks it takes it for a moment
LONGEST = 48  # the longest time without a daemon, in multiples of keep_alive
LOOKS = 6  # probes within keep_alive
LOOKING = 30.0  # timeout of a probe, in seconds
IDLE = 3  # exit code of a probe: the program does no work
DRAINING = 2.0  # seconds between two signals to an idle program that must end
ENDING = 2.0  # seconds within which its descendants must have ended
MARK = "CLEW_CHILD"  # in the environment
SIZE = 2048  # bytes of a record: each write replaces the one before completely
LOGGED = 1 << 20  # bytes after which the log rotates; one old log stays
LAST, WORDS = 20, 400  # how many last lines of stderr are recorded, and characters of each


class Stderr:
    """Copies the program's stderr to the log, and remembers its last lines."""

    def __init__(self, log: str) -> None:
        self._path = log
        self._log = self._open_log()
        self._last = b""
        ours, self.theirs = os.pipe()
        self.open = [ours]  # until it ends

    def pump(self) -> None:
        piece = os.read(self.open[0], 1 << 16)
        if not piece:
            os.close(self.open.pop())
            return
        self._last = (self._last + piece)[-4096:]
        try:
            self._rotate_log()
            os.write(self._log, piece)
        except OSError:
            pass  # a full disk must not block the program

    def drain(self) -> None:
        while select.select(self.open, [], [], 0)[0]:
            self.pump()

    def last_words(self) -> list[str]:
        lines = self._last.decode("utf-8", "replace").splitlines()[-LAST:]
        return [line.strip()[:WORDS] for line in lines if line.strip()]

    def _rotate_log(self) -> None:
        """Rotate a full log; if that fails, empty it. The old descriptor is closed last, so that after an error it is
        still that of this log."""
        try:
            if self._is_there():
                if os.fstat(self._log).st_size <= LOGGED:
                    return
                os.replace(self._path, f"{self._path}.1")
            new, old = self._open_log(), self._log
        except OSError:
            os.ftruncate(self._log, 0)
            return
        self._log = new
        os.close(old)

    def _is_there(self) -> bool:
        """Whether the log has its name. It may have been removed, or rotated by another keeper with the same log."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._log))
        except FileNotFoundError:
            return False

    def _open_log(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


class Keeper:
    def __init__(self, record: str, daemon: str, log: str, keep_alive: float, socket: str, about: str) -> None:
        self._record = os.open(record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._daemon = daemon
        self._log = log
        self._keep_alive = keep_alive
        self._socket = socket
        self._about = about
        self._identity = ""
        self._out, self._in = os.pipe()

    def take(self) -> bool:
        """Take the lock of the record. False: there is another keeper."""
        until = time.monotonic() + TAKING
        while not _try_lock(self._record, fcntl.LOCK_EX):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        os.ftruncate(self._record, 0)
        for end in (self._in, self._out):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        return True

    def start(self, command: list[str]) -> int:
        self._stderr = Stderr(self._log)
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                _exec_program(command, self._stderr.theirs, me)
            finally:
                os._exit(127)
        os.close(self._stderr.theirs)
        self._identity = f'"keeper": {_process_ref(me)}, "program": {_process_ref(pid)}, {self._about}'
        self._note("", [])
        return pid

    def keep(self, pid: int, look: list[str]) -> None:
        """Wait for the program's end, or end it when its time is over."""
        pause = max(self._keep_alive / LOOKS, 0.05)
        needed = attended = tick = time.monotonic()
        while not self._wait_ended(pid, max(0.0, tick + pause - time.monotonic())):
            if time.monotonic() < tick + pause:
                continue
            tick = time.monotonic()
            if self._has_daemon():
                needed = attended = tick
            elif tick - attended >= self._keep_alive * LONGEST:
                self._end_unattended(pid, tick - attended)
            elif self._is_busy(look):
                needed = tick
            elif tick - needed >= self._keep_alive:
                self._end_unattended(pid, tick - attended)

    def _end_unattended(self, pid: int, alone: float) -> None:
        _say(f"no daemon has come back for {alone:.0f} s: pid {pid} is ended")
        self._end(pid)
        _end_descendants()

    def _end(self, pid: int) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            os.kill(pid, number)
            until = time.monotonic() + DRAINING
            while (left := until - time.monotonic()) > 0:
                if self._wait_ended(pid, left):
                    return

    def _wait_ended(self, pid: int, timeout: float) -> bool:
        """Wait for an event or the timeout. True if the program has ended."""
        if self._reaped(pid):
            return True
        self._wait_for_events(timeout)
        return self._reaped(pid)

    def _wait_for_events(self, timeout: float) -> None:
        """Wait for a signal or for output of the program, and copy that."""
        ready = select.select([self._out, *self._stderr.open], [], [], timeout)[0]
        if self._out in ready:
            os.read(self._out, 4096)
        if set(ready) & set(self._stderr.open):
            self._stderr.pump()

    def _reaped(self, pid: int) -> bool:
        if self._identity == "":
            return True
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            return False
        self._stderr.drain()
        self._note(str(os.waitstatus_to_exitcode(status)), self._stderr.last_words())
        self._identity = ""
        for remove, path in ((os.unlink, self._socket), (os.rmdir, self._socket.rpartition("/")[0])):
            try:
                remove(path)
            except OSError:
                pass  # the program has removed it; and a folder that is not empty was not made only for it
        return True

    def _has_daemon(self) -> bool:
        """Whether a daemon runs, or another process holds its lock."""
        try:
            handle = os.open(self._daemon, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not _try_lock(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)

    def _is_busy(self, look: list[str]) -> bool:
        """Whether the program works on something, by running the probe. If the probe cannot be run, for example during
        an upgrade, assume that it does."""
        try:
            pid = os.posix_spawn(look[0], look, os.environ, setsid=True, file_actions=_to_dev_null())
        except OSError:
            return True
        until = time.monotonic() + LOOKING
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status) != IDLE
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return False
            self._wait_for_events(1.0)

    def _note(self, fate: str, words: list[str]) -> None:
        said = ", ".join(map(_quoted, words))
        note = f'{{{self._identity}, "fate": {_quoted(fate)}, "words": [{said}]}}'
        os.pwrite(self._record, note.encode().ljust(SIZE), 0)


def _exec_program(command: list[str], stderr: int, keeper: int) -> None:
    os.setsid()
    _die_with_parent(keeper)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for ours, theirs in ((nothing, 0), (nothing, 1), (stderr, 2)):
        os.dup2(ours, theirs)
    os.execv(command[0], command)


def _die_with_parent(keeper: int) -> None:
    """On Linux, let the kernel kill the program when its keeper dies: nobody else would end it."""
    if sys.platform == "linux":
        import ctypes  # only in this process, which is about to exec

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != keeper:
        os._exit(127)


def _end_descendants() -> None:
    """End what the program has started and left: those processes carry our mark too."""
    until = time.monotonic() + ENDING
    while (left := _marked_processes()) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # it has just ended
        time.sleep(0.01)


def _marked_processes() -> list[int]:
    mark = f"{MARK}={os.environ.get(MARK)}".encode()
    found = []
    names = os.listdir("/proc") if sys.platform == "linux" else []
    for pid in (int(name) for name in names if name.isdecimal()):
        try:
            with open(f"/proc/{pid}/environ", "rb", 0) as file:
                carries = mark in file.read().split(b"\0")
        except OSError:
            continue  # another user's process, or gone
        if carries and pid != os.getpid():
            found.append(pid)
    return found


def _to_dev_null() -> list[tuple[int, int, str, int, int]]:
    return [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


def _process_ref(pid: int) -> str:
    """JSON that identifies a process: its pid and start time."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            started = file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        started = ""
    return f'{{"pid": {pid}, "started": "{started}", "since": {time.time_ns() // 1_000_000}}}'


def _quoted(text: str) -> str:
    """A JSON string. Characters that JSON would escape become blanks."""
    plain = "".join(letter if letter >= " " and letter not in '"\\' else " " for letter in text)
    return f'"{plain.strip()}"'


def _say(words: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        os.write(2, f"{stamp} keeper: {words}\n".encode())
    except OSError:
        pass  # a full disk does not hold it up


def _try_lock(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _detach() -> None:
    """Fork, and go on in the child in its own session."""
    if os.fork():
        os._exit(0)
    os.setsid()


def main(record: str, daemon: str, log: str, ready: str, keep_alive: str, socket: str, about: str, *rest: str) -> None:
    _detach()
    os.set_inheritable(int(ready), False)
    middle = rest.index("--")
    keeper = Keeper(record, daemon, log, float(keep_alive), socket, about)
    if not keeper.take():
        return
    pid = keeper.start(list(rest[middle + 1 :]))
    try:
        os.write(int(ready), b"begun\n")
        os.close(int(ready))
    except OSError:
        pass  # the process that started us has gone; the next daemon finds the program
    keeper.keep(pid, list(rest[:middle]))


if __name__ == "__main__":
    main(*sys.argv[1:])
