"""What Ctrl-C means while a turn runs in the foreground: the first asks it to stop, and its end is waited for; the
second leaves it to itself."""

from __future__ import annotations

import signal
import sys
from threading import Event, Thread
from types import FrameType

from clew.cli.view.screen import Screen
from clew.client.sync import Client
from clew.support.errors import ClewError


class CtrlC:
    """Listens from before the turn is asked for: a key pressed meanwhile counts as soon as the turn has a name."""

    def __init__(self, screen: Screen, client: Client) -> None:
        self._screen = screen
        self._client = client
        self._thread = ""
        self._is_named = Event()
        self._is_asked = False
        self._behind_the_key = "\n" if sys.stderr.isatty() else ""  # a terminal shows ^C
        signal.signal(signal.SIGINT, self._pressed)

    def stops(self, thread: str) -> None:
        """From now on it is this one that is stopped."""
        self._thread = thread
        self._is_named.set()

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        if self._is_asked:
            back = f"watch {self._thread} comes back to it" if self._thread else "threads tells whether it was begun"
            self._screen.say(f"{self._behind_the_key}left it; clew {back}")
            raise KeyboardInterrupt
        self._is_asked = True
        Thread(target=self._stop, daemon=True).start()  # a handler that writes itself would break into what is written

    def _stop(self) -> None:
        self._screen.say(f"{self._behind_the_key}stopping the turn… (Ctrl-C again does not wait for its end)")
        self._is_named.wait()
        try:
            self._client.post("threads", self._thread, "stop")
        except ClewError as error:
            self._screen.say(f"clew: {error.message}")
