"""Which Claude has which session open. Each has a file in Claude's folder that says so; after a crash the file stays,
so the process is compared by its start."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from clew.process import scan
from clew.process.scan import Process
from clew.runtimes.claude.record import transcript
from clew.runtimes.claude.settings import ClaudeConfig
from clew.texts.catalogue import say


class OpenSession(Struct, rename="camel", frozen=True):
    """What a running Claude says of itself."""

    pid: int = 0
    proc_start: str | None = None
    session_id: str = ""

    def is_of(self, process: Process) -> bool:
        """Whether it was this process that said it, not an earlier one with its pid."""
        return sys.platform != "linux" or self.proc_start in (None, process.started)


def read_all(config: ClaudeConfig) -> Iterator[OpenSession]:
    for path in (transcript.folder(config) / "sessions").glob("*.json"):
        if (found := _read(path)) is not None:
            yield found


def holders(config: ClaudeConfig, sessions: Collection[str], store: str) -> dict[str, str]:
    """Return which of these sessions a program has open, and the program. Our own processes do not count."""
    return {
        opened.session_id: say("claude.program_with_pid", pid=opened.pid)
        for opened in read_all(config)
        if opened.session_id in sessions and _runs_elsewhere(opened, store)
    }


def _read(path: Path) -> OpenSession | None:
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), OpenSession)
    except (OSError, ValueError, msgspec.ValidationError):
        return None  # just deleted, or of another shape


def _runs_elsewhere(opened: OpenSession, store: str) -> bool:
    process = scan.get(opened.pid)
    is_ours = process is not None and process.mark is not None and process.mark.store == store
    return process is not None and opened.is_of(process) and not is_ours
