"""Answers that are typed at `run` while the agent asks. At any other time nothing is read: that is for the shell."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from select import select
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from clew.cli.follow import WORKING
from clew.cli.output import Out
from clew.cli.view.events import PLAIN
from clew.cli.view.gates import keep_secrets, press
from clew.client.sync import new_message_id
from clew.support.errors import ClewError

if TYPE_CHECKING:
    from clew.cli.view.screen import Screen
    from clew.client.sync import Client

LONGEST = 4096  # bytes of a line, which is all that a terminal keeps of one


class Keys:
    def __init__(self, out: Out, screen: Screen, client: Client, thread: str) -> None:
        self._screen = screen
        self._client = client
        self._thread = thread
        self.is_there = not out.as_json and _is_in_front()
        self._sees: tuple[Any, ...] = ()
        self._woken, self._wake = os.pipe()
        self._reading: Thread | None = None
        self._telling = Lock()

    def at_gate(self, sees: Sequence[Any]) -> bool:
        """Whether to leave, because nobody is there who could answer."""
        if not self.is_there:
            return True
        is_new = bool({view["id"] for view in sees} - {view["id"] for view in self._sees})
        if is_new:  # what was typed before it was shown is no answer to it
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        was, self._sees = self._sees, tuple(sees)
        if bool(sees) != bool(was):  # the line that spins would write over what is typed
            self._screen.wait(None if sees else WORKING)
        if is_new:
            self._screen.aside(f"  {press(sees)}", PLAIN)
            self._begin()
        os.write(self._wake, b"!")
        with self._telling:  # what comes of an answer is shown behind the words that it was given
            return False

    def _begin(self) -> None:
        if self._reading is None:
            self._reading = Thread(target=self._read, daemon=True)
            self._reading.start()

    def _read(self) -> None:
        terminal = sys.stdin.fileno()
        while True:
            ready = select([self._woken, *([terminal] if self._sees else [])], [], [])[0]
            if self._woken in ready:
                os.read(self._woken, LONGEST)
            elif not self._take(terminal):
                return

    def _take(self, terminal: int) -> bool:
        """One line, and not a byte of the next. False at the end, by Ctrl-D or with the terminal."""
        sees, line = self._sees, b""
        with suppress(OSError):
            line = os.read(terminal, LONGEST)
        text = line.decode("utf-8", "replace").strip()
        if text:
            with self._telling:
                self._screen.say(self._tell(text, sees))
        elif not line:
            self._screen.say("clew gates lists what waits; clew approve and clew deny answer it")
        return bool(line)

    def _tell(self, text: str, sees: Sequence[Any]) -> str:
        body = {"message_id": new_message_id(), "text": text, "sees": [view["id"] for view in sees]}
        try:
            keep_secrets(text, sees)
            return str(self._client.post("threads", self._thread, "messages", body=body)["words"])
        except ClewError as error:
            return f"clew: {error.message}"


def _is_in_front() -> bool:
    """There is a terminal, and it is not another program that one types to."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # not the terminal of this session: nobody else is in front
        return True
