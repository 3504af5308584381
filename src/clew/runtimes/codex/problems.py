"""Error texts about Codex: what happened and what to do. In one module, so that `ping`, `doctor` and a failed turn say
the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clew.model.turns import Problem
from clew.support.coded import Text
from clew.support.errors import RuntimeHeld, RuntimeTrouble, Unable
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.runtimes.codex.wire import TurnError

_BACKTRACE = re.compile(r"Stack backtrace|\d+: |at |Location:")


class CodexMissing(RuntimeTrouble):
    code = "codex_missing"
    unable = Unable.MISSING


class CodexTooOld(RuntimeTrouble):
    code = "codex_too_old"
    unable = Unable.TOO_OLD


class CodexExits(RuntimeTrouble):
    code = "codex_exits"
    unable = Unable.EXITS


class CodexNotLoggedIn(RuntimeTrouble):
    code = "codex_not_logged_in"
    unable = Unable.NOT_LOGGED_IN


class CodexRefuses(RuntimeTrouble):
    """Codex runs, but refused a request that clew needs."""

    code = "codex_refuses"


def missing(where: str) -> CodexMissing:
    advice = say("codex.install")
    return CodexMissing(say("codex.missing", where=where, advice=advice), advice)


def cannot_start(path: str, error: OSError) -> CodexMissing:
    return missing(say("codex.at_path", path=path, error=error.strerror or str(error)))


def unusable(path: str, why: str) -> CodexMissing:
    advice = say("codex.install")
    return CodexMissing(say("codex.unusable", path=path, why=why, advice=advice), advice)


def too_old(path: str, version: str, needed: str) -> CodexTooOld:
    advice = say("codex.install")
    return CodexTooOld(say("codex.too_old", version=version, path=path, needed=needed, advice=advice), advice)


def no_version(path: str, reply: str) -> CodexExits:
    advice = say("codex.install")
    return CodexExits(say("codex.no_version", path=path, reply=reply or say("codex.nothing"), advice=advice), advice)


def no_answer(path: str, seconds: float) -> CodexExits:
    return CodexExits(say("codex.version_silent", path=path, seconds=f"{seconds:g}"))


def exits(path: str, fate: str, stderr_tail: Iterable[str] = (), *, died: bool = True) -> CodexExits:
    """`died`: it ended; otherwise it does not answer."""
    words = [line for line in stderr_tail if not _BACKTRACE.match(line)]
    whole = say("runtimes.last_words", fate=fate, words=words[-1]) if words else fate
    return CodexExits(say("codex.exits", fate=whole, path=path), died_starting=died)


def socket_taken(path: str) -> CodexExits:
    return CodexExits(say("codex.socket_taken", path=path))


def no_framing() -> CodexMissing:
    return CodexMissing(say("codex.no_websockets"))


def not_logged_in() -> CodexNotLoggedIn:
    advice = say("codex.log_in")
    return CodexNotLoggedIn(say("codex.not_logged_in", advice=advice), advice)


def held_elsewhere(thread: str) -> RuntimeHeld:
    return RuntimeHeld(say("codex.held_elsewhere", thread=thread))


def gone(thread: str) -> CodexRefuses:
    return CodexRefuses(say("codex.thread_deleted", thread=thread))


def sandbox_fails(why: str) -> CodexRefuses:
    return CodexRefuses(say("codex.sandbox_fails", why=why))


def refuses(what: Text, reply: str) -> CodexRefuses:
    """`what`: a sentence of the catalogue, such as `codex.do_start_turn`; `reply`: Codex's own words."""
    return CodexRefuses(say("codex.refuses", what=what, reply=reply))


# The code of the problem, and of its sentence.
_PROBLEMS = {
    "unauthorized": ("not_logged_in", "codex.login_expired"),
    "usageLimitExceeded": ("usage_limit", "codex.usage_limit"),
    "rateLimitExceeded": ("rate_limit", "runtimes.rate_limit"),
    "sessionBudgetExceeded": ("budget", "codex.budget"),
    "contextWindowExceeded": ("context_window", "codex.context_window"),
    "serverOverloaded": ("overloaded", "codex.overloaded"),
    "internalServerError": ("model_error", "codex.server_error"),
    "badRequest": ("bad_request", "codex.bad_request"),
    "sandboxError": ("sandbox", "codex.sandbox"),
    "cyberPolicy": ("policy", "codex.refused_by_policy"),
    "misalignmentPolicyViolation": ("policy", "codex.stopped_by_policy"),
    "tooManyDenials": ("denials", "codex.denials"),
}
_QUOTING = frozenset({"codex.bad_request", "codex.sandbox", "codex.connection_failed", "codex.says"})
_CONNECTIONS = frozenset(
    {
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    }
)
_STATUS = {401: "unauthorized", 403: "unauthorized", 429: "rateLimitExceeded", 500: "internalServerError"}
_CONNECTION = ("connection", "codex.connection_failed")
_UNKNOWN = ("failed", "codex.says")


def no_answer_to_turn() -> Problem:
    return Problem.of("no_answer", say("runtimes.no_answer", title="Codex"))


def problem(error: TurnError | None, free_again: int | None = None) -> Problem:
    """Return why a turn failed. For an unknown error the text is Codex's own. `free_again`: when its account is free
    again, if that is at its limit."""
    if error is None:
        return Problem.of("failed", say("codex.unknown_failure"))
    name, status = _info(error.codex_error_info)
    known = _PROBLEMS.get(name) or _PROBLEMS.get(_STATUS.get(status or 0, ""))
    is_cut = name in _CONNECTIONS or error.message.startswith("stream disconnected")
    code, sentence = known or (_CONNECTION if is_cut else _UNKNOWN)
    found = Problem.of(code, _sentence(sentence, error.message))
    return replace(found, until=free_again) if code == "usage_limit" else found


def _sentence(code: str, reply: str) -> Text:
    if code == "codex.login_expired":
        return say(code, advice=say("codex.log_in"))
    return say(code, reply=reply) if code in _QUOTING else say(code)


def _info(info: Any) -> tuple[str, int | None]:
    """Read `codexErrorInfo`: a name, or an object of one name with an HTTP status."""
    if isinstance(info, dict) and info:
        name, inner = next(iter(info.items()))
        return str(name), inner.get("httpStatusCode") if isinstance(inner, dict) else None
    return str(info or ""), None
