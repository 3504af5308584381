"""The home on a separate disk, a real file system in a file: it becomes full, or fails and becomes read-only. Needs
root and `./check --all`."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.crash.conftest import SECRET, System, open_system
from tests.crash.flows import post
from tests.crash.outside import answers, unfinished
from tests.crash.refusals import check, held_turn, letter, refused
from tests.helpers.receivers import post_signed

SIZE = 64 << 20
NEEDED = ("mkfs.ext4", "e2fsck", "losetup", "mount")
NO_ROOM = (503, "clew cannot store this now; send it again")
pytestmark = [
    pytest.mark.process,
    pytest.mark.heavy,
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="programs of Linux, and of root"),
]


@dataclass(frozen=True, slots=True)
class Disk:
    device: str
    place: Path

    def mount(self) -> None:
        run("mount", "-o", "errors=remount-ro", self.device, str(self.place))

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with (self.place / "filler").open("wb", buffering=0) as filler:
            for piece in (1 << 20, 1 << 10, 1):
                try:
                    while True:
                        filler.write(bytes(piece))
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error

    def free(self) -> None:
        (self.place / "filler").unlink()

    def fail(self) -> None:
        """Make the disk fail as after a device error: the kernel refuses all writes, also to open files. The settings
            were written
        before."""
        os.sync()
        Path("/sys/fs/ext4", Path(self.device).name, "trigger_fs_error").write_text("1")

    def mend(self) -> None:
        run("umount", str(self.place))
        subprocess.run(["e2fsck", "-fy", self.device], capture_output=True)
        self.mount()


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    image, home = tmp_path / "image", tmp_path / "home"
    with image.open("wb") as file:
        file.truncate(SIZE)
    home.mkdir()
    device = ""
    try:
        run("mkfs.ext4", "-q", str(image))
        device = run("losetup", "--find", "--show", str(image))
        made = Disk(device, home)
        made.mount()
        yield made
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system of its own can be had here: {error.stderr}")
    finally:
        subprocess.run(["umount", "--lazy", str(home)], stderr=subprocess.DEVNULL)
        if device:
            subprocess.run(["losetup", "--detach", device])


@pytest.fixture
def system(tmp_path: Path, disk: Disk) -> Iterator[System]:
    with open_system(tmp_path) as made:
        yield made


def test_while_the_disk_is_full_messages_are_refused_and_ends_wait(system: System, disk: Disk) -> None:
    held_turn(system)
    http = system.clew.json("status")["daemon"]["http"]
    disk.fill()
    taken = list[str]()
    for number in count():  # the write-ahead log may have space for some of them
        text = f"{number}{'x' * 20_000}"
        try:
            post_signed(http, "x", SECRET, letter(f"n{number}", f"!text {text}", f"room-{number}"))
        except HTTPError as error:
            with error:
                assert error.code == 503
            break
        taken.append(text)
    system.model.release("here")
    assert refused(system, "m2") == NO_ROOM
    assert "free some disk space" in system.clew.run("run", "hello").err
    disk.free()
    last = post(system, "m2", "!text late")
    system.clew.wait_for(last["thread"], "delivery.sent", delivery=f"{last['turn']}:final")
    for number, _ in enumerate(taken):
        accepted = post(system, f"n{number}", "again", f"room-{number}")
        system.clew.wait_for(accepted["thread"], "delivery.sent", delivery=f"{accepted['turn']}:final")
    system.clew("down")
    assert answers(system) == dict.fromkeys(("kept", "late", *taken), 1)
    assert unfinished(system.clew.home.database) == []


def test_a_read_only_disk_is_reported_and_once_mended_the_answer_comes(system: System, disk: Disk) -> None:
    thread = held_turn(system)
    pid = system.clew.pid
    disk.fail()
    system.model.release("here")
    assert refused(system, "m2") == NO_ROOM
    said = system.clew.run("run", "hello")
    assert said.code == 1 and "its disk is full, read-only now, or failing" in said.err
    assert system.clew.json("threads")[0]["id"] == thread, "what is there can be read"
    assert "which can only be read now" in system.clew.run("doctor").out
    assert system.clew.pid == pid and system.hook.deliveries == []
    system.clew("down")
    assert system.clew.alive() == []
    assert "which can only be read now" in system.clew.run("up").err
    disk.mend()
    system.clew.up()
    system.clew.wait_for(thread, "delivery.sent")
    check(system, "kept")
