"""The local surface: terminal, otherwise desktop, otherwise only the receipt."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.delivery import DeliveryKind
from clew.model.messages import Conversation
from clew.model.surface import Never, Outgoing, Receipt, Surface
from clew.support.errors import BadInput
from clew.surfaces.local import Desktop, LocalSurface, one_line

HOME = Conversation("local")
FINAL = Outgoing("U1:final", DeliveryKind.FINAL, HOME, "T1", "U1", "all tests pass")
HOSTILE = '--help "; touch /tmp/x; $(id) `id`\n\x1b[31m<b>red</b> & \u202e" & do shell script "id'

RECORD = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$OUT"
"""


def nobody(outgoing: Outgoing) -> bool:
    return False


def install(folder: Path, program: str, script: str = RECORD, platform: str = "linux", patience: float = 10) -> Desktop:
    path = folder / program
    path.write_text(script)
    path.chmod(0o755)
    search = os.pathsep.join([str(folder), os.defpath])
    return Desktop(platform, {"PATH": search, "DISPLAY": ":0", "OUT": str(folder / "out")}, patience)


def shown(folder: Path) -> list[str]:
    return (folder / "out").read_text().splitlines()


NOTHING = Desktop("linux", {})


def test_it_is_a_surface() -> None:
    surface: Surface = LocalSurface(nobody, NOTHING)
    assert surface.name == "local"
    assert surface.can.send and not surface.can.edit and surface.can.idempotency_window == 0


async def test_an_existing_terminal_gets_the_line(tmp_path: Path) -> None:
    got: list[Outgoing] = []

    def announce(outgoing: Outgoing) -> bool:
        got.append(outgoing)
        return True

    surface = LocalSurface(announce, install(tmp_path, "notify-send"))
    assert await surface.send(FINAL) == Receipt(HOME, "terminal")
    assert got == [FINAL] and not (tmp_path / "out").exists()


@pytest.mark.process
async def test_without_a_terminal_the_desktop_shows_it(tmp_path: Path) -> None:
    surface = LocalSurface(nobody, install(tmp_path, "notify-send"))
    assert await surface.send(FINAL) == Receipt(HOME, "desktop")
    assert shown(tmp_path) == ["--app-name=clew", "--", "clew", "all tests pass"]


@pytest.mark.process
async def test_a_note_is_shown_too(tmp_path: Path) -> None:
    surface = LocalSurface(nobody, install(tmp_path, "notify-send"))
    await surface.send(replace(FINAL, note="continued after a restart"))
    assert shown(tmp_path)[3:] == ["all tests pass (continued after a restart)"]


async def test_without_terminal_and_desktop_there_is_only_a_receipt() -> None:
    assert await LocalSurface(nobody, NOTHING).send(FINAL) == Receipt(HOME, "receipt")


async def test_without_a_display_no_program_is_run(tmp_path: Path) -> None:
    desktop = install(tmp_path, "notify-send")
    headless = replace(desktop, environ={"PATH": desktop.environ["PATH"]})
    assert (await LocalSurface(nobody, headless).send(FINAL)).message_id == "receipt"


@pytest.mark.process
async def test_wayland_is_a_display_too(tmp_path: Path) -> None:
    desktop = install(tmp_path, "notify-send")
    environ = {"PATH": desktop.environ["PATH"], "OUT": desktop.environ["OUT"], "WAYLAND_DISPLAY": "wayland-0"}
    assert (await LocalSurface(nobody, replace(desktop, environ=environ)).send(FINAL)).message_id == "desktop"


@pytest.mark.process
@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\nkill -9 $$\n", "#!/no/such/shell\n"])
async def test_a_failing_program_leaves_the_receipt(tmp_path: Path, script: str) -> None:
    surface = LocalSurface(nobody, install(tmp_path, "notify-send", script))
    assert (await surface.send(FINAL)).message_id == "receipt"


