"""A small tree of errors. Each message says what happened, to what, and what to do next; the same words everywhere.

`code` is for programs, `exit` is the CLI's exit code: 1 refused or failed, 2 wrong usage, 3 the daemon is out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator


class ClewError(Exception):
    code = "error"
    exit = 1
    status = 500  # the HTTP status

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = str(message)
        self.words = message  # for a chat, which may want it in another language


class Refused(ClewError):
    """What was asked cannot be done in the state that things are in."""

    code = "refused"
    status = 409


class NotFound(Refused):
    code = "not_found"
    status = 404


class BadInput(ClewError):
    """What was asked is malformed."""

    code = "bad_input"
    exit = 2
    status = 422


class ConfigError(ClewError):
    """The config file cannot be used as it is; the message names the line."""

    code = "config"


class OutOfReach(ClewError):
    """No daemon answers."""

    code = "out_of_reach"
    exit = 3
    status = 503


class Stopped(OutOfReach):
    """The daemon was stopped on purpose, so it is not started again behind the back of who did it."""

    code = "stopped"


class NotAnswering(OutOfReach):
    """The daemon is there, and does not answer."""

    code = "deaf"


class StoreError(ClewError):
    """The database cannot be used: corrupt, newer than the program, read-only, full, held by another daemon."""

    code = "store"
    status = 503


class SearchTooLong(ClewError):
    """A search was given up, so that other work does not wait for it."""

    code = "search_too_long"
    status = 503


class SearchBusy(ClewError):
    """Too many searches run or wait already."""

    code = "search_busy"
    status = 503


class StoreHeld(StoreError):
    """Another daemon holds the store."""

    code = "store_held"


class RuntimeTrouble(ClewError):
    """A runtime cannot work: missing, too old, not logged in, exits at start."""

    code = "runtime"
    status = 503


class RuntimeHeld(RuntimeTrouble):
    """Another program uses the session, and it is not taken away from it."""

    code = "held"
    status = 409


class RuntimeLost(RuntimeTrouble):
    """The connection to a runtime is gone. It decides nothing: the runtime's own record is asked."""

    code = "runtime_lost"


def error_of(code: str, message: str) -> ClewError:
    """The error with this code, so also with its exit code; a plain ClewError if the code is unknown."""
    kinds = {kind.code: kind for kind in _kinds(ClewError)}
    error = kinds.get(code, ClewError)(message)
    error.code = code
    return error


def _kinds(base: type[ClewError]) -> Iterator[type[ClewError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)
