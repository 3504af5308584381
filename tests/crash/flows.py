"""Flows: what people do with clew, as small scripts that use the command line and the signed webhook. The daemon may
die at each step: a message is sent again with the same id, gates get a yes and questions get `continue`, until the
answers are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.client.sync import Client, Event
from clew.support.errors import OutOfReach
from tests.crash.conftest import SECRET, System
from tests.helpers.receivers import post_signed

Step = Callable[[System, Path], None]
OPEN = ("pending", "sending")


@dataclass(frozen=True, slots=True)
class Flow:
    """`prepare` runs with a daemon that is not killed, `act` with one that may die at any moment. `answers` arrive in
    the end, once each; there are several sets if timing decides which ones."""

    act: Step
    answers: tuple[tuple[str, ...], ...]
    prepare: Step | None = None
    deaths: int = 0  # of daemons, in `prepare`
    fetched: tuple[str, ...] = ()  # answers that are not delivered

    def finish(self, desk: Desk) -> None:
        """Run the flow to its end."""
        least = min(map(len, self.answers)) + len(self.fetched)
        ended: set[str] = set()
        for event in happenings(desk):
            _react(desk, event)
            if event.kind == "turn.ended":
                ended.add(event.data["turn"])
            if len(ended) >= least and _at_rest(desk):
                return


def happenings(desk: Desk) -> Iterator[Event]:
    """Yield all stored events from the start, across daemons."""
    after = 0
    while True:
        try:
            for event in desk.clew.events(None, after):
                after = event.seq or after
                yield event
        except OutOfReach:
            desk.clew.up()


def ask(desk: System, *path: str, **query: object) -> Any:
    while True:
        try:
            return Client(desk.clew.home, start=False).get(*path, **query)
        except OutOfReach:
            desk.clew.up()


def threads(desk: System) -> list[Any]:
    both = (ask(desk, "threads", history=history)["threads"] for history in (False, True))
    return [thread for some in both for thread in some]


def only(desk: Desk) -> str:
    """Return the only thread."""
    [thread] = threads(desk)
    return str(thread["id"])


def post(desk: Desk, id: str, text: str, conversation: str = "c") -> Any:
    """Post to the webhook until it is acknowledged."""
    body = json.dumps({"id": id, "conversation": conversation, "sender": "ann", "text": text}).encode()
    while True:
        try:
            return post_signed(desk.clew.json("status")["daemon"]["http"], "x", SECRET, body)
        except (OSError, AssertionError):
            desk.clew.up()


def start(desk: System, folder: Path, prompt: str) -> None:
    desk.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder))


def _react(desk: Desk, event: Event) -> None:
    """Act like a person who wants the work to continue."""
    data = event.data.get("data", {})
    while event.kind == "gate.opened" and ask(desk, "gates", data["gate"])["state"] == "open":
        desk.clew.run("approve", data["code"])  # the daemon may die before or after it, or the gate may become void
    if event.kind == "thread.status" and data["status"] == "suspended":
        thread = event.data["thread"]
        if ask(desk, "threads", thread)["status"] == "suspended":
            desk.clew("resume", thread, "--supplement", "continue")


def _at_rest(desk: System) -> bool:
    return not any(_is_busy(desk, thread) for thread in threads(desk))


def _is_busy(desk: System, thread: Any) -> bool:
    owed = ask(desk, "threads", thread["id"], "deliveries")
    goes_on = thread["status"] in ("running", "suspended") or thread["queued"]
    return bool(goes_on or any(row["state"] in OPEN for row in owed))


# The flows


def _chat(desk: System, folder: Path) -> None:
    post(desk, "m1", "!text hello")


def _task(desk: System, folder: Path) -> None:
    start(desk, folder, "!say 12")


def _held(desk: System, folder: Path) -> None:
    start(desk, folder, "!text one moment\n!hold here\n!text the end")
    desk.model.wait_held("here")


def _steer(desk: System, folder: Path) -> None:
    _held(desk, folder)
    desk.clew("send", only(desk), "!text steered")
    desk.model.release("here")


def _queue(desk: System, folder: Path) -> None:
    _held(desk, folder)
    desk.clew("send", only(desk), "--queue", "!text second")
    desk.model.release("here")


def _gate(desk: System, folder: Path) -> None:
    start(desk, folder, f"!shell echo ran >> {folder}/runs\n!text allowed")


def _finished(desk: System, folder: Path) -> None:
    start(desk, folder, "!text first")
    desk.clew.wait_for(only(desk), "delivery.sent")
    desk.clew("down")


def _resume(desk: System, folder: Path) -> None:
    desk.clew("resume", only(desk), "--supplement", "!text again")


def _fork(desk: Desk, folder: Path) -> None:
    """A fork has no id for a retry, so without a response look first whether it exists."""
    source = only(desk)
    while not (forks := [thread for thread in threads(desk) if thread["id"] != source]):
        desk.clew.run("fork", source)
    desk.clew("send", forks[0]["id"], "!text forked")


def _stop(desk: System, folder: Path) -> None:
    _held(desk, folder)
    while desk.clew.run("stop", only(desk)).code == 3:
        desk.clew.up()


def _cut(desk: Desk, folder: Path) -> None:
    """Leave a turn cut off by its daemon, which does not come back. A kept agent still runs."""
    _held(desk, folder)
    desk.clew.kill_for_good()
    if desk.transport == "stdio":
        desk.model.wait_left("here")
        desk.model.release("here")


def _go_on(desk: System, folder: Path) -> None:
    if desk.transport == "socket":
        desk.model.release("here")


FLOWS = {
    "chat": Flow(_chat, (("hello",),)),
    "task": Flow(_task, (("never lose the thread that leads you back out of the maze",),)),
    "steer": Flow(_steer, (("steered",), ("one moment\nthe end", "steered"), ("one moment\nthe end\nsteered",))),
    "queue": Flow(_queue, (("one moment\nthe end", "second"),)),
    "gate": Flow(_gate, (("allowed",),)),
    "resume": Flow(_resume, (("first", "again"),), prepare=_finished),
    "fork": Flow(_fork, (("first",),), prepare=_finished, fetched=("forked",)),
    "stop": Flow(_stop, (("one moment\n\n(Stopped.)",), ("(Stopped.)",))),
    "recovery": Flow(_go_on, (("one moment\nthe end",),), prepare=_cut, deaths=1),
}