@pytest.mark.process
async def test_a_program_that_does_not_end_leaves_the_receipt(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    script = f"#!/bin/sh\nread line <{tmp_path}/never\n"
    surface = LocalSurface(nobody, install(tmp_path, "notify-send", script, patience=0.05))
    assert (await surface.send(FINAL)).message_id == "receipt"


@pytest.mark.process
async def test_a_cancelled_send_leaves_neither_program_nor_child_behind(tmp_path: Path) -> None:
    alive, never = tmp_path / "alive", tmp_path / "never"
    os.mkfifo(alive)
    os.mkfifo(never)
    script = f"#!/bin/sh\nexec 3>{alive}\n(read line <{never}) &\necho up >&3\nread line <{never}\n"
    sending = asyncio.ensure_future(LocalSurface(nobody, install(tmp_path, "notify-send", script)).send(FINAL))
    with await asyncio.to_thread(alive.open) as held:
        assert await asyncio.to_thread(held.readline) == "up\n"
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert await asyncio.to_thread(held.read) == ""  # nobody has it open any more


@pytest.mark.process
async def test_hostile_text_stays_one_line_of_text(tmp_path: Path) -> None:
    surface = LocalSurface(nobody, install(tmp_path, "notify-send"))
    await surface.send(replace(FINAL, text=HOSTILE))
    (line,) = shown(tmp_path)[3:]
    assert line.startswith('--help "; touch /tmp/x; $(id) `id` [31m&lt;b&gt;red&lt;/b&gt; &amp;')
    assert not {"\x1b", "\u202e"} & set(line)


@pytest.mark.process
async def test_on_macos_the_text_is_an_argument_and_never_script(tmp_path: Path) -> None:
    surface = LocalSurface(nobody, install(tmp_path, "osascript", platform="darwin"))
    assert (await surface.send(replace(FINAL, text=HOSTILE))).message_id == "desktop"
    *script, title, line = shown(tmp_path)
    assert script[::2] == ["-e"] * 3 and script[1] == "on run argv"
    assert (title, line) == ("clew", one_line(HOSTILE))
    assert "shell" not in "".join(script)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\n\tb\u2028c", "a b c"),
        ("\x1b[2J\x07bell\x9b", "[2Jbell"),
        ("a\u202eb\u200bc", "abc"),
        ("  ", ""),
        ("你好 \U0001f9f6", "你好 \U0001f9f6"),
    ],
)
def test_one_line_has_no_control_characters(text: str, line: str) -> None:
    assert one_line(text) == line


def test_one_line_is_cut_at_240_characters() -> None:
    assert one_line("x" * 240) == "x" * 240
    assert one_line("x" * 241) == "x" * 239 + "…"


def test_local_is_the_only_address() -> None:
    surface = LocalSurface(nobody, NOTHING)
    assert surface.resolve("") == HOME
    with pytest.raises(BadInput, match="say `local`"):
        surface.resolve("kitchen")


async def test_what_was_shown_cannot_be_edited_or_found() -> None:
    surface = LocalSurface(nobody, NOTHING)
    with pytest.raises(Never):
        await surface.edit(Receipt(HOME, "terminal"), FINAL)
    assert await surface.find(FINAL) is None
    await surface.close()


async def test_the_terminal_that_started_it_gets_a_safe_line() -> None:
    ours, theirs = os.openpty()
    try:
        where = Conversation("local", os.ttyname(theirs))
        surface = LocalSurface(nobody, NOTHING)
        assert surface.resolve(where.address) == where
        receipt = await surface.send(replace(FINAL, conversation=where, text=HOSTILE))
        shown_there = os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    assert receipt == Receipt(where, "terminal")
    assert b"--help" in shown_there
    assert b"\x1b" not in shown_there and "\u202e".encode() not in shown_there


async def test_a_terminal_gets_the_headline_in_place_of_the_text() -> None:
    ours, theirs = os.openpty()
    try:
        where = Conversation("local", os.ttyname(theirs))
        asks = replace(FINAL, conversation=where, text="+a diff\n-in lines", headline="⚠ it asks: run make?")
        await LocalSurface(nobody, NOTHING).send(asks)
        assert os.read(ours, 1000).decode().strip() == "⚠ it asks: run make?"
    finally:
        os.close(ours)
        os.close(theirs)


async def test_a_terminal_that_is_gone_is_skipped() -> None:
    ours, theirs = os.openpty()
    where = Conversation("local", os.ttyname(theirs))
    os.close(ours)
    os.close(theirs)
    surface = LocalSurface(nobody, NOTHING)
    assert await surface.send(replace(FINAL, conversation=where)) == Receipt(where, "receipt")
    with pytest.raises(BadInput):
        surface.resolve("/etc/passwd")
