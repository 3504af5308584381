"""Reads answers typed at `run` while a gate is open. At other times nothing is read: the input belongs to the shell."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from select import select
from shutil import get_terminal_size
from threading import Lock, Thread
from typing import TYPE_CHECKING

from clew.cli.follow import working
from clew.cli.language import in_locale, phrase
from clew.cli.output import Out
from clew.cli.shown_gates import ShownGates, name_gate
from clew.cli.view.events import PLAIN
from clew.cli.view.gates import hint_rows, is_on_its_way, refuse_secrets, typing_hints
from clew.client import requests
from clew.support.errors import ClewError

if TYPE_CHECKING:
    from clew.cli.view.screen import Screen
    from clew.client.sync import Client
    from clew.model.gate_views import GateView

MAX_LINE = 4096  # bytes; a terminal buffers no more of a line


class GatePrompt:
    def __init__(self, out: Out, screen: Screen, client: Client, thread: str, shown: ShownGates | None = None) -> None:
        self._screen = screen
        self._client = client
        self._thread = thread
        self.is_interactive = not out.as_json and _is_foreground()
        self._shown = shown or ShownGates()
        self._wake_read, self._wake_write = os.pipe()
        self._reader: Thread | None = None
        self._reply_lock = Lock()

    def at_gate(self, gates: Sequence[GateView]) -> bool:
        """Called with the open gates. Returns True if nobody can answer here, so that `run` ends."""
        if not self.is_interactive:
            return True
        with self._reply_lock:  # the outcome of an answer is shown after its confirmation
            was = self._shown.gates
            if is_new := self._shown.show(tuple(gates)):  # text typed before a gate was shown must not answer it
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            if bool(gates) != bool(was):  # the spinner would overwrite the typed text
                self._screen.wait(None if gates else working())
            if is_new:
                columns = get_terminal_size().columns
                for row in (row for line in typing_hints(gates[-1], gates) for row in hint_rows(line, columns)):
                    self._screen.write_line(row, PLAIN)
                self._start_reader()
            os.write(self._wake_write, b"!")
            return False

    def _start_reader(self) -> None:
        if self._reader is None:
            self._reader = Thread(target=self._read_lines, daemon=True)
            self._reader.start()

    def _read_lines(self) -> None:
        terminal = sys.stdin.fileno()
        while True:
            ready = select([self._wake_read, *([terminal] if self._shown.gates else [])], [], [])[0]
            if self._wake_read in ready:
                os.read(self._wake_read, MAX_LINE)
            elif not self._read_line(terminal):
                return

    def _read_line(self, terminal: int) -> bool:
        """Handle one line, and not a byte of the next. False at the end of the input."""
        gates, line = self._shown.gates, b""
        with suppress(OSError):
            line = os.read(terminal, MAX_LINE)
        text = line.decode("utf-8", "replace").strip()
        if text and self._shown.is_too_new_for(text):
            self._screen.say(phrase("cli_gates.type_again", why_held=self._shown.why_held()))
        elif text:
            with self._reply_lock:
                if reply := self._send(text, gates):
                    self._screen.say(reply)
        elif not line:
            self._screen.say(phrase("cli_gates.how_to_list"))
        return bool(line)

    def _send(self, text: str, gates: Sequence[GateView]) -> str:
        try:
            refuse_secrets(text, gates)
            line, sees = name_gate(text, gates), [view.id for view in gates]
            accepted = self._client.ask(requests.send(self._thread, line, sees=sees))
            return "" if is_on_its_way(accepted) else in_locale(accepted.reply)
        except ClewError as error:
            return f"clew: {in_locale(error.words)}"


def _is_foreground() -> bool:
    """Whether stdin is a terminal, and this program is in its foreground."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # not the terminal of this session: no other program is in its foreground
        return True
