"""Only the owner can read what clew stores in its home, whatever the umask, and whatever the modes were before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.support import private_files
from clew.support.home import Home
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client

TCP = f'{SCRIPTED}[http]\nport = 0\n[log]\nlevel = "debug"\n'


@pytest.fixture(autouse=True)
def loosest() -> Iterator[None]:
    """A umask of 0: only the rights that clew itself removes are missing."""
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(root: Path) -> dict[str, str]:
    """Each file and folder that others can access; a link has no mode of its own."""
    paths = [root, *root.rglob("*")]
    modes = {str(path.relative_to(root)): path.lstat().st_mode for path in paths}
    return {name: oct(mode) for name, mode in modes.items() if mode & 0o077 and not stat.S_ISLNK(mode)}


def use(clew: Clew, folder: Path) -> None:
    """Do many things that write files in the home."""
    (folder / "notes.txt").write_text("notes")
    clew.up()
    turn = clew.json("start", "!text a secret plan", "--file", str(folder / "notes.txt"))
    clew.wait_ended(turn)
    clew("fork", turn["thread"])
    clew("token")
    Client(clew.home).get("status")


@pytest.mark.process
def test_everything_a_daemon_writes_in_its_home_is_private(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", TCP) as clew:
        use(clew, tmp_path)
        assert readable_by_others(clew.root) == {}
        clew.kill()
        clew.up()
        assert readable_by_others(clew.root) == {}
        clew("down")
        assert readable_by_others(clew.root) == {}
        assert {path.name for path in clew.root.iterdir()} >= {"clew.db", "logs", "files", "run", "scripted", "token"}


@pytest.mark.process
def test_what_agents_write_keeps_the_umask_of_the_person(tmp_path: Path) -> None:
    os.umask(0o027)
    with Clew(tmp_path / "home") as clew:
        pid = clew.up()
        [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Umask")]
        assert line.split()[1] == "0027"


@pytest.mark.process
def test_a_readable_home_is_made_private_at_start_and_nothing_else_changes(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", TCP) as clew:
        use(clew, tmp_path)
        clew("down")
        for path in [clew.root, *clew.root.rglob("*")]:
            path.chmod(path.lstat().st_mode | 0o055)
        own, outside, work = clew.root / "notes.txt", tmp_path / "outside.txt", clew.root / "workspace" / "a.txt"
        for path in (own, outside, work):
            path.write_text("a person's own")
            path.chmod(0o644)
        (clew.home.files / "link").symlink_to(outside)
        (clew.home.files / "folder").symlink_to(tmp_path)
        tmp_path.chmod(0o755)
        clew.up()
        assert set(readable_by_others(clew.root)) == {"notes.txt", "workspace", "workspace/a.txt"}
        assert [stat.S_IMODE(path.stat().st_mode) for path in (own, outside, work, tmp_path)] == [0o644] * 3 + [0o755]
        *_, line = [line for line in clew.home.log.read_text().splitlines() if "their rights were removed" in line]
        assert str(clew.home.config) in line or "more" in line


def test_making_a_home_private_twice_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    home.config.write_text("")
    home.config.chmod(0o644)
    assert private_files.make_private(home) == [home.config]
    assert private_files.make_private(home) == []


def test_folders_on_the_way_are_private_too(tmp_path: Path) -> None:
    private_files.make_folder(tmp_path / "a" / "b")
    private_files.write(tmp_path / "a" / "b" / "c", b"c")
    assert readable_by_others(tmp_path / "a") == {}
