"""Executes a line of `clew chat` through the daemon, and returns the lines to show. It prints nothing itself.

It holds the current thread, the files for the next message, and the list that `/resume N` refers to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    to_path,
)
from clew.cli.chat.reply import Reply
from clew.cli.chat.setting_commands import SettingCommands
from clew.cli.chat.thread_file import file_lines
from clew.cli.commands.handoff import wait_for_handoff
from clew.cli.commands.run import ThreadOptions, absolute, start_request
from clew.cli.commands.threads import policy_words, state_words, status_words, trace_words, waits_for
from clew.cli.completion import newest_in
from clew.cli.language import in_locale, phrase, row_name, sentence
from clew.cli.output import moment
from clew.cli.shown_gates import name_gate
from clew.cli.view.gates import is_on_its_way, is_secret, refuse_secrets, secret_message
from clew.cli.view.text_width import one_line, table
from clew.cli.view.threads import gate_table, named, thread_table
from clew.client import requests
from clew.client.requests import Sent
from clew.client.sync import Asks
from clew.model.gate_views import GateView
from clew.model.views import WhereRow
from clew.support.errors import ClewError, Refused
from clew.support.text import agent_name, clean
from clew.texts import chat_messages, slash_commands
from clew.texts.catalogue import say

LIST_SIZE = 20
PASTED = "clew-pasted-"
MAX_OWN = 50  # messages, to recognize our own in the event stream


@dataclass(slots=True)
class Talk(SettingCommands):
    client: Asks
    options: ThreadOptions  # of the next new thread
    say: Callable[[str], None]  # called while a line takes time
    thread: str | None = None
    columns: Callable[[], int | None] = lambda: None  # width of the terminal; None without one
    files: list[str] = field(default_factory=list)
    chinese: bool = False  # the language of help
    _in_chinese: bool = False  # this line
    _sees: Sequence[GateView] = ()  # the gates that this line's author sees as open
    _listed: list[str] = field(default_factory=list)
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_OWN))
    _steer_explained: bool = False

    def do(self, line: str, sees: Sequence[GateView] | None = None, asks: str | None = None) -> Reply:
        """Execute a line. An error becomes a reply, and never ends the chat. `sees` are the gates that were shown as
        open when the line was entered, `asks` is the question of a suspended thread: a short reply answers only
        these."""
        try:
            return self._do(line, sees, asks)
        except ClewError as error:
            return Reply((f"clew: {in_locale(error.words)}",), failed=True)

    def is_own(self, text: str) -> bool:
        """Whether this message was sent from here. May be called from any Python thread."""
        return text in tuple(self._said)

    def _do(self, line: str, sees: Sequence[GateView] | None, asks: str | None) -> Reply:
        match parse_line(line):
            case None:
                return Reply()
            case Message(text):
                refuse_secrets(text, sees or ())
                return self._say(name_gate(text, sees or ()), sees=sees, asks=asks)
            case Files(paths):
                return self._attach(paths)
            case Image(suffix, data):
                return self._attach((save_pasted(data, suffix),))
            case Invalid(words):
                raise Refused(words)
            case Command() as command:
                return self._run(command, sees or ())

    def _run(self, command: Command, sees: Sequence[GateView]) -> Reply:
        """Run a command of `texts/slash_commands.py` by its method here."""
        spec = slash_commands.find(command.name)
        assert spec is not None, command.name
        self._sees, self._in_chinese = sees, self.chinese or command.in_chinese
        run: Callable[[str], Reply] = getattr(self, spec.handler)
        return run(command.argument)

    def _say(
        self, text: str, *, queue: bool = False, sees: Sequence[GateView] | None = None, asks: str | None = None
    ) -> Reply:
        files, self.files = self.files, []
        self._said.append(clean(text))  # before it is sent: its event may arrive before the response
        try:
            accepted = self._send(clean(text), files, queue, sees, asks)
        except ClewError as error:
            delete_pasted(files)
            if files:
                error.reword(say("daemon.nothing_sent", error=error.words, names=_names(files)))
            raise
        if accepted.fate == "refused":
            raise Refused(accepted.reply)
        delete_pasted(files)
        moved, self.thread = self.thread != accepted.thread, accepted.thread
        steered = accepted.fate == "steer"
        return Reply(self._accepted_lines(accepted), None if steered else accepted.turn, moved)

    def _send(
        self, text: str, files: list[str], queue: bool, sees: Sequence[GateView] | None, asks: str | None
    ) -> Sent:
        if self.thread is None:
            return self.client.ask(start_request("chat", text, self.options, files))
        shown = None if sees is None else [view.id for view in sees]
        return self.client.ask(requests.send(self.thread, text, queue=queue, files=files, sees=shown, answers=asks))

    def _accepted_lines(self, accepted: Sent) -> tuple[str, ...]:
        """Explain steering once; report a queued message or an open gate each time."""
        if is_on_its_way(accepted):
            return ()
        if accepted.fate != "steer" or accepted.state == "waiting":
            return (f"· {in_locale(accepted.reply)}",) if accepted.words else ()
        explained, self._steer_explained = self._steer_explained, True
        return () if explained else (phrase("cli_chat.or_queue", reply=in_locale(accepted.reply)),)

    def _attach(self, paths: tuple[Path, ...]) -> Reply:
        for path in paths:
            if not is_file(path):
                raise Refused(sentence("cli_chat.no_file", path=path))
        self.files += [str(path) for path in paths]
        names = ", ".join(path.name for path in paths)
        return Reply((phrase("cli_chat.attached", names=names),))

    def here(self) -> str:
        if self.thread is None:
            raise Refused(sentence("cli_chat.no_thread_yet"))
        return self.thread

    def do_help(self, about: str) -> Reply:
        return Reply(tuple(help_lines(about, chinese=self._in_chinese)))

    def do_new(self, text: str) -> Reply:
        """The text goes to the new thread, and never answers a gate."""
        refuse_secrets(text, self._sees if text else ())
        former, self.thread = self.thread, None
        if not text:
            return Reply((phrase("cli_chat.next_is_new"),), moved=True)
        try:
            return self._say(text)
        except ClewError:
            self.thread = former
            raise

    def do_threads(self, _: str) -> Reply:
        found = self.client.ask(requests.threads(limit=LIST_SIZE)).threads
        self._listed = [thread.id for thread in found]
        columns = self.columns()
        rows = thread_table(found, time.time(), columns and columns - 5)
        numbers = [*([""] if columns else []), *map(str, range(1, len(found) + 1))]
        listed = tuple(f"{number:>3}  {row}" for number, row in zip(numbers, rows, strict=False))
        if not listed:
            return Reply((phrase("cli_chat.no_threads"),))
        return Reply((*listed, phrase("cli_chat.how_to_open")))

    def do_resume(self, which: str) -> Reply:
        if not which:
            return self.do_threads("")
        self.thread = self.client.ask(requests.drive(self._resolve(which))).id
        return Reply(moved=True)

    def _resolve(self, which: str) -> str:
        """The id for a number in the list that was shown last or is loaded now, or for `.`; or else the given name."""
        if which == ".":
            return newest_in(Path(absolute(self.options["workspace"])), self.client)
        if not which.isdigit() or len(which) > 3:
            return which
        if not self._listed:
            self.do_threads("")
        if not 0 < int(which) <= len(self._listed):
            raise Refused(sentence("cli_chat.no_number", which=which))
        return self._listed[int(which) - 1]

    def do_fork(self, title: str) -> Reply:
        refuse_secrets(title, self._sees if title else ())
        view = self.client.ask(requests.fork(self.here(), title=title or None))
        self.thread = view.id
        return Reply((phrase("cli_chat.forked", title=one_line(view.title)),), moved=True)

    def do_ask(self, given: str) -> Reply:
        """Its answer is shown when it is quoted into this thread."""
        refuse_secrets(given, self._sees)
        name, _, question = given.partition(" ")
        self.client.ask(requests.ask(self.here(), name.lower(), question.strip()))
        return Reply((phrase("cli_chat.agent_asked", agent=agent_name(name.lower())),))

    def do_stop(self, _: str) -> Reply:
        self.client.ask(requests.stop(self.here()))
        queued = self.client.ask(requests.thread(self.here())).queued
        more = (phrase("cli_chat.still_queued", count=queued),) if queued else ()
        return Reply((phrase("cli_chat.stopping"), *more))

    def do_handoff(self, target: str) -> Reply:
        """Hand the thread over and leave the chat; if it fails, nothing changes."""
        asked = self.client.ask(requests.hand_over(self.here(), target))
        self.say(phrase("cli_chat.handing", surface=asked.surface))
        ended = wait_for_handoff(self.client, asked)
        if ended.state != "completed":
            raise Refused(sentence("cli_chat.handoff_failed", surface=ended.surface, error=ended.error))
        return Reply((phrase("cli_chat.handed", conversation=ended.conversation),), leave=True)

    def do_away(self, target: str) -> Reply:
        where = self.client.ask(requests.go_away(target)) if target else self.client.ask(requests.away())
        if where.conversation is None:
            return Reply((phrase("cli_chat.not_away"),))
        return Reply((phrase("cli_chat.away", conversation=where.conversation),))

    def do_back(self, _: str) -> Reply:
        self.client.ask(requests.come_back())
        return Reply((phrase("cli_chat.welcome_back"),))

    def do_gates(self, _: str) -> Reply:
        rows = self.client.ask(requests.gates())
        return Reply(
            tuple(gate_table(rows, time.time(), self.columns(), self._name_of))
            if rows
            else (phrase("cli_chat.nothing_waits"),)
        )

    def _name_of(self, thread: str) -> str:
        return named(self.client.ask(requests.thread(thread)))

    def do_approve(self, given: str) -> Reply:
        """Accept by code. Refused if there is more text, since a yes cannot have a condition."""
        code, _, more = given.partition(" ")
        if more and chat_messages.word(more) not in chat_messages.YES:
            deny = phrase("cli_chat.how_to_deny", code=code)
            raise Refused(sentence("cli_chat.nothing_allowed", code=code, deny=deny))
        return self._answer(code, "y")

    def do_deny(self, given: str) -> Reply:
        code, _, reason = given.partition(" ")
        return self._answer(code, f"n {reason}".strip())

    def do_answer(self, given: str) -> Reply:
        code, _, answer = given.partition(" ")
        if not answer.strip():
            raise Refused(sentence("cli_chat.answer_too", code=code))
        return self._answer(code, answer.strip(), is_free=True)

    def _answer(self, code: str, answer: str, *, is_free: bool = False) -> Reply:
        """Send an answer to the thread of the gate, as a reply with its code. It does not change the current thread."""
        if not (code.isascii() and code.isalnum()):
            raise Refused(sentence("cli_chat.not_a_code", code=code))
        view = self.client.ask(requests.gate(code))
        if is_free and is_secret(view):
            raise Refused(secret_message(view))
        text = f"{view.code} {answer}"
        self._said.append(clean(text))
        accepted = self.client.ask(requests.send(view.thread, clean(text), sees=[view.id]))
        if accepted.fate == "refused":
            raise Refused(accepted.reply)
        if view.thread == self.thread and is_on_its_way(accepted):
            return Reply((), accepted.turn)
        lines = (f"· {in_locale(accepted.reply)}",) if accepted.words else ()
        return Reply(lines, accepted.turn if view.thread == self.thread else None)

    def do_dir(self, folder: str) -> Reply:
        if not folder:
            return Reply((_used(absolute(self.options["workspace"])),))
        path = to_path(folder.strip("'\""))
        if not os.path.isdir(path):  # noqa: PTH112 (text of any length)
            raise Refused(sentence("cli_chat.not_a_folder", path=path))
        self.options = {**self.options, "workspace": path}
        return Reply((_next_new(str(path)),))

    def do_queue(self, text: str) -> Reply:
        refuse_secrets(text, self._sees)
        return self._say(text, queue=True)

    def do_file(self, path: str) -> Reply:
        workspace = self.client.ask(requests.thread(self.here())).workspace
        return Reply(file_lines(workspace, path.strip("'\"")))

    def do_attach(self, path: str) -> Reply:
        return self._attach((parse_file_argument(path),))

    def do_status(self, _: str) -> Reply:
        view = self.client.ask(requests.thread(self.here()))
        queued = phrase("cli_chat.queued", queued=view.queued) if view.queued else ""
        rows = [
            (row_name("row_thread"), named(view)),
            (row_name("row_title"), one_line(view.title)),
            (row_name("row_status"), f"{status_words(view)}{queued}"),
            (row_name("row_waits_for"), one_line(waits_for(view))),
            (row_name("row_runtime"), " ".join(part for part in (view.runtime, view.model, view.effort) if part)),
            (row_name("row_policy"), policy_words(view)),
            (row_name("row_workspace"), view.workspace),
            (row_name("row_attached"), _names(self.files)),
        ]
        return Reply(tuple(table([(f"  {name}", value) for name, value in rows if value])))

    def do_where(self, _: str) -> Reply:
        rows = self.client.ask(requests.deliveries(self.here()))
        return Reply(tuple(table([_receipt(row) for row in rows])) if rows else (phrase("cli_chat.no_deliveries"),))

    def do_done(self, _: str) -> Reply:
        self.client.ask(requests.done(self.here()))
        return Reply((phrase("cli_chat.completed"),))

    def do_quit(self, _: str) -> Reply:
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


def _used(value: str | None) -> str:
    return phrase("cli_chat.new_threads_runtime", runtime=value or phrase("cli_chat.the_default"))


def _next_new(value: str) -> str:
    return phrase("cli_chat.from_next_new", value=value)


def _receipt(row: WhereRow) -> tuple[str, ...]:
    place = phrase("cli_threads.here") if row.conversation is None else row.conversation
    return f"  {row.delivery}", place, state_words(row.state), moment(row.sent_at), trace_words(row)
