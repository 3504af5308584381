"""The person's own machine: shows a line in the terminal that started the work, otherwise a desktop notification,
otherwise nothing. It never fails: the text is in the thread anyway, and the receipt says where it was shown."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import sys
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import Struct, field

from clew.model.messages import Conversation
from clew.model.surface import Inbox, Never, Outgoing, Receipt, SurfaceCan
from clew.support.errors import BadInput
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

LINE = 240  # characters of a notification

_TERMINAL = re.compile(r"/dev/(pts/\d+|tty[A-Za-z0-9]+)")

# The text is an argument of the script, not a part of it, to prevent injection.
_APPLESCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")


def one_line(text: str, limit: int = LINE) -> str:
    """Return untrusted text as one safe line: no control characters, at most `limit` characters."""
    spaced = " ".join(text.split())
    line = "".join(char for char in spaced if not unicodedata.category(char).startswith("C"))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def write_line(terminal: str, line: str) -> bool:
    """Write a line to a terminal that still exists and belongs to us; False: it could not. Never blocks."""
    if not _TERMINAL.fullmatch(terminal):
        return False
    try:
        descriptor = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if not os.isatty(descriptor) or os.fstat(descriptor).st_uid != os.geteuid():
            return False
        return os.write(descriptor, f"\r\n{line}\r\n".encode()) > 0
    except OSError:
        return False
    finally:
        os.close(descriptor)


class Desktop(Struct, frozen=True):
    """Desktop notifications, if clew runs on a desktop."""

    platform: str = sys.platform
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    time_limit: float = 5.0  # seconds for the program to end

    async def show(self, title: str, line: str) -> bool:
        command = self.command(title, line)
        return command is not None and await self._run(command)

    def command(self, title: str, line: str) -> list[str] | None:
        if self.platform == "darwin" and (program := self._which("osascript")):
            return [program, *(word for part in _APPLESCRIPT for word in ("-e", part)), title, line]
        if self._has_display() and (program := self._which("notify-send")):
            import html  # with all names of characters; a notification's body is markup by its specification

            return [program, "--app-name=clew", "--", title, html.escape(line, quote=False)]
        return None

    def _has_display(self) -> bool:
        return bool(self.environ.get("DISPLAY") or self.environ.get("WAYLAND_DISPLAY"))

    def _which(self, program: str) -> str | None:
        return shutil.which(program, path=self.environ.get("PATH", ""))

    async def _run(self, command: list[str]) -> bool:
        quiet = asyncio.subprocess.DEVNULL
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=quiet, stdout=quiet, stderr=quiet, env=self.environ, start_new_session=True
            )
        except OSError as error:
            log.info("cannot run %s: %s", command[0], error)
            return False
        try:
            code = await asyncio.wait_for(child.wait(), self.time_limit)
        except TimeoutError:
            log.info("%s did not end within %g seconds", command[0], self.time_limit)
            return False
        finally:
            await _end(child)
        return code == 0


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


class LocalSurface:
    """`announce` passes a delivery to the terminals that watch its thread, and returns whether there was one."""

    name = "local"
    trouble = ""
    can = SurfaceCan(headline=True)

    def __init__(self, announce: Callable[[Outgoing], bool], desktop: Desktop | None = None) -> None:
        self._announce = announce
        self._desktop = desktop or Desktop()

    def resolve(self, address: str) -> Conversation:
        """The address is empty, or the terminal that started the work, which `clew start --notify local` adds."""
        if address and not _TERMINAL.fullmatch(address):
            raise BadInput(say("surfaces.local_address", address=one_line(address)))
        return Conversation(self.name, address)

    async def run(self, inbox: Inbox) -> None:
        """Wait until cancelled. Nothing arrives here: the CLI uses the API."""
        await asyncio.Event().wait()

    async def send(self, outgoing: Outgoing) -> Receipt:
        return Receipt(outgoing.conversation, await self._show(outgoing))

    async def _show(self, outgoing: Outgoing) -> str:
        text = outgoing.headline or outgoing.text
        line = one_line(f"{text} ({outgoing.note})" if outgoing.note else text)
        if write_line(outgoing.conversation.address, line):
            return "terminal"
        if self._announce(outgoing):
            return "terminal"
        if not outgoing.silent and await self._desktop.show("clew", line):
            return "desktop"
        return "receipt"

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never(say("surfaces.local_edit"))

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return None

    def parent(self, conversation: Conversation) -> Conversation | None:
        return None

    async def close(self) -> None:
        pass
