"""Error texts about Claude Code: what happened and what to do. In one module, so that `ping`, `doctor` and a failed
turn say the same."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from clew.model.turns import Problem
from clew.runtimes.claude_limits import ClaudeLimits
from clew.support.coded import Text
from clew.support.errors import RuntimeHeld, RuntimeTrouble, Unable
from clew.texts.catalogue import say

UNKNOWN_SESSION = "No conversation found"  # Claude's words for an id that it does not know
KNOWN_SESSION = "already in use"  # for a new session with the id of an old one

USED_UP = "usage_limit_reached"  # Claude's name for a refusal because a window is used up


class ClaudeMissing(RuntimeTrouble):
    code = "claude_missing"
    unable = Unable.MISSING


class ClaudeTooOld(RuntimeTrouble):
    code = "claude_too_old"
    unable = Unable.TOO_OLD


class ClaudeExits(RuntimeTrouble):
    code = "claude_exits"
    unable = Unable.EXITS


class ClaudeNotLoggedIn(RuntimeTrouble):
    code = "claude_not_logged_in"
    unable = Unable.NOT_LOGGED_IN


class ClaudeRefuses(RuntimeTrouble):
    """Claude runs, but refused a request that clew needs."""

    code = "claude_refuses"


def missing(where: str) -> ClaudeMissing:
    advice = say("claude.install")
    return ClaudeMissing(say("claude.missing", where=where, advice=advice), advice)


def unusable(path: str, why: str) -> ClaudeMissing:
    advice = say("claude.install")
    return ClaudeMissing(say("claude.unusable", path=path, why=why, advice=advice), advice)


def too_old(path: str, version: str, needed: str) -> ClaudeTooOld:
    advice = say("claude.update")
    return ClaudeTooOld(say("claude.too_old", version=version, path=path, needed=needed, advice=advice), advice)


def no_version(path: str, reply: str) -> ClaudeExits:
    advice = say("claude.install")
    return ClaudeExits(say("claude.no_version", path=path, reply=reply or say("claude.nothing"), advice=advice), advice)


def silent(path: str, arguments: str, seconds: float) -> ClaudeExits:
    return ClaudeExits(say("claude.silent", path=path, arguments=arguments, seconds=f"{seconds:g}"))


def exits(path: str, fate: str, stderr_tail: Iterable[str] = (), *, died: bool = True) -> ClaudeExits:
    """`died`: it ended; otherwise it does not answer."""
    words = list(stderr_tail)
    whole = say("runtimes.last_words", fate=fate, words=words[-1]) if words else fate
    return ClaudeExits(say("claude.exits", fate=whole, path=path), died_starting=died)


def not_logged_in() -> ClaudeNotLoggedIn:
    advice = say("claude.log_in")
    return ClaudeNotLoggedIn(say("claude.not_logged_in", advice=advice), advice)


def held_elsewhere(session: str, who: str) -> RuntimeHeld:
    return RuntimeHeld(say("claude.held_elsewhere", session=session, who=who))


def gone(session: str) -> ClaudeRefuses:
    return ClaudeRefuses(say("claude.session_deleted", session=session))


def refuses(what: str, reply: str) -> ClaudeRefuses:
    return ClaudeRefuses(say("claude.refuses", what=what, reply=reply))


def folder_gone(folder: str) -> ClaudeRefuses:
    return ClaudeRefuses(say("claude.folder_gone", folder=folder))


def file_unreadable(name: str, why: str) -> ClaudeRefuses:
    return ClaudeRefuses(say("claude.file_unreadable", name=name, error=why))


def no_answer() -> Problem:
    return Problem.of("no_answer", say("runtimes.no_answer", title="Claude"))


# By what Claude calls the error, else by the HTTP status: the code of the problem, and of its sentence.
_NAMED = {
    "authentication_failed": ("not_logged_in", "claude.login_expired"),
    "oauth_org_not_allowed": ("not_logged_in", "claude.login_expired"),
    USED_UP: ("usage_limit", "claude.usage_limit"),
    "billing_error": ("budget", "claude.billing"),
    "rate_limit": ("rate_limit", "runtimes.rate_limit"),
    "overloaded": ("overloaded", "claude.overloaded"),
    "server_error": ("model_error", "claude.server_error"),
    "model_not_found": ("bad_request", "claude.bad_request"),
    "invalid_request": ("bad_request", "claude.bad_request"),
    "max_output_tokens": ("context_window", "claude.output_too_long"),
}
_STATUSES = {
    400: ("bad_request", "claude.bad_request"),
    401: ("not_logged_in", "claude.login_expired"),
    403: ("not_logged_in", "claude.login_expired"),
    404: ("bad_request", "claude.bad_request"),
    413: ("context_window", "claude.context_window"),
    429: ("rate_limit", "runtimes.rate_limit"),
    529: ("overloaded", "claude.overloaded"),
}
_BY_TERMINAL = {
    "prompt_too_long": ("context_window", "claude.context_window"),
    "blocking_limit": ("context_window", "claude.context_window"),
}
_CONNECTION = ("connection", "claude.connection_failed")
_UNKNOWN = ("failed", "claude.says")
_NOT_LOGGED_IN = ("Not logged in", "Invalid API key", "OAuth token")


def error_name(error: object, api_error: object) -> object:
    """Claude has two names for an error; the second one tells a used up window from too many requests."""
    return api_error if api_error == USED_UP else error


def problem(
    reply: str,
    *,
    error: object = None,
    status: object = None,
    terminal: object = None,
    limits: ClaudeLimits | None = None,
) -> Problem:
    """Why a turn failed. `error`: Claude's name for it; `status`: of HTTP; `reply`: Claude's own words."""
    code, sentence = _known(reply, str(error or ""), status, str(terminal or ""), limits)
    found = Problem.of(code, _sentence(sentence, reply))
    if code != "usage_limit" or limits is None:
        return found
    return replace(found, until=limits.resets_at)


def _known(reply: str, error: str, status: object, terminal: str, limits: ClaudeLimits | None) -> tuple[str, str]:
    is_refused = status == 429 or error in ("rate_limit", USED_UP)
    if is_refused and limits is not None and limits.is_refused:
        return _NAMED[USED_UP]
    if reply.startswith(_NOT_LOGGED_IN):
        return _NAMED["authentication_failed"]
    if isinstance(status, int) and (found := _STATUSES.get(status)) is not None:
        return _NAMED[USED_UP] if error == USED_UP else found
    if (found := _NAMED.get(error) or _BY_TERMINAL.get(terminal)) is not None:
        return found
    if isinstance(status, int) and status >= 500:
        return _NAMED["server_error"]
    return _CONNECTION if terminal == "api_error" and status is None else _UNKNOWN


def _sentence(code: str, reply: str) -> Text:
    if code == "claude.login_expired":
        return say(code, advice=say("claude.log_in"))
    quoting = ("claude.bad_request", "claude.connection_failed", "claude.says", "claude.billing")
    return say(code, reply=reply) if code in quoting else say(code)
