"""`clew chat` without a terminal: each line of stdin is a message, and its answer is printed before the next is read.

At the end of stdin the last turn has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clew.cli.chat.lines import join_continued
from clew.cli.chat.reply import Reply
from clew.cli.chat.talk import Talk
from clew.cli.commands.run import open_gate_codes, print_failure, print_open_gates, run_result
from clew.cli.ctrl_c import CtrlC
from clew.cli.follow import follow_turn, working
from clew.cli.output import Out, json_text
from clew.cli.view.events import EventRenderer, InfoLine, summary
from clew.cli.view.gates import typing_hints
from clew.cli.view.screen import Screen
from clew.client import requests

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.gate_views import GateView
    from clew.model.views import TurnView


def read_stdin() -> Iterable[str]:
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


class PlainChat:
    def __init__(self, out: Out, client: Client, screen: Screen, talk: Talk) -> None:
        self._out = out
        self._client = client
        self._screen = screen
        self._talk = talk
        self._after: dict[str, int] = {}  # number of the last event read, by thread
        self._waiting_turn: TurnView | None = None  # the turn that waits at a gate
        self._renderer = EventRenderer()  # shared, since a turn is left at a gate and followed again
        self._shown_gates: Sequence[GateView] | None = None  # gates shown as open; None: none were loaded yet
        self._asks: str | None = None  # the question of a suspended thread that was shown last

    def run(self, lines: Iterable[str]) -> bool:
        """Execute the lines; True if all succeeded."""
        ok = True
        for line in join_continued(lines):
            self._remember_position(self._talk.thread)
            reply, self._asks = self._talk.do(line, self._shown_gates, self._asks), None
            ok &= not reply.failed
            self._say(reply)
            self._shown_gates = None if reply.moved else self._shown_gates
            if reply.turn and self._talk.thread:
                ok &= self._follow_answer(self._talk.thread, reply.turn)
            if reply.leave:
                break
        if self._waiting_turn is not None:
            self._report_waiting(self._waiting_turn)
        return ok and self._waiting_turn is None

    def _report_waiting(self, turn: TurnView) -> None:
        """Report a turn that still waits at a gate at the end of stdin."""
        if self._out.as_json:
            print(json_text(run_result(turn) | {"gates": open_gate_codes(self._client, turn)}), flush=True)
        print_open_gates(self._out, self._client, turn)

    def _remember_position(self, thread: str | None) -> None:
        """Store the newest event number of a thread before a message is sent to it."""
        if thread is not None and thread not in self._after:
            hello = next(self._client.events(thread))
            self._after[thread] = hello.seq or 0

    def _say(self, reply: Reply) -> None:
        """Results go to stdout, notes to stderr."""
        for line in reply.lines:
            if self._out.as_json or reply.failed or line.startswith("·"):
                self._screen.write_line(line)
            else:
                self._screen.end_line()
                self._screen.write_plain(f"{line}\n")
        if self._out.as_json and reply.failed:
            print(json_text({"error": {"code": "refused", "message": " ".join(reply.lines)}}), flush=True)

    def _follow_answer(self, thread: str, turn: str) -> bool:
        CtrlC(self._screen, self._client).set_thread(thread)
        self._screen.wait(working())
        show = (lambda pieces: None) if self._out.as_json else self._screen.show
        ended, self._after[thread] = follow_turn(
            self._client,
            thread,
            turn,
            show,
            self._after.get(thread, 0),
            renderer=self._renderer,
            how=typing_hints,
            at_gate=self._at_gate,
        )
        self._screen.wait(None)
        self._waiting_turn = ended if ended.state == "waiting" else None
        if self._waiting_turn is not None:
            return True
        self._end(ended)
        return ended.state == "completed"

    def _at_gate(self, gates: Sequence[GateView]) -> bool:
        """Return at the gate: the next line may answer it."""
        self._shown_gates = gates
        return True

    def _end(self, ended: TurnView) -> None:
        self._screen.end_line()
        if self._out.as_json:
            print(json_text(run_result(ended)), flush=True)
        else:
            self._screen.show([InfoLine(f"· {summary(ended)}")])
        if ended.state != "completed":
            self._asks = self._client.ask(requests.thread(ended.thread)).asks
            print_failure(self._out, self._client, ended)
