"""The setup of the demo: a temporary home, a scripted model, a webhook receiver, and a fake phone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clew.cli.demo import words
from clew.cli.demo.phone import OWNER
from clew.client.sync import Client
from clew.config import edit
from clew.process import lock, scan, start
from clew.process.stop import stop_daemon
from clew.support.errors import ClewError, RuntimeTrouble
from clew.support.home import Home
from clew.testing.scripted_model import write_codex_home
from clew.texts.catalogue import say

HOOK = "webhook:demo"
STEP_TIMEOUT = 30.0  # seconds for any step
GRACE = 5.0  # seconds for a helper to end


class ReceivedBody(Struct, frozen=True):
    kind: str


class Received(Struct, frozen=True):
    """A delivery that the webhook received."""

    key: str
    body: ReceivedBody


class Shown(Struct, frozen=True):
    """A message on the phone."""

    text: str
    message_thread_id: int | None = None


class Helper:
    """A helper process, which prints its address and runs until it is ended."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the demo, which then ends the helper
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            self.end()
            raise ClewError(say("cli_demo.not_started", module=module))

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class DemoSetup:
    """The constructor cannot fail, so that `take_down` always works; `build` does what may fail."""

    def __init__(self, runtime: str | None) -> None:
        self.runtime = runtime
        self.why_not_codex: str | None = None
        self.home = Home(Path(tempfile.mkdtemp(prefix="clew-demo-")).resolve())
        self.client = Client(self.home)
        self._helpers: list[Helper] = []
        self._pipe: int | None = None  # for the scripted runtime: while it is open, the turn is held

    def build(self) -> str:
        """Build the setup; returns a description of its runtime."""
        version = self._codex_version() if self.runtime != "scripted" else None
        self.runtime = "codex" if version else "scripted"
        self._receiver = self._start_helper("clew.cli.demo.receiver")
        self._phone = self._start_helper("clew.cli.demo.phone")
        if version:
            self._model = self._start_helper("clew.testing.scripted_model")
            write_codex_home(self.home.root / "codex", self._model.url)
        self.workspace.mkdir()
        edit.write(self.home.config, self._config())  # private: it contains a secret
        start.ensure_daemon(self.home, _ignore)
        return say("cli_demo.codex", version=version) if version else say("cli_demo.scripted")

    @property
    def workspace(self) -> Path:
        return self.home.root / "labyrinth"

    def wait_held(self) -> None:
        """Wait until the turn reaches the hold in its script."""
        if self.runtime == "codex":
            self._control("GET", "held")
        else:
            self._pipe = self._open_hold()

    def let_go(self) -> None:
        """Release the hold, now and for later turns."""
        if self.runtime == "codex":
            self._control("POST", "release")
        else:
            self._close_hold()
            self._pipe = self._open_hold()
            self._close_hold()

    def received(self) -> list[Received]:
        with urllib.request.urlopen(self._receiver.url, timeout=STEP_TIMEOUT) as response:
            return msgspec.json.decode(response.read(), type=list[Received])

    def shown(self) -> list[Shown]:
        """The messages shown on the phone."""
        with urllib.request.urlopen(self._phone.url, timeout=STEP_TIMEOUT) as response:
            return msgspec.json.decode(response.read(), type=list[Shown])

    def say_on_the_phone(self, text: str, topic: int) -> None:
        said = json.dumps({"text": text, "topic": topic}).encode()
        with urllib.request.urlopen(f"{self._phone.url}say", said, timeout=STEP_TIMEOUT):
            pass

    def still_running(self) -> list[str]:
        """Processes of this home that still run, as text."""
        found = []
        if start.is_supervised(self.home):
            found.append(say("cli_demo.the_supervisor"))
        if not lock.is_free(self.home.lock):
            found.append(say("cli_demo.the_daemon"))
        holder = lock.read(self.home.lock)
        children = scan.children(holder.store) if holder and holder.store else []
        return [
            *found,
            *(say("cli_demo.process", command=process.command, pid=str(process.pid)) for process in children),
        ]

    def helpers(self) -> list[int]:
        return [helper.pid for helper in self._helpers]

    def take_down(self, *, folder: bool) -> None:
        with ExitStack() as also:
            if folder:
                also.callback(shutil.rmtree, self.home.root, ignore_errors=True)
            for helper in self._helpers:
                also.callback(helper.end)
            also.callback(self._close_hold)
            stop_daemon(self.home, 0, _ignore)

    def _start_helper(self, module: str) -> Helper:
        helper = Helper(module)
        self._helpers.append(helper)
        return helper

    def _codex_version(self) -> str | None:
        import asyncio

        from clew.runtimes.codex.server.binary import find
        from clew.runtimes.codex.settings import CodexConfig
        from clew.support.clock import SystemClock

        clock = SystemClock()
        try:
            marks = scan.Marks(f"demo-{clock.token()[:12]}", "demo")
            return asyncio.run(find(CodexConfig(), clock, marks)).version
        except RuntimeTrouble as error:
            self.why_not_codex = error.message
            return None

    def _config(self) -> str:
        codex = f"[runtimes.codex]\nhome = {json.dumps(str(self.home.root / 'codex'))}\n"
        secret = json.dumps(os.urandom(16).hex())
        hook = f'[surfaces.webhook.demo]\nurl = "{self._receiver.url}"\nsecret = {secret}\n'
        phone = (
            f'[surfaces.telegram]\ntoken = "1:{os.urandom(8).hex()}"\nbase_url = "{self._phone.url}"\n'
            f'allow = ["{OWNER["id"]}"]\nhome = "{OWNER["id"]}"\n'
        )
        return f'[threads]\nruntime = "{self.runtime}"\n{codex if self.runtime == "codex" else ""}{hook}{phone}'

    def _control(self, method: str, what: str) -> None:
        url = f"{self._model.url.removesuffix('/v1')}/control/{what}/{words.HOLD}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=STEP_TIMEOUT):
            pass

    def _open_hold(self) -> int:
        """Open the named pipe that the scripted runtime reads; blocks until it reads."""
        path = self.home.root / "scripted" / "holds" / words.HOLD
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        return os.open(path, os.O_WRONLY)

    def _close_hold(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


def _ignore(line: str) -> None:
    """The demo prints its own lines."""
