"""Executes a line of `clew chat` through the daemon, and returns the lines to show. It prints nothing itself.

It holds the current thread, the files for the next message, and the list that `/resume N` refers to.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from clew.cli.chat.lines import (
    Command,
    Files,
    Image,
    Invalid,
    Message,
    help_lines,
    is_file,
    parse_file_argument,
    parse_line,
)
from clew.cli.commands.handoff import wait_for_handoff
from clew.cli.commands.threads import state_words, status_words, trace_words, waits_for
from clew.cli.output import moment
from clew.cli.view.columns import one_line, table
from clew.cli.view.gates import refuse_secrets
from clew.cli.view.threads import thread_table
from clew.client.sync import new_message_id
from clew.support.errors import ClewError, Refused
from clew.support.text import clean

LIST_SIZE = 20
PASTED = "clew-pasted-"
MAX_OWN = 50  # messages, to recognize our own in the event stream
Opening = Callable[[str], dict[str, Any]]  # the request body that starts a thread with this text


class Api(Protocol):
    """The part of the client that `Talk` uses."""

    def get(self, *path: str, **query: object) -> Any: ...
    def post(self, *path: str, body: Any = None) -> Any: ...
    def put(self, *path: str, body: Any) -> Any: ...
    def delete(self, *path: str) -> Any: ...


class Reply(Struct, frozen=True):
    """The result of a line. `turn` is the turn that the message started; `moved`: the current thread has changed."""

    lines: tuple[str, ...] = ()
    turn: str | None = None
    moved: bool = False
    leave: bool = False
    failed: bool = False


@dataclass(slots=True)
class Talk:
    client: Api
    opening: Opening
    thread: str | None = None
    columns: Callable[[], int | None] = lambda: None  # width of the terminal; None without one
    files: list[str] = field(default_factory=list)
    say: Callable[[str], None] = lambda line: None  # called while a line takes time
    _listed: list[str] = field(default_factory=list)
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_OWN))
    _steer_explained: bool = False

    def do(self, line: str, sees: Sequence[Any] | None = None, asks: str | None = None) -> Reply:
        """Execute a line. An error becomes a reply, and never ends the chat. `sees` are the gates that were shown as
        open when the line was entered, `asks` is the question of a suspended thread: a short reply answers only
        these."""
        try:
            return self._do(line, sees, asks)
        except ClewError as error:
            return Reply((f"clew: {error.message}",), failed=True)

    def is_own(self, text: str) -> bool:
        """Whether this message was sent from here. May be called from any Python thread."""
        return text in tuple(self._said)

    def _do(self, line: str, sees: Sequence[Any] | None, asks: str | None) -> Reply:
        match parse_line(line):
            case None:
                return Reply()
            case Message(text):
                refuse_secrets(text, sees or ())
                return self._say(text, sees=sees, asks=asks)
            case Files(paths):
                return self._attach(paths)
            case Image(suffix, data):
                return self._attach((save_pasted(data, suffix),))
            case Invalid(words):
                raise Refused(words)
            case Command(name, argument):
                return _DO[name](self, argument)

    def _say(
        self, text: str, *, queue: bool = False, sees: Sequence[Any] | None = None, asks: str | None = None
    ) -> Reply:
        files, self.files = self.files, []
        self._said.append(clean(text))  # before it is sent: its event may arrive before the response
        try:
            accepted = self._send(clean(text), files, queue, sees, asks)
        except ClewError as error:
            delete_pasted(files)
            if files:
                error.message += f" Nothing was sent. Attach {_names(files)} again."
            raise
        if accepted["fate"] == "refused":
            raise Refused(accepted["words"])
        delete_pasted(files)
        moved, self.thread = self.thread != accepted["thread"], accepted["thread"]
        steered = accepted["fate"] == "steer"
        return Reply(self._accepted_lines(accepted), None if steered else accepted["turn"], moved)

    def _send(self, text: str, files: list[str], queue: bool, sees: Sequence[Any] | None, asks: str | None) -> Any:
        if self.thread is None:
            return self.client.post("threads", body={**self.opening(text), "attachments": files})
        body = {"message_id": new_message_id(), "text": text, "queue": queue, "attachments": files}
        body |= {} if sees is None else {"sees": [view["id"] for view in sees]}
        body |= {} if asks is None else {"answers": asks}
        return self.client.post("threads", self.thread, "messages", body=body)

    def _accepted_lines(self, accepted: Any) -> tuple[str, ...]:
        """Explain steering once; report a queued message or an open gate each time."""
        if accepted["fate"] != "steer" or accepted["state"] == "waiting":
            return (f"· {accepted['words']}",) if accepted["words"] else ()
        explained, self._steer_explained = self._steer_explained, True
        return () if explained else (f"· {accepted['words']} /queue TEXT sends it after the turn.",)

    def _attach(self, paths: tuple[Path, ...]) -> Reply:
        for path in paths:
            if not is_file(path):
                raise Refused(f"there is no file {path}")
        self.files += [str(path) for path in paths]
        names = ", ".join(path.name for path in paths)
        return Reply((f"· attached {names}; it is sent with your next message",))

    def _here(self) -> str:
        if self.thread is None:
            raise Refused("there is no thread yet; send a message to start one, or /resume one")
        return self.thread

    def _help(self, _: str) -> Reply:
        return Reply(tuple(help_lines()))

    def _new(self, _: str) -> Reply:
        self.thread = None
        return Reply(("· your next message starts a new thread",), moved=True)

    def _threads(self, _: str) -> Reply:
        found = self.client.get("threads", limit=LIST_SIZE)["threads"]
        self._listed = [thread["id"] for thread in found]
        columns = self.columns()
        rows = thread_table(found, time.time(), columns and columns - 5)
        numbers = [*([""] if columns else []), *map(str, range(1, len(found) + 1))]
        listed = tuple(f"{number:>3}  {row}" for number, row in zip(numbers, rows, strict=False))
        return Reply(listed or ("· there are no threads yet; send a message to start one",))

    def _resume(self, which: str) -> Reply:
        self.thread = self.client.post("threads", self._resolve(which), "wheel")["id"]
        return Reply(moved=True)

    def _resolve(self, which: str) -> str:
        if which.isdigit() and len(which) < 4:
            if not 0 < int(which) <= len(self._listed):
                raise Refused(f"there is no number {which} in the list; see /threads")
            return self._listed[int(which) - 1]
        return which or self._newest_other()

    def _newest_other(self) -> str:
        found = [each["id"] for each in self.client.get("threads", limit=2)["threads"] if each["id"] != self.thread]
        if not found:
            raise Refused("there is no other thread")
        return str(found[0])

    def _fork(self, _: str) -> Reply:
        view = self.client.post("threads", self._here(), "fork", body={"turn": None, "title": None})
        self.thread = view["id"]
        return Reply((f"· forked: {one_line(view['title'])}",), moved=True)

    def _stop(self, _: str) -> Reply:
        self.client.post("threads", self._here(), "stop")
        return Reply(("· stopping the turn…",))

    def _handoff(self, target: str) -> Reply:
        """Hand the thread over and leave the chat; if it fails, nothing changes."""
        asked = self.client.post("handoffs", body={"thread": self._here(), "target": target})
        self.say(f"· handing the thread to {asked['surface']}…")
        ended = wait_for_handoff(self.client, asked)
        if ended["state"] != "completed":
            raise Refused(f"the handoff to {ended['surface']} failed: {ended['error']} The thread stays here.")
        return Reply((f"· the thread continues in {ended['conversation']}",), leave=True)

    def _away(self, target: str) -> Reply:
        where = self.client.put("away", body={"target": target})
        return Reply((f"· what this terminal would show is also sent to {where['conversation']}; /back ends that",))

    def _back(self, _: str) -> Reply:
        self.client.delete("away")
        return Reply(("· welcome back",))

    def _queue(self, text: str) -> Reply:
        return self._say(text, queue=True)

    def _file(self, path: str) -> Reply:
        return self._attach((parse_file_argument(path),))

    def _status(self, _: str) -> Reply:
        view = self.client.get("threads", self._here())
        queued = f", {view['queued']} queued" if view["queued"] else ""
        rows = [
            ("  thread", view["id"]),
            ("  title", one_line(view["title"])),
            ("  status", f"{status_words(view)}{queued}"),
            ("  waits for", one_line(waits_for(view))),
            ("  runtime", " ".join(part for part in (view["runtime"], view["model"], view["effort"]) if part)),
            ("  policy", view["policy"]),
            ("  workspace", view["workspace"]),
            ("  attached", _names(self.files)),
        ]
        return Reply(tuple(table([row for row in rows if row[1]])))

    def _where(self, _: str) -> Reply:
        rows = self.client.get("threads", self._here(), "deliveries")
        return Reply(tuple(table([_receipt(row) for row in rows])) if rows else ("· it has no deliveries yet",))

    def _done(self, _: str) -> Reply:
        self.client.post("threads", self._here(), "done")
        return Reply(("· completed; your next message reopens it",))

    def _quit(self, _: str) -> Reply:
        return Reply(leave=True)


def save_pasted(data: bytes, suffix: str) -> Path:
    """Save pasted data as a private file, until it is sent."""
    folder = Path(tempfile.mkdtemp(prefix=PASTED))
    path = folder / f"pasted{suffix}"
    path.write_bytes(data)
    return path


def delete_pasted(files: list[str]) -> None:
    """Delete files with pasted data: the daemon has copies, or they were never sent."""
    for folder in {Path(file).parent for file in files}:
        if folder.name.startswith(PASTED):
            shutil.rmtree(folder, ignore_errors=True)


def _names(files: list[str]) -> str:
    return ", ".join(Path(file).name for file in files)


def _receipt(row: Any) -> tuple[str, ...]:
    place = "here" if row["conversation"] is None else row["conversation"]
    return f"  {row['delivery']}", place, state_words(row["state"]), moment(row["sent_at"]), trace_words(row)


_DO: dict[str, Callable[[Talk, str], Reply]] = {
    "help": Talk._help,
    "new": Talk._new,
    "threads": Talk._threads,
    "resume": Talk._resume,
    "fork": Talk._fork,
    "stop": Talk._stop,
    "handoff": Talk._handoff,
    "away": Talk._away,
    "back": Talk._back,
    "queue": Talk._queue,
    "file": Talk._file,
    "status": Talk._status,
    "where": Talk._where,
    "done": Talk._done,
    "quit": Talk._quit,
}
