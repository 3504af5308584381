"""The prompt on a terminal: output of the thread appears above it while the person types. Lines are parsed in `lines`,
events rendered in `clew.cli.view.events`."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from clew.cli.chat.flow import Flow
from clew.cli.chat.follower import Follower
from clew.cli.chat.lines import is_continued, is_image, path_argument, suggestions
from clew.cli.chat.reply import Reply
from clew.cli.chat.talk import Talk
from clew.cli.completion import beginning_with, threads
from clew.cli.language import in_locale, phrase
from clew.cli.shown_gates import ShownGates
from clew.cli.view.events import InfoLine, Piece
from clew.cli.view.gates import is_secret
from clew.cli.view.screen import frame
from clew.cli.view.text_width import duration, fit
from clew.model.gate_views import GateView
from clew.support.home import Home

MARK = "› "
REFRESH = 0.25  # seconds


class Entered(Struct, frozen=True):
    """A line, and what was shown as open when it was entered: gates, and the question of a suspended thread."""

    line: str
    sees: Sequence[GateView]
    asks: str | None


class ChatPrompt:
    """One prompt, from start to end. A worker thread executes the lines in order, so that one can type, and stop a
    turn, while the daemon is not reachable."""

    def __init__(self, home: Home, talk: Talk) -> None:
        self._home = home
        self._talk = talk
        self._flow = Flow()
        self._lock = threading.Lock()
        self._output: list[Piece] = []  # not yet written
        self._open: Sequence[GateView] = ()  # the open gates, once the output is written
        self._shown_gates = ShownGates()
        self._lines: queue.SimpleQueue[Entered | None] = queue.SimpleQueue()
        self._follower: Follower | None = None
        self._interrupts = 0  # in a row, at an idle prompt
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            history=History(str(history_file(home)), self._is_secret),
            completer=CommandCompleter(lambda typed: beginning_with(typed, threads()), chinese=talk.chinese),
            complete_in_thread=True,
            complete_while_typing=True,
            key_bindings=bindings(self._on_ctrl_c, self._enqueue),
            bottom_toolbar=self._toolbar,
            prompt_continuation="… ",
            erase_when_done=True,
            refresh_interval=REFRESH,
        )
        self._session.default_buffer.accept_handler = self._on_enter

    def run(self) -> str:
        """Run until the person leaves; returns how to come back."""
        worker = threading.Thread(target=self._execute_lines, daemon=True)
        if self._talk.thread is None:
            self._show([InfoLine(phrase("cli_chat.welcome", leave=phrase("cli_chat.how_to_leave")))])
        else:
            self._follow(self._talk.thread, None)
        worker.start()
        with suppress(EOFError):
            self._session.prompt(pre_run=self._write_first)
        self._lines.put(None)
        worker.join()  # entered lines are sent before leaving
        return self._leave()

    def say(self, line: str) -> None:
        self._show([InfoLine(in_locale(line))])

    def _on_enter(self, buffer: Buffer) -> bool:
        self._interrupts = 0
        if self._shown_gates.is_too_new_for(buffer.text) and buffer.text.strip():
            self._show([InfoLine(phrase("cli_chat.press_again", why_held=self._shown_gates.why_held()))])
            return True  # keep the line
        if buffer.text.strip():
            self._show([InfoLine(MARK + buffer.text.replace("\n", "\n… "))])
            self._enqueue(buffer.text)
        return False  # continue with an empty line

    def _enqueue(self, line: str) -> None:
        self._lines.put(Entered(line, self._shown_gates.gates, self._follower.asks if self._follower else None))

    def _is_secret(self) -> bool:
        """Whether a secret is asked for, which must not get into the history."""
        return any(map(is_secret, self._shown_gates.gates))

    def _execute_lines(self) -> None:
        try:
            while (entered := self._lines.get()) is not None:
                if self._execute(entered).leave:
                    self._end(EOFError())
                    return
        except Exception as error:  # no further line could be executed: end the chat with the error
            self._end(error)

    def _end(self, reason: Exception) -> None:
        app = self._session.app

        def end() -> None:
            if app.is_running and not app.is_done:
                app.exit(exception=reason)

        if app.loop is not None:
            app.loop.call_soon_threadsafe(end)

    def _execute(self, entered: Entered) -> Reply:
        reply = self._talk.do(entered.line, entered.sees, entered.asks)
        if reply.moved:
            self._switch_thread(0 if reply.turn else None)
        elif self._follower and not self._follower.is_alive():
            self._follow(self._follower.thread_id, self._follower.after)
        self._show([InfoLine(each) for each in reply.lines])
        return reply

    def _switch_thread(self, after: int | None) -> None:
        old, self._follower = self._follower, None
        self._show([], ())
        if old:
            old.leave()
            if old.running:
                self._show([InfoLine(phrase("cli_chat.old_continues", thread=old.handle, again=old.handle))])
        if self._talk.thread:
            self._follow(self._talk.thread, after)

    def _follow(self, thread: str, after: int | None) -> None:
        self._follower = Follower(self._home, thread, self._show, after, self._talk.is_own)
        self._follower.start()

    def _leave(self) -> str:
        follower = self._follower
        running = follower.running if follower else None
        if follower:
            follower.leave()
        with self._lock:
            self._output += self._flow.flush()
        for line in self._take_output():
            print(line, flush=True)
        if follower is None:
            return phrase("cli_chat.nothing_started")
        left = phrase("cli_chat.left_running") if running else ""
        return phrase("cli_chat.how_to_return", left=left, thread_id=follower.handle)

    def _on_ctrl_c(self, event: KeyPressEvent) -> None:
        """Ctrl-C stops the running turn, or clears the line, or says how to leave."""
        if self._follower and self._follower.running:
            threading.Thread(target=self._stop, daemon=True).start()
            return
        self._interrupts += 1
        if self._interrupts > 1:
            self._show([InfoLine("· " + phrase("cli_chat.how_to_leave"))])
        event.current_buffer.reset()

    def _stop(self) -> None:
        self._show([InfoLine(line) for line in self._talk.do("/stop").lines])

    def _show(self, pieces: Sequence[Piece], open_now: Sequence[GateView] | None = None) -> None:
        """Add output, from any Python thread. Gates count as shown only when their lines are written."""
        with self._lock:
            self._open = self._open if open_now is None else open_now
            self._output += self._flow.take(pieces, self._session.output.get_size().columns - 1)
        app = self._session.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._write_output)

    def _write_first(self) -> None:
        """Write what there is once the terminal is in raw mode: before, it would echo where it says its cursor is."""
        loop = self._session.app.loop
        assert loop is not None
        loop.call_soon(self._write_output)

    def _write_output(self) -> None:
        """Write the output, in the event loop of the prompt. The terminal mode is not changed, so no key is lost."""
        app = self._session.app
        if lines := self._take_output():
            app.renderer.erase()
            app.output.write_raw("".join(f"{line}\n" for line in lines))
            app.output.flush()
            app.renderer.request_absolute_cursor_position()
        app.invalidate()

    def _take_output(self) -> list[str]:
        with self._lock:
            lines, self._output = self._output, []
            self._shown_gates.show(self._open)
        return [_colored(line) if isinstance(line, InfoLine) else line.text for line in lines]

    def _message(self) -> str:
        """The prompt, with the unfinished line of text right above it."""
        return f"{self._flow.pending}\n{MARK}" if self._flow.pending else MARK

    def _shown_name(self) -> str | None:
        return self._follower.handle if self._follower and self._talk.thread else self._talk.thread

    def _toolbar(self) -> str:
        follower = self._follower
        running, away = (follower.running, follower.away) if follower else (None, None)
        sees = [view.code for view in self._shown_gates.gates if view.blocking]
        line = toolbar(time.monotonic(), self._shown_name(), running, away, len(self._talk.files), sees)
        return fit(line, self._session.output.get_size().columns)


def toolbar(
    now: float, thread: str | None, running: float | None, away: float | None, files: int, sees: Sequence[str] = ()
) -> str:
    """The line at the bottom; `running` and `away` are start times, `sees` the codes of blocking gates."""
    if away is not None:
        return phrase("cli_chat.daemon_away", frame=frame(now - away), time=duration(now - away))
    if sees:
        return phrase("cli_chat.waits_for_you", codes=", ".join(sees))
    if running is not None:
        since = phrase("cli_chat.working", frame=frame(now - running), time=duration(now - running))
        return phrase("cli_chat.while_running", since=since)
    attached = phrase("cli_chat.files_attached", files=files) if files else ""
    return f"{thread or phrase('cli_chat.new_thread')} · /help{attached}"


def _colored(aside: InfoLine) -> str:
    return aside.line if os.environ.get("NO_COLOR") else f"\x1b[{aside.weight}m{aside.line}\x1b[0m"


class History(FileHistory):
    """The history of typed lines, without secrets."""

    def __init__(self, file: str, is_secret: Callable[[], bool]) -> None:
        super().__init__(file)
        self._is_secret = is_secret

    def append_string(self, string: str) -> None:
        if not self._is_secret():
            super().append_string(string)


def history_file(home: Home) -> Path:
    """The private file of the history."""
    home.prepare()
    path = home.root / "chat_history"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return path


def bindings(interrupted: Callable[[KeyPressEvent], None], take: Callable[[str], None]) -> KeyBindings:
    """`take` gets a pasted image at once, so that its data is neither shown nor stored in the history."""
    keys = KeyBindings()

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        take(text.strip()) if is_image(text) else event.current_buffer.insert_text(text)

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_continued(buffer.text) and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    keys.add("c-c")(interrupted)
    keys.add("<sigint>")(interrupted)
    return keys


class CommandCompleter(Completer):
    def __init__(self, threads: Callable[[str], Iterable[tuple[str, str]]], *, chinese: bool = False) -> None:
        self._threads = threads
        self._chinese = chinese
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        path = path_argument(text)
        if path is not None:
            yield from self._paths.get_completions(Document(path), complete_event)
            return
        for words, start, help_line in suggestions(text, self._threads, chinese=self._chinese):
            yield Completion(words, start, display_meta=help_line)
