"""Files that an answer links to: only permitted ones are sent, as they were at the end of the turn, each once."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from clew.engine.delivery.artifacts import MAX_FILES, Artifacts, gather, linked_paths
from clew.engine.progress import Progress, advance
from clew.model.delivery import DeliveryKind, DeliveryState
from clew.model.events import Activity, ActivityKind, Phase
from clew.model.surface import Down, InDoubt, Never, NotSent, SurfaceCan
from clew.store.tables import deliveries
from clew.support.files import read
from clew.testing.surface_stage import PICTURE
from clew.texts import chat_messages
from tests.helpers.disks import BROKEN_DISK, break_file
from tests.helpers.rig import TIMEOUT, Rig, Room

LARGEST = 1000


def made(answer: str, folder: Path, *images: str) -> Artifacts:
    return gather(answer, images, folder / "work", folder / "kept", LARGEST)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("answer", "paths"),
    [
        (
            '![a](a.png) [b](<b c.pdf>) [c](d%20e.csv "title") [d](f(1).zip)',
            ["a.png", "b c.pdf", "d e.csv", "f(1).zip"],
        ),
        ("[`a.md`](/work/a.md) [b](file:///work/b.txt)", ["/work/a.md", "/work/b.txt"]),
        ("[code](a.py) [line](a.md:12) [line](a.md#L3) [site](https://x.org/a.png) [m](mailto:a@b.pdf)", []),
        ("![anything](a.bin) [x](#a.md) [y](//host/a.png)", ["a.bin"]),
        ("`[a](a.png)`\n\n```\n[b](b.png)\n```\n~~~\n[c](c.png)", []),
        (f"[long](/{'a' * 2000}.png)", []),
        ("[" * 50_000 + "](" * 50_000, []),
        ("`" * 50_000, []),
        ("![a](" * 50_000, []),
        ("![a](b(" * 50_000, []),
    ],
)
def test_paths_that_an_answer_links_to(answer: str, paths: list[str]) -> None:
    assert list(linked_paths(answer)) == paths


def test_a_picture_needs_the_magic_bytes_of_its_type(work: Path, tmp_path: Path) -> None:
    (work / "a.png").write_bytes(PICTURE)
    (work / "b.png").write_bytes(b"none")
    found = made("![a](a.png) ![b](b.png)", tmp_path)
    assert [(file.name, file.media_type) for file in found.files] == [
        ("a.png", "image/png"),
        ("b.png", "application/octet-stream"),
    ]
    assert Path(found.files[0].path).read_bytes() == PICTURE and not found.notes


def test_a_file_linked_twice_is_sent_once(work: Path, tmp_path: Path) -> None:
    (work / "a.txt").write_text("a")
    assert len(made(f"[a](a.txt) [a](./a.txt) [a]({work}/a.txt)", tmp_path).files) == 1


def test_two_files_with_one_name_are_both_sent(work: Path, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (work / folder).mkdir()
        (work / folder / "a.txt").write_text(folder)
    files = made("[a](x/a.txt) [a](y/a.txt)", tmp_path).files
    assert [Path(file.path).read_text() for file in files] == ["x", "y"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../secret.txt", chat_messages.FILE_OUTSIDE),
        ("/etc/hosts.txt", chat_messages.FILE_OUTSIDE),
        ("out.txt", chat_messages.FILE_OUTSIDE),
        ("folder/secret.txt", chat_messages.FILE_OUTSIDE),
        ("renamed.txt", chat_messages.FILE_KIND),
        (".env.txt", chat_messages.FILE_KIND),
        (".git/a.txt", chat_messages.FILE_KIND),
        ("id_rsa", chat_messages.FILE_KIND),
        ("gone.txt", chat_messages.FILE_GONE),
        ("pipe.txt", chat_messages.FILE_GONE),
        ("dir.txt", chat_messages.FILE_GONE),
        ("nul%00.txt", chat_messages.FILE_GONE),
        ("empty.txt", chat_messages.FILE_EMPTY),
        ("large.txt", chat_messages.file_too_large(LARGEST + 1, LARGEST)),
    ],
)
def test_files_that_are_not_sent_are_listed_with_a_reason(work: Path, tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "secret.txt").write_text("a key")
    (work / "out.txt").symlink_to(tmp_path / "secret.txt")
    (work / "folder").symlink_to(tmp_path)
    (work / "id_rsa").write_text("a key")
    (work / "renamed.txt").symlink_to(work / "id_rsa")
    (work / ".env.txt").write_text("KEY=1")
    os.mkfifo(work / "pipe.txt")
    (work / "dir.txt").mkdir()
    (work / "empty.txt").touch()
    (work / "large.txt").write_bytes(bytes(LARGEST + 1))
    found = made(f"![it]({path})", tmp_path)
    assert not found.files and [line.partition(": ")[2] for line in found.notes] == [why]


def test_files_beyond_the_limit_are_counted(work: Path, tmp_path: Path) -> None:
    for number in range(MAX_FILES + 2):
        (work / f"{number}.txt").write_text("a")
    found = made(" ".join(f"[a]({number}.txt)" for number in range(MAX_FILES + 2)), tmp_path)
    assert len(found.files) == MAX_FILES and found.notes == (chat_messages.more_files(2, MAX_FILES),)


def test_a_picture_that_the_runtime_made_may_be_anywhere(work: Path, tmp_path: Path) -> None:
    image = tmp_path / ".codex" / "ig_1.png"
    image.parent.mkdir()
    image.write_bytes(PICTURE)
    drawn = Activity("i", ActivityKind.OTHER, Phase.DONE, "imageGeneration", image=str(image))
    images = advance(advance(Progress(), drawn), drawn).images
    assert [file.name for file in made("", tmp_path, *images).files] == ["ig_1.png"]


FILES = SurfaceCan(files=LARGEST)


async def test_a_file_is_sent_as_it_was_at_the_end_of_the_turn(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("as it was")
    room = Room(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        turn = (await rig.say("!text see [a](a.txt) and [b](b.txt)")).turn
        await rig.delivered(f"{turn}:file:1")
        row = await rig.store.read(lambda tx: deliveries.get(tx, f"{turn}:file:1"))
    answer, file = room.sent
    assert chat_messages.file_stays("b.txt", chat_messages.FILE_GONE) in answer.text
    assert file.file is not None and (file.file.name, file.file.media_type) == ("a.txt", "text/plain")
    assert row is not None and row.message_id == "message-2" and row.file == file.file


async def test_the_copy_of_a_file_is_deleted_when_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.engine.engine.LAST_SENDS", TIMEOUT)
    (tmp_path / "a.txt").write_text("a")
    room = Room(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        first = (await rig.say("!text [a](a.txt)")).turn
        await rig.delivered(f"{first}:file:1")
        await rig.engine.drain(TIMEOUT)
        assert not (tmp_path / "files" / f"made-{first}").exists()


async def test_a_copy_that_cannot_be_deleted_is_deleted_by_the_next_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stuck(kept: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(kept))

    (tmp_path / "a.txt").write_text("a")
    async with Rig(tmp_path, room=Room(can=FILES)) as rig:
        with monkeypatch.context() as now:
            now.setattr("clew.engine.delivery.outbox.delete", stuck)
            sent = (await rig.say("!text [a](a.txt)")).turn
            await rig.delivered(f"{sent}:file:1")
            behind = (await rig.say("!text behind it")).turn
            await rig.delivered(f"{behind}:final")
            await rig.engine.drain(TIMEOUT)
    kept = tmp_path / "files" / f"made-{sent}"
    assert (kept / "a.txt").exists() and f"{kept}/a.txt is not needed any more" in caplog.text
    async with Rig(tmp_path, room=Room(can=FILES)):
        assert not kept.exists()


@pytest.mark.parametrize("trouble", [Never, Down])
async def test_copies_of_unsent_files_survive_a_restart(tmp_path: Path, trouble: type[NotSent]) -> None:
    (tmp_path / "a.txt").write_text("a")

    tried = asyncio.Event()

    class Closed(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.kind is DeliveryKind.FILE:
                tried.set()
                raise trouble("closed")
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Closed(can=FILES)) as rig:
        turn = (await rig.say("!text [a](a.txt)")).turn
        await tried.wait()
        await rig.engine.drain(TIMEOUT)
    (half := tmp_path / "files" / f"made-{turn}" / ".b.txt.part").touch()
    async with Rig(tmp_path, room=Closed(can=FILES)):
        assert [path.name for path in half.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("gone", [Never("too odd"), None])
async def test_a_refused_or_missing_file_is_replaced_by_a_line(tmp_path: Path, gone: Never | None) -> None:
    (tmp_path / "a.txt").write_text("a")

    class Odd(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None:
                if gone is not None:
                    raise gone
                Path(outgoing.file.path).unlink()
                Path(outgoing.file.path).read_bytes()
            return await super().send(outgoing)

    room = Odd(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        turn = (await rig.say("!text [a](a.txt)")).turn
        await rig.delivered(f"{turn}:file:1")
    assert room.texts[1] == chat_messages.file_stays("a.txt", "too odd" if gone else chat_messages.FILE_GONE)


@BROKEN_DISK
async def test_an_unreadable_file_is_replaced_by_a_line_and_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    class OnABadDisk(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None:
                read(break_file(Path(outgoing.file.path)))
            return await super().send(outgoing)

    room = OnABadDisk(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        await rig.ended((await rig.say("!text [a](a.txt)")).turn)
        behind = (await rig.say("!text behind it")).turn
        await rig.delivered(f"{behind}:final")
    assert room.texts[1:] == [chat_messages.file_stays("a.txt", "Input/output error"), "behind it"]


async def test_a_network_error_is_not_taken_for_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    lost = [FileNotFoundError(errno.ENOENT, "no such socket", "/run/proxy"), ConnectionResetError()]

    class Losing(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None and lost:
                raise lost.pop()
            return await super().send(outgoing)

    room = Losing(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        turn = (await rig.say("!text [a](a.txt)")).turn
        await rig.delivered(f"{turn}:file:1")
    assert not lost and [sent.file is not None for sent in room.sent] == [False, True]


async def test_an_unconfirmed_file_is_marked_as_a_possible_repeat(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    class Losing(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None and not outgoing.note:
                self.after.append(InDoubt("lost"))
            return await super().send(outgoing)

    room = Losing(can=FILES)
    async with Rig(tmp_path, room=room) as rig:
        turn = (await rig.say("!text [a](a.txt)")).turn
        await rig.delivered(f"{turn}:file:1")
    assert [sent.note for sent in room.sent if sent.file] == ["", chat_messages.POSSIBLE_REPEAT]


async def test_an_unsent_file_is_sent_by_the_next_daemon(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("as it was")

    class Away(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None:
                raise Never("unreachable") if self.troubles else TimeoutError
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Away(can=FILES)) as rig:
        turn = (await rig.say("!text [a](a.txt)")).turn
        await rig.delivered(f"{turn}:final")
    (tmp_path / "a.txt").write_text("changed since")
    read: list[str] = []

    class Reading(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None:
                read.append(Path(outgoing.file.path).read_text())
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Reading(can=FILES)) as rig:
        await rig.delivered(f"{turn}:file:1")
    assert read == ["as it was"]


async def test_if_no_files_can_be_sent_the_answer_only_links_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    room = Room()
    async with Rig(tmp_path, room=room) as rig:
        turn = (await rig.say("!text [a](a.txt) [b](b.txt)")).turn
        await rig.delivered(f"{turn}:final")
        rows = await rig.engine.threads.where((await rig.engine.threads.turn(turn or "")).thread)
    assert room.texts == ["[a](a.txt) [b](b.txt)"] and [row.state for row in rows] == [DeliveryState.SENT]
