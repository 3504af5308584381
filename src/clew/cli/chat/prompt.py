"""The prompt on a terminal: what is said in the thread comes above it, while one types. Everything that it decides is
decided elsewhere: what a line means in `lines`, what an event prints in `clew.cli.view.events`."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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
from clew.cli.chat.lines import goes_on, is_image, suggestions
from clew.cli.chat.talk import Reply, Talk
from clew.cli.completion import threads
from clew.cli.view.columns import clock, fit
from clew.cli.view.events import Aside, Piece
from clew.cli.view.gates import is_secret
from clew.cli.view.screen import frame
from clew.support.home import Home

MARK = "› "
LEAVE = "Ctrl-D or /quit leaves"
HELLO = f"· your first message begins a new thread; /help tells more, {LEAVE}"
REFRESH = 0.25  # seconds
SOON = 5.0  # seconds after a gate has gone in which the next one replaces it
QUICK = 0.6  # seconds in which nobody has read a gate and answered it


class Entered(Struct, frozen=True):
    """A line, and what its author saw as open: gates, and the question of a suspended thread."""

    line: str
    sees: Sequence[Any]
    asks: str | None


class Seen:
    """The gates that the person sees as open, and whether one has just taken the place of another, so that what they
    enter means that other one."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.gates: Sequence[Any] = ()
        self._now = now
        self._went = self._replaced = float("-inf")  # when the last one went, and when another took its place

    def show(self, open_now: Sequence[Any]) -> None:
        before, after = ({view["id"] for view in gates} for gates in (self.gates, open_now))
        now = self._now()
        if before - after:
            self._went = now
        if after - before and now - self._went < SOON:
            self._replaced = now
        self.gates = open_now

    def is_too_new_for(self, line: str) -> bool:
        """A command, and a code, say what is meant."""
        says_what = line.lstrip().startswith("/") or any(view["code"] in line.upper() for view in self.gates)
        return bool(self.gates) and not says_what and self._now() - self._replaced < QUICK


class Shell:
    """One prompt from the beginning to the end. Lines are done one after the other, in a thread of their own, so that
    one can type, and stop a turn, while the daemon is away."""

    def __init__(self, home: Home, talk: Talk) -> None:
        self._home = home
        self._talk = talk
        self._flow = Flow()
        self._lock = threading.Lock()
        self._above: list[Piece] = []  # lines that are still to be written
        self._open: Sequence[Any] = ()  # the gates that are open once these are written
        self._seen = Seen()
        self._lines: queue.SimpleQueue[Entered | None] = queue.SimpleQueue()
        self._follower: Follower | None = None
        self._interrupts = 0  # in a row, at an idle prompt
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            history=History(str(history_file(home)), self._is_secret),
            completer=Suggesting(threads),
            complete_in_thread=True,
            complete_while_typing=True,
            key_bindings=bindings(self._interrupted, self._put),
            bottom_toolbar=self._toolbar,
            prompt_continuation="… ",
            erase_when_done=True,
            refresh_interval=REFRESH,
        )
        self._session.default_buffer.accept_handler = self._entered

    def run(self) -> str:
        """Until the person leaves; how to come back."""
        doing = threading.Thread(target=self._do_lines, daemon=True)
        if self._talk.thread is None:
            self._show([Aside(HELLO)])
        else:
            self._follow(self._talk.thread, None)
        doing.start()
        with suppress(EOFError):
            self._session.prompt(pre_run=self._write_above)
        self._lines.put(None)
        doing.join()  # what was entered is sent
        return self._leave()

    def say(self, line: str) -> None:
        self._show([Aside(line)])

    def _entered(self, buffer: Buffer) -> bool:
        self._interrupts = 0
        if self._seen.is_too_new_for(buffer.text) and buffer.text.strip():
            codes = ", ".join(view["code"] for view in self._seen.gates)
            self._show([Aside(f"· {codes} came just as you pressed Enter: nothing was sent; Enter again sends it")])
            return True  # the line stays
        if buffer.text.strip():
            self._show([Aside(MARK + buffer.text.replace("\n", "\n… "))])
            self._put(buffer.text)
        return False  # the prompt goes on, with an empty line

    def _put(self, line: str) -> None:
        self._lines.put(Entered(line, self._seen.gates, self._follower.asks if self._follower else None))

    def _is_secret(self) -> bool:
        """A person may type here by mistake what nobody is to know."""
        return any(map(is_secret, self._seen.gates))

    def _do_lines(self) -> None:
        try:
            while (entered := self._lines.get()) is not None:
                if self._done(entered).leave:
                    self._end(EOFError())
                    return
        except Exception as error:  # nobody would do the next line: the chat ends, and says why
            self._end(error)

    def _end(self, reason: Exception) -> None:
        app = self._session.app

        def end() -> None:
            if app.is_running and not app.is_done:
                app.exit(exception=reason)

        if app.loop is not None:
            app.loop.call_soon_threadsafe(end)

    def _done(self, entered: Entered) -> Reply:
        reply = self._talk.do(entered.line, entered.sees, entered.asks)
        if reply.moved:
            self._move(0 if reply.turn else None)
        elif self._follower and not self._follower.is_alive():
            self._follow(self._follower.thread_id, self._follower.after)
        self._show([Aside(each) for each in reply.lines])
        return reply

    def _move(self, after: int | None) -> None:
        old, self._follower = self._follower, None
        self._show([], ())
        if old:
            old.leave()
            if old.running:
                self._show([Aside(f"· {old.thread_id} goes on; /resume {old.thread_id} comes back to it")])
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
            self._above += self._flow.flush()
        for line in self._taken():
            print(line, flush=True)
        if follower is None:
            return "nothing was begun; clew chat begins a thread"
        left = "left it running; " if running else ""
        return f"{left}clew chat {follower.thread_id} comes back to it"

    def _interrupted(self, event: KeyPressEvent) -> None:
        """Ctrl-C: the turn that runs, else the line, else a word about how to leave."""
        if self._follower and self._follower.running:
            threading.Thread(target=self._stop, daemon=True).start()
            return
        self._interrupts += 1
        if self._interrupts > 1:
            self._show([Aside(f"· {LEAVE}")])
        event.current_buffer.reset()

    def _stop(self) -> None:
        self._show([Aside(line) for line in self._talk.do("/stop").lines])

    def _show(self, pieces: Sequence[Piece], open_now: Sequence[Any] | None = None) -> None:
        """From any thread. What is open is seen as that when the lines about it are written, and not before."""
        with self._lock:
            self._open = self._open if open_now is None else open_now
            self._above += self._flow.take(pieces, self._session.output.get_size().columns - 1)
        app = self._session.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._write_above)

    def _write_above(self) -> None:
        """In the loop of the prompt. The terminal stays as it is, so that no key is lost meanwhile."""
        app = self._session.app
        if lines := self._taken():
            app.renderer.erase()
            app.output.write_raw("".join(f"{line}\n" for line in lines))
            app.output.flush()
            app.renderer.request_absolute_cursor_position()
        app.invalidate()

    def _taken(self) -> list[str]:
        with self._lock:
            lines, self._above = self._above, []
            self._seen.show(self._open)
        return [_painted(line) if isinstance(line, Aside) else line.text for line in lines]

    def _message(self) -> str:
        """The line that is being written stands right above the prompt."""
        return f"{self._flow.pending}\n{MARK}" if self._flow.pending else MARK

    def _toolbar(self) -> str:
        follower = self._follower
        running, away = (follower.running, follower.away) if follower else (None, None)
        sees = [view["code"] for view in self._seen.gates if view["blocking"]]
        line = toolbar(time.monotonic(), self._talk.thread, running, away, len(self._talk.files), sees)
        return fit(line, self._session.output.get_size().columns)


