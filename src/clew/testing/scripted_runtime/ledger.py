"""The scripted runtime's own record: how far each turn was played. It may outlive its process."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from clew.model.events import Activity
from clew.model.gates import Answer
from clew.model.messages import PromptMessage
from clew.model.turns import Problem, TurnState
from clew.support import private_files


class Played(Struct, frozen=True):
    """One turn and how far it was played."""

    turn: str
    messages: tuple[PromptMessage, ...]
    position: int = 0  # the next step
    state: TurnState = TurnState.RUNNING
    texts: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    problem: Problem | None = None
    steers: tuple[PromptMessage, ...] = ()
    answers: tuple[tuple[str, Answer], ...] = ()  # by the reference of their gate, in order; without secrets
    executions: tuple[str, ...] = ()  # accepted commands, one entry for each run
    prelude: str = ""  # what it was told of what happened before

    @property
    def text(self) -> str:
        return self.texts[-1] if self.texts else ""


class Ledger(Protocol):
    def load(self, session: str) -> list[Played]: ...

    def save(self, session: str, played: list[Played]) -> None: ...


class MemoryLedger:
    def __init__(self) -> None:
        self._sessions: dict[str, list[Played]] = {}

    def load(self, session: str) -> list[Played]:
        return list(self._sessions.get(session, ()))

    def save(self, session: str, played: list[Played]) -> None:
        self._sessions[session] = list(played)


class FileLedger:
    """One JSON file per session, replaced atomically, readable by its owner only, because it contains prompts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, session: str) -> list[Played]:
        with contextlib.suppress(FileNotFoundError):
            return msgspec.json.decode(self._path(session).read_bytes(), type=list[Played])
        return []

    def save(self, session: str, played: list[Played]) -> None:
        private_files.make_folder(self._folder)
        draft = self._path(session).with_suffix(".draft")
        private_files.write(draft, msgspec.json.encode(played))
        draft.replace(self._path(session))

    def _path(self, session: str) -> Path:
        return self._folder / f"{session}.json"
