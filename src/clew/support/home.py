"""The one folder that holds clew's state: `$CLEW_HOME`, by default `~/.clew`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clew.support.errors import StoreError

LONGEST_SOCKET = 100  # bytes; the kernels take 104 (macOS) or 108 (Linux)


class Home(Struct, frozen=True):
    root: Path

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> Home:
        from clew.support.coded import worded  # only an error needs it

        root = Path(environ.get("CLEW_HOME") or "~/.clew").expanduser().absolute()
        blocking = next((path for path in (root, *root.parents) if path.exists()), root)
        if blocking.exists() and not blocking.is_dir():
            raise StoreError(
                worded(
                    "process.not_a_folder",
                    "{blocking} is not a folder. Set CLEW_HOME to a folder, or unset it.",
                    blocking=f"{blocking}",
                )
            )
        return cls(root)

    @classmethod
    def at(cls, folder: str | Path | None) -> Home:
        """The home in this folder; None: the home that the environment names."""
        return cls.find() if folder is None else cls(Path(folder).expanduser().absolute())

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def database(self) -> Path:
        return self.root / "clew.db"

    @property
    def token(self) -> Path:
        """The file with the token for the TCP listener."""
        return self.root / "token"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def log(self) -> Path:
        return self.logs / "clew.log"

    @property
    def files(self) -> Path:
        """Files attached to messages."""
        return self.root / "files"

    @property
    def uploads(self) -> Path:
        """Uploaded files that no message names yet."""
        return self.root / "uploads"

    @property
    def run(self) -> Path:
        """Files that exist only while a daemon runs. It can be removed at any time."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        """The lock of the store. It is beside the database: whoever removes `run` does not remove it."""
        return self.root / "clew.lock"

    @property
    def supervisor_lock(self) -> Path:
        return self.root / "supervisor.lock"

    @property
    def former_locks(self) -> tuple[Path, Path]:
        """Where earlier versions had the locks of the supervisor and of the store. One of theirs may still run."""
        return self.run / "supervisor.lock", self.run / "clew.lock"

    @property
    def socket(self) -> Path:
        """Where the daemon listens."""
        return self.place("clew.sock")

    def place(self, name: str) -> Path:
        """The path of a socket. A path that is too long for a socket is replaced by a short one in a private folder."""
        path = self.run / name
        if len(os.fsencode(path)) <= LONGEST_SOCKET:
            return path
        folder = _short_folder(self.root)
        _refuse_foreign(folder)
        return folder / path.name

    def prepare_socket(self, name: str) -> Path:
        """The same, after making its folder, private to its owner."""
        path = self.place(name)
        _make(path.parent)
        _make_private(path.parent)
        return path

    def prepare(self) -> None:
        """Make the folders. Existing folders keep their mode, except `run`, which is always private."""
        _make(self.root)
        _require_writable(self.root)
        for folder in (self.logs, self.files, self.run, self.socket.parent):
            _make(folder)
        for folder in {self.run, self.socket.parent}:  # another process may have made it just before us
            _make_private(folder)


def _short_folder(root: Path) -> Path:
    """A short folder for sockets, the same for every process that uses this home.

    It is not in `$XDG_RUNTIME_DIR`: a cron job has none, and it is removed at the last logout.
    """
    import hashlib  # rarely needed, and every command imports this module

    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return _temp_folder() / f"clew-{os.getuid()}-{name}"


def _temp_folder() -> Path:
    temp = Path("/tmp")
    if os.access(temp, os.W_OK | os.X_OK):
        return temp
    import tempfile

    return Path(tempfile.gettempdir())


def remove_socket(path: Path) -> None:
    """Remove a socket, and its folder if that is empty: then it was made only for the socket."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _refuse_foreign(folder: Path) -> None:
    from clew.support.coded import worded  # only an error needs it

    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StoreError(
            worded(
                "process.no_socket_there",
                "{folder} is not a folder that you own: no socket can be there. Set a shorter CLEW_HOME.",
                folder=f"{folder}",
            )
        )


def _make(folder: Path) -> None:
    from clew.support.coded import worded  # only an error needs it

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(
            worded(
                "process.file_in_place",
                "{folder} cannot be made: a file is in its place. Move it, or set CLEW_HOME.",
                folder=f"{folder}",
            )
        ) from error
    except OSError as error:
        raise StoreError(
            worded(
                "process.cannot_make",
                "{folder} cannot be made: {error}. Set CLEW_HOME to a folder of yours.",
                folder=f"{folder}",
                error=error.strerror or "",
            )
        ) from error


def _make_private(folder: Path) -> None:
    from clew.support.coded import worded  # only an error needs it

    try:
        folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            worded(
                "process.cannot_be_private",
                "{folder} cannot be made private: {error}. It must belong to you.",
                folder=f"{folder}",
                error=error.strerror or "",
            )
        ) from error


def _require_writable(root: Path) -> None:
    import tempfile

    from clew.support.coded import worded  # only an error needs it

    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise StoreError(
            worded(
                "process.cannot_write",
                "{root} cannot be written: {error}; {remedy}",
                root=f"{root}",
                error=error.strerror or "",
                remedy=remedy(error),
            )
        ) from error


def remedy(error: OSError) -> str:
    """What to do if a home cannot be written."""
    from clew.support.coded import worded  # only an error needs it

    if error.errno == errno.EROFS:
        return worded(
            "process.remedy_read_only", "repair its disk, which is read-only now, or set CLEW_HOME to another folder"
        )
    if error.errno == errno.ENOSPC:
        return worded("process.remedy_full", "free some space, or set CLEW_HOME to another folder")
    return worded("process.remedy_owner", "set CLEW_HOME to a folder of yours, or make this one yours")
