"""Keeps one agent program that outlives the daemon. Run as a script of its own, by `python -I -S`, so that it stays as
small as the supervisor: it imports nothing of clew, and only what Python has in memory anyway.

    keeper.py RECORD DAEMON LOG READY KEEP_ALIVE SOCKET ABOUT LOOK… -- COMMAND…

RECORD is its file: who holds the lock on it is the keeper, and in it stands which program it keeps. DAEMON is the lock
of the home's daemon, LOG where the program's stderr goes, READY a pipe for its word that the program is begun, SOCKET
where that listens, ABOUT what else the record says (JSON without its braces). COMMAND is the program; LOOK tells, by
exit code 0, that it still works on something, and by 3 that it does not.

The program ends with its keeper, and the keeper with its program. Where no daemon was there for KEEP_ALIVE seconds, and
it worked on nothing meanwhile, it is ended with all that it has begun; and where none was there for 48 times as long,
whatever it works on: it may be at something that never ends. The keeper decides nothing else: SIGTERM is for the
program, and left to it.
"""

# ruff: noqa: PTH105, PTH116, PTH123, PTH208, SIM105
# pathlib and contextlib alone would be a tenth of its memory.

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time

TAKING = 1.0  # seconds: who only looks whether it is kept holds its lock for a moment
LONGEST = 48  # times keep_alive without a daemon, at most
LOOKS = 6  # in the time of keep_alive
LOOKING = 30.0  # seconds that a look may take
IDLE = 3  # exit code of a look: it works on nothing
DRAINING = 2.0  # seconds between two signals to a program that is to end; it works on nothing
ENDING = 2.0  # seconds in which what it has begun must have ended
MARK = "CLEW_CHILD"  # in the environment
SIZE = 2048  # bytes of a record: each write covers the one before as a whole
LOGGED = 1 << 20  # bytes of stderr that are kept; as much again of what was before
LAST, WORDS = 20, 400  # lines that are its last words, and characters of each


