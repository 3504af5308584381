"""Flows: what people do with clew, as small scripts that use the command line and the signed webhook. The daemon may
die at each step: a message is sent again with the same id, gates get a yes and questions get `continue`, until the
answers are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.support.errors import OutOfReach
from tests.crash.conftest import SECRET, System
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.json_client import RawEvent as Event
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

    def finish(self, system: System) -> None:
        """Run the flow to its end."""
        least = min(map(len, self.answers)) + len(self.fetched)
        ended: set[str] = set()
        for event in happenings(system):
            _react(system, event)
            if event.kind == "turn.ended":
                ended.add(event.data["turn"])
            if len(ended) >= least and _at_rest(system):
                return


def happenings(system: System) -> Iterator[Event]:
    """Yield all stored events from the start, across daemons."""
    after = 0
    while True:
        try:
            for event in system.clew.events(None, after):
                after = event.seq or after
                yield event
        except OutOfReach:
            system.clew.up()


def ask(system: System, *path: str, **query: object) -> Any:
    while True:
        try:
            return Client(system.clew.home, start=False).get(*path, **query)
        except OutOfReach:
            system.clew.up()


def threads(system: System) -> list[Any]:
    both = (ask(system, "threads", history=history)["threads"] for history in (False, True))
    return [thread for some in both for thread in some]


def only(system: System) -> str:
    """Return the only thread."""
    [thread] = threads(system)
    return str(thread["id"])


def post(system: System, id: str, text: str, conversation: str = "c") -> Any:
    """Post to the webhook until it is acknowledged."""
    body = json.dumps({"id": id, "conversation": conversation, "sender": "ann", "text": text}).encode()
    while True:
        try:
            return post_signed(system.clew.json("status")["daemon"]["http"], "x", SECRET, body)
        except (OSError, AssertionError):
            system.clew.up()


def start(system: System, folder: Path, prompt: str) -> None:
    system.clew.json("start", prompt, "--notify", "webhook:x", "--workspace", str(folder))


def _react(system: System, event: Event) -> None:
    """Act like a person who wants the work to continue."""
    data = event.data.get("data", {})
    while event.kind == "gate.opened" and ask(system, "gates", data["gate"])["state"] == "open":
        system.clew.run("approve", data["code"])  # the daemon may die before or after it, or the gate may become void
    if event.kind == "thread.status" and data["status"] == "suspended":
        thread = event.data["thread"]
        if ask(system, "threads", thread)["status"] == "suspended":
            system.clew("resume", thread, "--supplement", "continue")


def _at_rest(system: System) -> bool:
    return not any(_is_busy(system, thread) for thread in threads(system))


def _is_busy(system: System, thread: Any) -> bool:
    owed = ask(system, "threads", thread["id"], "deliveries")
    goes_on = thread["status"] in ("running", "suspended") or thread["queued"]
    return bool(goes_on or any(row["state"] in OPEN for row in owed))


# The flows


def _chat(system: System, folder: Path) -> None:
    post(system, "m1", "!text hello")


def _task(system: System, folder: Path) -> None:
    start(system, folder, "!say 12")


def _held(system: System, folder: Path) -> None:
    start(system, folder, "!text one moment\n!hold here\n!text the end")
    system.model.wait_held("here")


def _steer(system: System, folder: Path) -> None:
    _held(system, folder)
    system.clew("send", only(system), "!text steered")
    system.model.release("here")


def _queue(system: System, folder: Path) -> None:
    _held(system, folder)
    system.clew("send", only(system), "--queue", "!text second")
    system.model.release("here")


def _gate(system: System, folder: Path) -> None:
    start(system, folder, f"!shell echo ran >> {folder}/runs\n!text allowed")


def _finished(system: System, folder: Path) -> None:
    start(system, folder, "!text first")
    system.clew.wait_for(only(system), "delivery.sent")
    system.clew("down")


def _resume(system: System, folder: Path) -> None:
    system.clew("resume", only(system), "--supplement", "!text again")


def _fork(system: System, folder: Path) -> None:
    """A fork has no id for a retry, so without a response look first whether it exists."""
    source = only(system)
    while not (forks := [thread for thread in threads(system) if thread["id"] != source]):
        system.clew.run("fork", source)
    system.clew("send", forks[0]["id"], "!text forked")


def _stop(system: System, folder: Path) -> None:
    _held(system, folder)
    while system.clew.run("stop", only(system)).code == 3:
        system.clew.up()


def _cut(system: System, folder: Path) -> None:
    """Leave a turn cut off by its daemon, which does not come back. A kept agent still runs."""
    _held(system, folder)
    system.clew.kill_for_good()
    if system.transport == "stdio":
        system.model.wait_left("here")
        system.model.release("here")


def _go_on(system: System, folder: Path) -> None:
    if system.transport == "socket":
        system.model.release("here")


STOPPED = ("Stopped", "Stopped at the computer")  # whether the log could still say by whom
FLOWS = {
    "chat": Flow(_chat, (("hello",),)),
    "task": Flow(_task, (("never lose the thread that leads you back out of the maze",),)),
    "steer": Flow(_steer, (("steered",), ("one moment\nthe end", "steered"), ("one moment\nthe end\nsteered",))),
    "queue": Flow(_queue, (("one moment\nthe end", "second"),)),
    "gate": Flow(_gate, (("allowed",),)),
    "resume": Flow(_resume, (("first", "again"),), prepare=_finished),
    "fork": Flow(_fork, (("first",),), prepare=_finished, fetched=("forked",)),
    "stop": Flow(_stop, tuple((f"{said}({stopped}.)",) for said in ("one moment\n\n", "") for stopped in STOPPED)),
    "recovery": Flow(_go_on, (("one moment\nthe end",),), prepare=_cut, deaths=1),
}
