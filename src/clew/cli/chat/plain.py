"""`clew chat` without a terminal: each line of stdin is a message, and its answer comes before the next is read.

So a script gets what it would get from a person who waits; at the end of stdin the last turn has ended.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clew.cli.chat.lines import joined
from clew.cli.chat.talk import Reply, Talk
from clew.cli.commands.run import run_result, say_what_waits, say_why, waiting
from clew.cli.ctrl_c import CtrlC
from clew.cli.follow import WORKING, follow_turn
from clew.cli.output import Out
from clew.cli.view.events import Aside, EventRenderer, summary
from clew.cli.view.gates import by_keys
from clew.cli.view.screen import Screen

if TYPE_CHECKING:
    from clew.client.sync import Client


def read_stdin() -> Iterable[str]:
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


class Plain:
    def __init__(self, out: Out, client: Client, screen: Screen, talk: Talk) -> None:
        self._out = out
        self._client = client
        self._screen = screen
        self._talk = talk
        self._after: dict[str, int] = {}  # how far the log of a thread was read
        self._waits: Any = None  # the turn that waits for an answer
        self._story = EventRenderer()  # a turn goes on where it was left at a gate
        self._sees: Sequence[Any] | None = None  # what was shown as open; None: nothing was looked at yet

    def run(self, lines: Iterable[str]) -> bool:
        """True when every line did what it said."""
        fine = True
        for line in joined(lines):
            self._mark(self._talk.thread)
            reply = self._talk.do(line, self._sees)
            fine &= not reply.failed
            self._say(reply)
            self._sees = None if reply.moved else self._sees
            if reply.turn and self._talk.thread:
                fine &= self._answered(self._talk.thread, reply.turn)
            if reply.leave:
                break
        if self._waits is not None:
            self._left(self._waits)
        return fine and self._waits is None

    def _left(self, turn: Any) -> None:
        """Stdin ended before the answer came."""
        if self._out.as_json:
            print(json.dumps(run_result(turn) | {"gates": waiting(self._client, turn)}), flush=True)
        say_what_waits(self._out, self._client, turn)

    def _mark(self, thread: str | None) -> None:
        """Where the log of a thread stands before something is said in it."""
        if thread is not None and thread not in self._after:
            hello = next(self._client.events(thread))
            self._after[thread] = hello.seq or 0

    def _say(self, reply: Reply) -> None:
        """What was asked for goes to stdout, what is beside it to stderr."""
        for line in reply.lines:
            if self._out.as_json or reply.failed or line.startswith("·"):
                self._screen.aside(line)
            else:
                self._screen.words(f"{line}\n", fresh=True)
        if self._out.as_json and reply.failed:
            print(json.dumps({"error": {"code": "refused", "message": " ".join(reply.lines)}}), flush=True)

    def _answered(self, thread: str, turn: str) -> bool:
        CtrlC(self._screen, self._client).stops(thread)
        self._screen.wait(WORKING)
        show = (lambda pieces: None) if self._out.as_json else self._screen.show
        ended, self._after[thread] = follow_turn(
            self._client,
            thread,
            turn,
            show,
            self._after.get(thread, 0),
            story=self._story,
            how=by_keys,
            at_gate=self._at_gate,
        )
        self._screen.wait(None)
        self._waits = ended if ended["state"] == "waiting" else None
        if self._waits is not None:
            return True
        self._end(ended)
        return bool(ended["state"] == "completed")

    def _at_gate(self, sees: Sequence[Any]) -> bool:
        """It leaves there: the next line may be the answer."""
        self._sees = sees
        return True

    def _end(self, ended: Any) -> None:
        self._screen.end_line()
        if self._out.as_json:
            print(json.dumps(run_result(ended)), flush=True)
        else:
            self._screen.show([Aside(f"· {summary(ended)}")])
        if ended["state"] != "completed":
            say_why(self._out, self._client, ended)