def toolbar(
    now: float, thread: str | None, running: float | None, away: float | None, files: int, sees: Sequence[str] = ()
) -> str:
    """The line at the bottom; `running` and `away` are when that began, `sees` the codes of what waits."""
    if away is not None:
        return f"{frame(now - away)} the daemon is away for {clock(now - away)}; coming back…"
    if sees:
        return f"? {', '.join(sees)} waits for you · other words go to the agent · Ctrl-C stops the turn"
    if running is not None:
        since = f"{frame(now - running)} working {clock(now - running)}"
        return f"{since} · what you say goes into it · Ctrl-C stops it, Ctrl-D leaves it running"
    attached = f" · {files} attached" if files else ""
    return f"{thread or 'a new thread'} · /help{attached}"


def _painted(aside: Aside) -> str:
    return aside.line if os.environ.get("NO_COLOR") else f"\x1b[{aside.weight}m{aside.line}\x1b[0m"


class History(FileHistory):
    """What was typed, but for what is secret."""

    def __init__(self, file: str, is_secret: Callable[[], bool]) -> None:
        super().__init__(file)
        self._is_secret = is_secret

    def append_string(self, string: str) -> None:
        if not self._is_secret():
            super().append_string(string)


def history_file(home: Home) -> Path:
    """What was typed, for its owner alone."""
    home.prepare()
    path = home.root / "chat_history"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return path


def bindings(interrupted: Callable[[KeyPressEvent], None], take: Callable[[str], None]) -> KeyBindings:
    """`take` gets a pasted image at once: nobody wants to see it as letters, or in the history."""
    keys = KeyBindings()

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        take(text.strip()) if is_image(text) else event.current_buffer.insert_text(text)

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if goes_on(buffer.text) and buffer.document.is_cursor_at_the_end:
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


class Suggesting(Completer):
    def __init__(self, threads: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._threads = threads
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/file "):
            path = Document(text[len("/file ") :].lstrip())
            yield from self._paths.get_completions(path, complete_event)
            return
        for words, start, meaning in suggestions(text, self._threads):
            yield Completion(words, start, display_meta=meaning)
