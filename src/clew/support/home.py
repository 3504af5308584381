"""The one folder that holds clew's state: `$CLEW_HOME`, by default `~/.clew`."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
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
        root = Path(environ.get("CLEW_HOME") or "~/.clew").expanduser().absolute()
        if root.exists() and not root.is_dir():
            raise StoreError(f"{root} is not a folder: let CLEW_HOME name one, or unset it")
        return cls(root)

    @classmethod
    def at(cls, folder: str | Path | None) -> Home:
        """The home in that folder; None: as the environment says."""
        return cls.find() if folder is None else cls(Path(folder).expanduser().absolute())

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def database(self) -> Path:
        return self.root / "clew.db"

    @property
    def token(self) -> Path:
        """What a program needs to speak to the TCP listener."""
        return self.root / "token"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def log(self) -> Path:
        return self.logs / "clew.log"

    @property
    def files(self) -> Path:
        """What hangs on messages."""
        return self.root / "files"

    @property
    def uploads(self) -> Path:
        """Files that wait for a message that names them."""
        return self.root / "uploads"

    @property
    def run(self) -> Path:
        """What lives as long as a daemon does."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        return self.run / "clew.lock"

    @property
    def socket(self) -> Path:
        """Where the daemon listens."""
        return self.place("clew.sock")

    def place(self, name: str) -> Path:
        """For a socket. A path too long for one is replaced by a short one, in a folder of our own."""
        path = self.run / name
        if len(os.fsencode(path)) <= LONGEST_SOCKET:
            return path
        folder = _short_folder(self.root)
        _refuse_foreign(folder)
        return folder / path.name

    def prepare_socket(self, name: str) -> Path:
        """With its folder, for its owner alone."""
        path = self.place(name)
        _make(path.parent)
        _make_private(path.parent)
        return path

    def prepare(self) -> None:
        """Make the folders. Only what is made here gets its mode; `run` is always for its owner alone."""
        _make(self.root)
        _require_writable(self.root)
        for folder in (self.logs, self.files, self.run, self.socket.parent):
            _make(folder)
        for folder in {self.run, self.socket.parent}:  # asked again: somebody may have been faster than we
            _make_private(folder)


def _short_folder(root: Path) -> Path:
    """The same for every process that uses this home, whatever its environment, and after the person logged out.

    That is why it is not in `$XDG_RUNTIME_DIR`: a cron job has none, and it vanishes at the last logout.
    """
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return _temp_folder() / f"clew-{os.getuid()}-{name}"


def _temp_folder() -> Path:
    temp = Path("/tmp")
    return temp if os.access(temp, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def remove_socket(path: Path) -> None:
    """The socket, and the folder that was made only for it; any other folder is not empty, and stays."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _refuse_foreign(folder: Path) -> None:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StoreError(f"{folder} is not a folder of yours, so the socket cannot be there. Set a shorter CLEW_HOME.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(f"{folder} cannot be made: a file is in its place. Move it, or set CLEW_HOME.") from error
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}. Set CLEW_HOME to a folder of yours.") from error


def _make_private(folder: Path) -> None:
    try:
        folder.chmod(0o700)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made private: {error.strerror}. It must belong to you.") from error


def _require_writable(root: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise StoreError(f"{root} cannot be written: {error.strerror}; {remedy(error)}") from error


def remedy(error: OSError) -> str:
    """What to do where a home cannot be written."""
    if error.errno == errno.EROFS:
        return "mend its disk, which can only be read now, or set CLEW_HOME to another folder"
    if error.errno == errno.ENOSPC:
        return "free some space, or set CLEW_HOME to another folder"
    return "set CLEW_HOME to a folder of yours, or make this one yours"
