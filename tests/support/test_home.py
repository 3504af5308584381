from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.process import lock
from clew.support.errors import StoreError
from clew.support.home import LONGEST_SOCKET, Home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def short() -> Iterator[Home]:
    """A home whose socket path is short enough, whatever the temp folder of the test is called."""
    folder = Path(tempfile.mkdtemp(prefix="clew-", dir="/tmp"))
    yield Home(folder / "home")
    shutil.rmtree(folder)


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / ("long" * 30))
    folder = home.socket.parent
    yield home
    shutil.rmtree(folder, ignore_errors=True)


def test_the_home_is_named_by_the_environment(tmp_path: Path) -> None:
    assert Home.find({"CLEW_HOME": str(tmp_path)}).root == tmp_path
    assert Home.find({"CLEW_HOME": "~/threads"}).root == Path.home() / "threads"


@pytest.mark.parametrize("environ", [{}, {"CLEW_HOME": ""}])
def test_without_a_name_it_is_in_the_persons_folder(environ: dict[str, str]) -> None:
    assert Home.find(environ).root == Path.home() / ".clew"


def test_a_relative_home_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Home.find({"CLEW_HOME": "here"}).root == tmp_path / "here"


def test_all_state_lies_in_the_home(short: Home) -> None:
    paths = (short.config, short.database, short.logs, short.log, short.files, short.run, short.lock, short.socket)
    assert all(path.is_relative_to(short.root) for path in paths)


def test_created_folders_and_files_are_private(short: Home) -> None:
    short.prepare()
    assert {mode(path) for path in (short.root, short.logs, short.files, short.run)} == {0o700}


def test_preparing_twice_changes_nothing(short: Home) -> None:
    short.prepare()
    short.config.write_text("")
    short.prepare()
    assert short.config.exists()


def test_a_home_that_was_there_keeps_its_mode_but_run_is_made_private(short: Home) -> None:
    short.run.mkdir(parents=True)
    short.root.chmod(0o755)
    short.run.chmod(0o755)
    short.prepare()
    assert (mode(short.root), mode(short.run)) == (0o755, 0o700)


def test_a_socket_path_that_is_too_long_moves_to_a_short_private_folder(long: Home) -> None:
    long.prepare()
    assert len(os.fsencode(long.socket)) <= LONGEST_SOCKET
    assert mode(long.socket.parent) == 0o700


def test_every_process_finds_the_same_short_socket(long: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    here = long.socket
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/4711")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    assert Home(long.root).socket == here


def test_two_long_homes_have_two_sockets(long: Home) -> None:
    assert Home(long.root / "other").socket != long.socket


def test_a_symlink_in_place_of_the_short_folder_is_refused(long: Home, tmp_path: Path) -> None:
    folder = long.socket.parent
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(StoreError, match="not a folder that you own"):
            long.prepare()
    finally:
        folder.unlink()


def test_a_short_folder_of_somebody_else_is_refused(long: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = long.socket.parent
    folder.mkdir()
    me = os.getuid()
    monkeypatch.setattr("clew.support.home._short_folder", lambda root: folder)
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="not a folder that you own"):
        patch.setattr(os, "getuid", lambda: me + 1)
        long.prepare()


def test_a_file_in_place_of_the_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match=r"home cannot be made: a file is in its place"):
        Home(tmp_path / "home").prepare()


def test_a_home_that_cannot_be_made_is_named() -> None:
    with pytest.raises(StoreError, match=r"/dev/null/home cannot be made.*CLEW_HOME"):
        Home(Path("/dev/null/home")).prepare()


def test_a_home_that_cannot_be_written_is_named(short: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(StoreError, match=r"cannot be written: Read-only file system.*CLEW_HOME"):
        short.prepare()


def test_the_holder_of_a_home_is_seen_on_a_read_only_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, open_ = tmp_path / "lock", os.open

    def read_only(name: Path, flags: int, *more: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system", str(name))
        return open_(name, flags, *more)

    with lock.hold(path, lock.Holder(1, "now", 0)):
        monkeypatch.setattr(os, "open", read_only)
        assert not lock.is_free(path)
    assert lock.is_free(path)
