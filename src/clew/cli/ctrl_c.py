"""Ctrl-C while a turn runs in the foreground: the first stops the turn and waits for its end; the second does not
wait."""

from __future__ import annotations

import signal
import sys
from threading import Event, Thread
from types import FrameType

from clew.cli.language import in_locale, phrase
from clew.cli.view.screen import Screen
from clew.client import requests
from clew.client.sync import Asks
from clew.support.errors import ClewError


class CtrlC:
    """Handles SIGINT from before the turn is requested: an early Ctrl-C takes effect when the thread is known."""

    def __init__(self, screen: Screen, client: Asks) -> None:
        self._screen = screen
        self._client = client
        self._thread = self._name = ""
        self._thread_known = Event()
        self._stop_requested = False
        self._newline = "\n" if sys.stderr.isatty() else ""  # the terminal has printed ^C
        signal.signal(signal.SIGINT, self._pressed)

    def set_thread(self, thread: str, name: str = "") -> None:
        """Set the thread whose turn Ctrl-C stops, and what people type for it."""
        self._thread, self._name = thread, name or thread
        self._thread_known.set()

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        if self._stop_requested:
            back = (
                phrase("cli_chat.watch_returns", thread=self._name)
                if self._thread
                else phrase("cli_chat.whether_started")
            )
            self._screen.say(phrase("cli_chat.left", newline=self._newline, back=back))
            raise KeyboardInterrupt
        self._stop_requested = True
        Thread(target=self._stop, daemon=True).start()  # a signal handler must not write in the middle of other output

    def _stop(self) -> None:
        self._screen.say(phrase("cli_chat.stopping_turn", newline=self._newline))
        self._thread_known.wait()
        try:
            self._client.ask(requests.stop(self._thread))
        except ClewError as error:
            self._screen.say(f"clew: {in_locale(error.words)}")
