"""The errors of clew. Each message says what happened, to what, and what to do next; all interfaces show the same text.

`code` is for programs, `exit` is the CLI's exit code: 1 refused or failed, 2 wrong usage, 3 the daemon is unreachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import ClassVar


class ClewError(Exception):
    code = "error"
    exit = 1
    status = 500  # the HTTP status

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = str.__str__(message)
        self.words = message  # may be a Text or a Bilingual, for other languages

    def reword(self, words: str) -> None:
        """Say more than the message said."""
        self.message, self.words = str.__str__(words), words


class Refused(ClewError):
    """The request cannot be done in the current state."""

    code = "refused"
    status = 409


class NotFound(Refused):
    code = "not_found"
    status = 404


class BadInput(ClewError):
    """The request is malformed."""

    code = "bad_input"
    exit = 2
    status = 422


class Ambiguous(BadInput):
    """A name fits several things; the message lists them."""

    code = "ambiguous"
    status = 409


class ConfigError(ClewError):
    """The config file is invalid; the message names the line."""

    code = "config"


class OutOfReach(ClewError):
    """The daemon cannot be reached."""

    code = "out_of_reach"
    exit = 3
    status = 503


class Stopped(OutOfReach):
    """The daemon was stopped on purpose, so clew does not start it again by itself."""

    code = "stopped"


class NotAnswering(OutOfReach):
    """The daemon runs, but does not answer."""

    code = "deaf"


class StoreError(ClewError):
    """The database cannot be used: damaged, newer than the program, read-only, full, or held by another daemon."""

    code = "store"
    status = 503


class UnreadableRow(ClewError):
    """A row of the database cannot be read. Only what needs this row fails; `clew repair` sets it aside."""

    code = "bad_row"

    def __init__(self, message: str, brief: str = "") -> None:
        """`brief`: which row, and why, without what to do."""
        super().__init__(message)
        self.brief = brief


class SearchTooLong(ClewError):
    """A search hit its deadline."""

    code = "search_too_long"
    status = 503


class SearchBusy(ClewError):
    """Too many searches run or wait already."""

    code = "search_busy"
    status = 503


class StoreHeld(StoreError):
    """Another daemon holds the store."""

    code = "store_held"


class Unable(StrEnum):
    """Why an agent cannot work at all."""

    MISSING = "missing"
    TOO_OLD = "too_old"
    EXITS = "exits"  # at its start
    NOT_LOGGED_IN = "not_logged_in"


class RuntimeTrouble(ClewError):
    """A runtime cannot work: it is missing, too old, not logged in, or exits at start."""

    code = "runtime"
    status = 503
    unable: ClassVar[Unable | None] = None  # set by subclasses; None: it may be able to

    def __init__(self, message: str, advice: str = "", *, died_starting: bool = False) -> None:
        """`advice`: what to do, alone, for those who show it apart; the message has it too. `died_starting`: its
        program ended before it was ready. Nothing ran, so it can simply be started again."""
        super().__init__(message)
        self.advice = advice
        self.died_starting = died_starting


class NoRuntime(RuntimeTrouble):
    """The config names no such runtime."""

    code = "runtime_missing"
    unable = Unable.MISSING


class RuntimeHeld(RuntimeTrouble):
    """Another program uses the session, and clew does not take it away."""

    code = "held"
    status = 409


class RuntimeLost(RuntimeTrouble):
    """The connection to a runtime is lost. The turn's outcome is unknown until the runtime's own record is read."""

    code = "runtime_lost"


class RunError(ClewError):
    """`clew.run` has no answer. `thread` is the thread that it started."""

    code = "run"

    def __init__(self, message: str, thread: str = "") -> None:
        super().__init__(message)
        self.thread = thread


class TurnFailed(RunError):
    """The turn of `clew.run` failed, or somebody stopped it."""

    code = "turn_failed"


class WaitsForPerson(RunError):
    """The agent asks something, so the turn of `clew.run` waits for a person."""

    code = "waits_for_person"
    exit = 5
    status = 409


class TimedOut(RunError):
    """The turn of `clew.run` was not over in time. It goes on."""

    code = "timed_out"
    exit = 6
    status = 504


def error_of(code: str, message: str) -> ClewError:
    """An error of the class that has this code; a plain ClewError if the code is unknown."""
    kinds = {kind.code: kind for kind in _kinds(ClewError) if "code" in vars(kind)}  # others are built in other ways
    error = kinds.get(code, ClewError)(message)
    error.code = code
    return error


def _kinds(base: type[ClewError]) -> Iterator[type[ClewError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)
