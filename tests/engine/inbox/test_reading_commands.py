"""Chat commands that show what happened, or send a file of the thread's folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.model.messages import Accepted, Fate, Person, Role
from clew.model.surface import Outgoing, Receipt, SurfaceCan
from clew.store import Tx
from clew.store.tables import people
from tests.helpers.rig import Rig, Room

CAN = SurfaceCan(chat=True, files=100_000)


async def admit(rig: Rig) -> None:
    def body(tx: Tx) -> None:
        for role in Role:
            people.add(tx, Person("room", str(role), str(role), role, 0, "test"))

    await rig.store.write(body)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Rig(tmp_path, room=Room(can=CAN), config=Config(threads=ThreadsConfig(runtime="scripted"))) as rig:
        await admit(rig)
        yield rig


async def say(rig: Rig, text: str, role: Role = Role.OWNER, **more: object) -> Accepted:
    return await rig.say(text, sender_id=str(role), **more)  # type: ignore[arg-type]


async def words(rig: Rig, text: str, role: Role = Role.OWNER, fate: Fate = Fate.COMMAND, **more: object) -> str:
    accepted = await say(rig, text, role, **more)
    assert accepted.fate is fate, accepted
    return accepted.words


async def sent_file(rig: Rig) -> Outgoing:
    entry = await rig.until(lambda entry: entry.kind == "delivery.sent" and ":file:" in str(entry.data["delivery"]))
    return next(sent for sent in rig.room.sent if sent.id == entry.data["delivery"])


class Reading(Room):
    """Reads a file when it is sent, as a platform does."""

    data = b""

    async def send(self, outgoing: Outgoing) -> Receipt:
        if outgoing.file is not None:
            self.data = Path(outgoing.file.path).read_bytes()
        return await super().send(outgoing)


async def test_a_file_of_the_folder_is_sent_and_its_copy_deleted(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "主程序.py").write_text("print('你好')")
    room = Reading(can=CAN)
    async with Rig(tmp_path, room=room) as rig:
        await admit(rig)
        await say(rig, "!text one")
        assert "主程序.py" in await words(rig, "/file src/主程序.py", Role.DRIVER)
        sent = await sent_file(rig)
        assert (sent.kind, sent.file is not None and sent.file.name) == ("file", "主程序.py")
        assert room.data.decode() == "print('你好')"


async def test_a_repeated_command_sends_the_file_once(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    await say(rig, "!text one")
    for _ in range(2):
        assert (await say(rig, "/文件 a.txt", id="m1")).fate is Fate.COMMAND
    await sent_file(rig)
    assert [str(sent.kind) for sent in rig.room.sent].count("file") == 1


async def test_a_file_that_was_not_sent_before_a_crash_is_sent_by_the_next_daemon(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with Rig(tmp_path, room=Room(can=CAN, hold=asyncio.Event())) as rig:
        await admit(rig)
        await say(rig, "!text one")
        await words(rig, "/file a.txt")
    room = Reading(can=CAN)
    async with Rig(tmp_path, room=room) as rig:
        await rig.hasten()
        await sent_file(rig)
        assert room.data == b"a"


async def test_only_plain_files_inside_the_folder_are_sent(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret.txt").write_text("s")
    (work / ".env").write_text("KEY=1")
    (work / "empty").write_text("")
    (work / "large").write_bytes(b"x" * 100_001)
    (work / "out").symlink_to(tmp_path / "secret.txt")
    (work / "folder").symlink_to(tmp_path)
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("c")
    os.mkfifo(work / "pipe")
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await admit(rig)
        await words(rig, f"/dir {work}")
        await say(rig, "!text one")
        for path, why in {
            "../secret.txt": "not in this thread's folder",
            str(tmp_path / "secret.txt"): "not in this thread's folder",
            "/etc/passwd": "not in this thread's folder",
            "out": "not in this thread's folder",
            "folder/secret.txt": "not in this thread's folder",
            ".env": "begins with a dot",
            ".git/config": "begins with a dot",
            "empty": "is empty",
            "large": "larger",
            "pipe": "not there",
            ".": "not there",
            "nowhere": "not there",
            "a\0b": "not there",
        }.items():
            told = await words(rig, f"/file {path}", fate=Fate.REFUSED)
            assert why in told or path == "large", (path, told)
        assert not any(sent.file for sent in rig.room.sent)


async def test_a_watcher_or_stranger_gets_no_file_and_nothing_is_copied(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    await say(rig, "!text one")
    assert "You may look on" in await words(rig, "/file a.txt", Role.WATCHER, Fate.REFUSED)
    assert (await rig.say("/file a.txt", sender_id="nobody")).fate is Fate.REFUSED
    assert not (tmp_path / "files").exists() or not list((tmp_path / "files").iterdir())


async def test_a_chat_that_takes_no_files_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        await admit(rig)
        await say(rig, "!text one")
        assert "takes no files" in await words(rig, "/file a.txt", fate=Fate.REFUSED)


async def test_changes_are_shown_as_text_or_sent_as_a_file(rig: Rig) -> None:
    assert "No thread is bound here" in await words(rig, "/diff", fate=Fate.REFUSED)
    first = await say(rig, "!text one")
    await rig.ended(first.turn)
    assert "reported no changes" in await words(rig, "/diff", Role.WATCHER)
    for number in range(2):
        await words(rig, "/policy trusted")
        await rig.ended((await say(rig, f"!patch note{number}.txt hello ```there\n!text done")).turn)
    shown = await words(rig, "/改动", Role.WATCHER)
    assert shown.startswith("````diff\n") and shown.index("note0.txt") < shown.index("note1.txt")
    long = "x" * 3000
    await rig.ended((await say(rig, f"!patch big.txt {long}\n!text done")).turn)
    assert await words(rig, "/diff")
    sent = await sent_file(rig)
    assert sent.file is not None and sent.file.name == "changes.diff"


async def test_history_shows_the_newest_messages_shortly(rig: Rig) -> None:
    first = await say(rig, "!text one")
    await rig.ended(first.turn)
    for number in range(6):
        await rig.ended((await say(rig, f"!text answer {number} {'长' * 300}")).turn)
    lines = (await words(rig, "/history", Role.WATCHER)).splitlines()
    assert len(lines) == 8 and lines[-1].startswith("scripted: answer 5") and all(len(line) < 260 for line in lines)
    assert "这里还没有会话" in await words(rig, "/历史", fate=Fate.REFUSED, room="b")