class Stderr:
    """What the program says there goes to the log, and to nobody else; its last words are kept."""

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
            self._see_to_log()
            os.write(self._log, piece)
        except OSError:
            pass  # a full disk does not hold it up

    def drain(self) -> None:
        while select.select(self.open, [], [], 0)[0]:
            self.pump()

    def last_words(self) -> list[str]:
        lines = self._last.decode("utf-8", "replace").splitlines()[-LAST:]
        return [line.strip()[:WORDS] for line in lines if line.strip()]

    def _see_to_log(self) -> None:
        """One that is full is put aside, or else emptied. The old one is let go last: where anything fails, the number
        still means this log and no other file."""
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
        """Somebody may have taken it away, or another keeper, whose log it is too, put it aside."""
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
        self._names = ""
        self._out, self._in = os.pipe()

    def take(self) -> bool:
        """Whether we are its keeper now. If not, there is another one."""
        until = time.monotonic() + TAKING
        while not _try(self._record, fcntl.LOCK_EX):
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
                _become(command, self._stderr.theirs, me)
            finally:
                os._exit(127)
        os.close(self._stderr.theirs)
        self._names = f'"keeper": {_name(me)}, "program": {_name(pid)}, {self._about}'
        self._note("", [])
        return pid

    def keep(self, pid: int, look: list[str]) -> None:
        """To its end, by itself or by us."""
        pause = max(self._keep_alive / LOOKS, 0.05)
        needed = attended = tick = time.monotonic()
        while not self._has_ended(pid, max(0.0, tick + pause - time.monotonic())):
            if time.monotonic() < tick + pause:
                continue
            tick = time.monotonic()
            if self._is_attended():
                needed = attended = tick
            elif tick - attended >= self._keep_alive * LONGEST:
                self._give_up(pid, tick - attended)
            elif self._works(look):
                needed = tick
            elif tick - needed >= self._keep_alive:
                self._give_up(pid, tick - attended)

    def _give_up(self, pid: int, alone: float) -> None:
        _say(f"no daemon has come back for {alone:.0f} s: pid {pid} is ended")
        self._end(pid)
        _end_others()

    def _end(self, pid: int) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            os.kill(pid, number)
            until = time.monotonic() + DRAINING
            while (left := until - time.monotonic()) > 0:
                if self._has_ended(pid, left):
                    return

    def _has_ended(self, pid: int, patience: float) -> bool:
        """Whether it has, by the time that something happens, or has waited so long."""
        if self._is_over(pid):
            return True
        self._listen(patience)
        return self._is_over(pid)

    def _listen(self, patience: float) -> None:
        """To the end of a child, and to what the program says: nobody else does."""
        ready = select.select([self._out, *self._stderr.open], [], [], patience)[0]
        if self._out in ready:
            os.read(self._out, 4096)
        if set(ready) & set(self._stderr.open):
            self._stderr.pump()

    def _is_over(self, pid: int) -> bool:
        if self._names == "":
            return True
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            return False
        self._stderr.drain()
        self._note(_fate(status), self._stderr.last_words())
        self._names = ""
        for remove, path in ((os.unlink, self._socket), (os.rmdir, self._socket.rpartition("/")[0])):
            try:
                remove(path)
            except OSError:
                pass  # it has taken it along; and only a folder that was made for it is empty
        return True

    def _is_attended(self) -> bool:
        """Whether a daemon is there, or at least somebody who holds its lock."""
        try:
            handle = os.open(self._daemon, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not _try(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)

    def _works(self, look: list[str]) -> bool:
        """Asked by a program that can speak to it; it lives as long as the question. Where that cannot be run, as when
        it is just being replaced by a newer one, nothing is known, and so it works."""
        try:
            pid = os.posix_spawn(look[0], look, os.environ, setsid=True, file_actions=_silent())
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
            self._listen(1.0)

    def _note(self, fate: str, words: list[str]) -> None:
        said = ", ".join(map(_quoted, words))
        note = f'{{{self._names}, "fate": {_quoted(fate)}, "words": [{said}]}}'
        os.pwrite(self._record, note.encode().ljust(SIZE), 0)


def _become(command: list[str], stderr: int, keeper: int) -> None:
    os.setsid()
    _end_with(keeper)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for ours, theirs in ((nothing, 0), (nothing, 1), (stderr, 2)):
        os.dup2(ours, theirs)
    os.execv(command[0], command)


def _end_with(keeper: int) -> None:
    """Nobody would end it later: without its keeper it is killed at once, where the system can do that."""
    if sys.platform == "linux":
        import ctypes  # in this process only, which is about to become another

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != keeper:
        os._exit(127)


def _end_others() -> None:
    """What the program has begun and left carries our mark as well."""
    until = time.monotonic() + ENDING
    while (left := _others()) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # it has just ended
        time.sleep(0.01)


def _others() -> list[int]:
    mark = f"{MARK}={os.environ.get(MARK)}".encode()
    found = []
    names = os.listdir("/proc") if sys.platform == "linux" else []
    for pid in (int(name) for name in names if name.isdecimal()):
        try:
            with open(f"/proc/{pid}/environ", "rb", 0) as file:
                carries = mark in file.read().split(b"\0")
        except OSError:
            continue  # somebody else's, or gone
        if carries and pid != os.getpid():
            found.append(pid)
    return found


def _silent() -> list[tuple[int, int, str, int, int]]:
    return [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


def _name(pid: int) -> str:
    """What names a process for good: the pid, and the system's word for its beginning."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            started = file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        started = ""
    return f'{{"pid": {pid}, "started": "{started}", "since": {time.time_ns() // 1_000_000}}}'


def _fate(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _quoted(text: str) -> str:
    """As JSON, without what JSON would have to escape."""
    plain = "".join(letter if letter >= " " and letter not in '"\\' else " " for letter in text)
    return f'"{plain.strip()}"'


def _say(words: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        os.write(2, f"{stamp} keeper: {words}\n".encode())
    except OSError:
        pass  # a full disk does not hold it up


def _try(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _detach() -> None:
    """Nobody's child, in a session of its own."""
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
        pass  # who started us has gone; the next one finds it
    keeper.keep(pid, list(rest[:middle]))


if __name__ == "__main__":
    main(*sys.argv[1:])
