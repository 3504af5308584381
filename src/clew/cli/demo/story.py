"""The steps of `clew demo`. Each step does one thing, and reports what it saw or what it expected."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from clew.cli.commands.handoff import wait_for_handoff
from clew.cli.demo import words
from clew.cli.demo.stage import HOOK, STEP_TIMEOUT, DemoSetup
from clew.client import requests
from clew.client.events import DeliverySent, Event, GateOpened, GateTaken, OpenText, TextPiece, TurnEnded, TurnQueued
from clew.model.views import TurnView
from clew.process import start
from clew.process.stop import stop_daemon
from clew.texts.catalogue import say


class Unexpected(Exception):
    """A step found something else than it expects."""


class Story:
    """`show_text` is called with each new piece of the agent's text."""

    def __init__(self, setup: DemoSetup, show_text: Callable[[str], None]) -> None:
        self.thread = ""
        self._setup = setup
        self._show_text = show_text
        self._client = setup.client
        self._turn = ""
        self._resumed = ""
        self._gate = ""
        self._pid = 0
        self._topic = 0
        self._events: Iterator[Event] = iter(())

    def steps(self, keep: bool) -> Iterator[tuple[str, Callable[[], dict[str, object]]]]:
        """The steps by their names in `words`. A step returns the values for its text, or raises Unexpected."""
        yield "prepare", self._prepare
        yield "start", self._start
        yield "stream", self._stream
        yield "kill", self._kill
        yield "back", self._back
        yield "continue", self._continue
        yield "deliver", self._deliver
        yield "asks", self._ask
        yield "approve", self._approve
        yield "resume", self._resume
        yield "handoff", self._handoff
        yield "reply", self._reply
        yield "return", self._return
        yield "verify", self._verify
        if not keep:
            yield "down", self._down

    def _prepare(self) -> dict[str, object]:
        return {"runtime": self._setup.build()}

    def _start(self) -> dict[str, object]:
        workspace = str(self._setup.workspace)
        accepted = self._client.ask(
            requests.start(words.PROMPT, kind="task", title=words.REQUEST, notify=HOOK, workspace=workspace)
        )
        self.thread, self._turn = accepted.thread, accepted.turn or ""
        self._events = self._client.events(self.thread, 0)  # one stream for all steps
        return {"request": words.REQUEST}

    def _stream(self) -> dict[str, object]:
        text = ""
        while words.THREAD not in text:
            text = self._listen(text, next(self._events))
        return {"text": text}

    def _listen(self, text: str, event: Event) -> str:
        """The text of the agent with this event; repeated parts are skipped."""
        what = event.what
        if not isinstance(what, OpenText | TextPiece) or event.turn != self._turn:
            return text
        new = what.text[len(text) - what.offset :] if what.offset <= len(text) else ""
        self._show_text(new)
        return text + new

    def _kill(self) -> dict[str, object]:
        self._setup.wait_held()
        turn = self._client.ask(requests.turn(self._turn))
        if turn.state != "running":
            raise Unexpected(say("cli_demo.got", found=say("cli_demo.turn_state", state=turn.state)))
        self._pid = self._client.ask(requests.status()).daemon.pid
        os.kill(self._pid, signal.SIGKILL)
        return {"pid": self._pid}

    def _back(self) -> dict[str, object]:
        if start.ensure_daemon(self._setup.home, lambda line: None):
            raise Unexpected(say("cli_demo.not_back"))
        daemon = self._client.ask(requests.status()).daemon
        if daemon.pid == self._pid or not daemon.supervised:
            raise Unexpected(say("cli_demo.got", found=say("cli_demo.pid", pid=daemon.pid)))
        return {"pid": daemon.pid}

    def _continue(self) -> dict[str, object]:
        self._setup.let_go()
        cut = self._ended(self._turn)
        if not cut.continued_by:
            raise Unexpected(say("cli_demo.got", found=say("cli_demo.nothing_after", state=cut.state)))
        self._turn = cut.continued_by
        text = self._text(self._ended(self._turn))
        if not text.endswith(words.DAYLIGHT):
            raise Unexpected(say("cli_demo.got", found=f"“{text}”"))
        return {"text": words.DAYLIGHT}

    def _deliver(self) -> dict[str, object]:
        key = f"{self._turn}:final"
        self._until_delivered(key)
        self._expect_received(key)
        [receipt] = [row for row in self._client.ask(requests.deliveries(self.thread)) if row.state == "sent"]
        at = time.strftime("%H:%M:%S", time.localtime((receipt.sent_at or 0) / 1000))
        return {"target": receipt.conversation, "receipt": receipt.message_id, "at": at}

    def _ask(self) -> dict[str, object]:
        self._resumed = self._client.ask(requests.resume(self.thread, words.SUPPLEMENT)).turn or ""
        self._until(lambda event: isinstance(event.what, GateOpened) and event.turn == self._resumed)
        [gate] = self._client.ask(requests.gates())
        if words.MARK not in gate.title or self._mark.exists():
            raise Unexpected(say("cli_demo.got", found=f"`{gate.title}`"))
        self._gate = gate.id
        return {"command": words.MARK, "code": gate.code}

    def _approve(self) -> dict[str, object]:
        self._client.ask(requests.answer(self._gate, "accept"))
        self._until(lambda event: isinstance(event.what, GateTaken) and event.what.gate == self._gate)
        return {}

    def _resume(self) -> dict[str, object]:
        text = self._text(self._ended(self._resumed))
        if words.REQUEST not in text or not self._has_run_once():
            raise Unexpected(say("cli_demo.got", found=f"“{text}”"))
        self._until_delivered(f"{self._resumed}:final")
        self._expect_received(f"{self._turn}:final", f"{self._resumed}:final")
        return {"text": text.splitlines()[0]}

    def _handoff(self) -> dict[str, object]:
        asked = self._client.ask(requests.hand_over(self.thread, "telegram", quiet=True))
        handed = wait_for_handoff(self._client, asked)
        if handed.state != "completed":
            raise Unexpected(
                say("cli_demo.got", found=say("cli_demo.handoff_state", state=handed.state, error=handed.error or ""))
            )
        self._topic = int((handed.conversation or "").rpartition("/")[2])
        return {"where": handed.conversation}

    def _reply(self) -> dict[str, object]:
        self._setup.say_on_the_phone(words.ON_THE_WAY, self._topic)
        queued = self._until(lambda event: isinstance(event.what, TurnQueued))
        self._until_delivered(f"{queued.turn}:final")
        there = [each.text for each in self._setup.shown() if each.message_thread_id == self._topic]
        if not any(words.REQUEST in text for text in there):
            raise Unexpected(say("cli_demo.got", found=say("cli_demo.no_such_message", count=len(there))))
        return {"said": words.ON_THE_WAY.splitlines()[0]}

    def _return(self) -> dict[str, object]:
        self._client.ask(requests.drive(self.thread))
        *_, notice = self._client.ask(requests.deliveries(self.thread))
        self._until_delivered(notice.delivery)
        return {"told": self._setup.shown()[-1].text}

    def _has_run_once(self) -> bool:
        """Whether the command ran exactly once. The scripted runtime only pretends to run it."""
        return self._setup.runtime != "codex" or self._mark.read_text() == "here\n"

    @property
    def _mark(self) -> Path:
        return self._setup.workspace / words.MARK.split()[-1]

    def _expect_received(self, *keys: str) -> None:
        """Check that exactly these answers were received, in this order, each once."""
        got = tuple(taken.key for taken in self._setup.received() if taken.body.kind == "final")
        if got != keys:
            raise Unexpected(say("cli_demo.got", found=f"{len(got)}: {', '.join(got)}"))

    def _verify(self) -> dict[str, object]:
        [verdict] = self._client.lines(requests.verify(self.thread))
        if not verdict.sound:
            raise Unexpected(
                say(
                    "cli_demo.got",
                    found=say("cli_demo.bad_node", reason=verdict.reason or "", node=verdict.bad_node or ""),
                )
            )
        return {"nodes": verdict.nodes}

    def _down(self) -> dict[str, object]:
        stop_daemon(self._setup.home, STEP_TIMEOUT, lambda line: None)
        if left := self._setup.still_running():
            raise Unexpected(say("cli_demo.still_there", left=", ".join(left)))
        return {}

    def _ended(self, turn: str) -> TurnView:
        self._until(lambda event: isinstance(event.what, TurnEnded) and event.turn == turn)
        return self._client.ask(requests.turn(turn))

    def _text(self, turn: TurnView) -> str:
        if turn.state != "completed":
            raise Unexpected(
                say("cli_demo.got", found=say("cli_demo.turn_error", state=turn.state, error=turn.error or ""))
            )
        return turn.text

    def _until_delivered(self, delivery: str) -> None:
        """Wait for the receipt of a delivery."""
        self._until(lambda event: isinstance(event.what, DeliverySent) and event.what.delivery == delivery)

    def _until(self, wanted: Callable[[Event], bool]) -> Event:
        return next(event for event in self._events if wanted(event))


class StepTimeout:
    """Raises Unexpected in a step that takes too long, wherever it waits."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, STEP_TIMEOUT)

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _over(self, number: int, frame: FrameType | None) -> None:
        raise Unexpected(say("cli_demo.too_long", seconds=f"{STEP_TIMEOUT:.0f}"))
