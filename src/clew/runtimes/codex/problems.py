"""Error texts about Codex: what happened and what to do. In one module, so that `ping`, `doctor` and a failed turn say
the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from clew.model.turns import Problem
from clew.runtimes.codex.wire import TurnError
from clew.support.errors import RuntimeHeld, RuntimeTrouble

LOGIN = (
    "Run `clew codex login` (or set the API key that your Codex config names, and `clew restart` so that the daemon has"
    " it too), then try again."
)
INSTALL = "Install Codex (`npm install -g @openai/codex`, or clew's `codex` extra), or set `runtimes.codex.command`."


_BACKTRACE = re.compile(r"Stack backtrace|\d+: |at |Location:")


class CodexMissing(RuntimeTrouble):
    code = "codex_missing"


class CodexTooOld(RuntimeTrouble):
    code = "codex_too_old"


class CodexExits(RuntimeTrouble):
    code = "codex_exits"


class CodexNotLoggedIn(RuntimeTrouble):
    code = "codex_not_logged_in"


class CodexRefuses(RuntimeTrouble):
    """Codex runs, but refused a request that clew needs."""

    code = "codex_refuses"


def missing(where: str) -> CodexMissing:
    return CodexMissing(f"The Codex program was not found ({where}). {INSTALL}")


def unusable(path: str, why: str) -> CodexMissing:
    return CodexMissing(f"{path} cannot be run: {why}. {INSTALL}")


def too_old(path: str, version: str, needed: str) -> CodexTooOld:
    return CodexTooOld(f"Codex {version} ({path}) is too old: clew needs {needed} or newer. {INSTALL}")


def no_version(path: str, reply: str) -> CodexExits:
    return CodexExits(f"{path} does not say that it is Codex (`--version`: {reply or 'nothing'}). {INSTALL}")


def no_answer(path: str, seconds: float) -> CodexExits:
    return CodexExits(f"{path} did not answer `--version` within {seconds:g} s. Run it by hand to see why.")


def exits(path: str, fate: str, stderr_tail: Iterable[str] = ()) -> CodexExits:
    words = [line for line in stderr_tail if not _BACKTRACE.match(line)]
    reply = f"; its last words: {words[-1]}" if words else ""
    return CodexExits(f"Codex does not stay up ({fate}{reply}). Run `{path} app-server` by hand to see why.")


def socket_taken(path: str) -> CodexExits:
    return CodexExits(
        f"A program that is not clew's listens at {path}, where Codex should. End that program (`fuser {path}` names"
        " it), then try again; clew does not talk to it."
    )


def no_framing() -> CodexMissing:
    return CodexMissing(
        '`runtimes.codex.transport = "socket"` needs the Python package `websockets`. Install it where clew is'
        " (`pip install websockets`, or clew's `codex` extra), or use stdio."
    )


def not_logged_in() -> CodexNotLoggedIn:
    return CodexNotLoggedIn(f"Codex is not logged in. {LOGIN}")


def held_elsewhere(thread: str) -> RuntimeHeld:
    return RuntimeHeld(f"Another program has the Codex thread {thread} open. Close it there, then try again.")


def gone(thread: str) -> CodexRefuses:
    return CodexRefuses(
        f"Codex has no thread {thread} any more: it was deleted there. Bring it back, or begin a new thread."
    )


def refuses(what: str, reply: str) -> CodexRefuses:
    return CodexRefuses(f"Codex refused to {what}: {reply}")


_PROBLEMS = {
    "unauthorized": ("not_logged_in", f"Codex is not logged in, or its login has expired. {LOGIN}"),
    "usageLimitExceeded": ("usage_limit", "The usage limit of your Codex account is reached. Try again later."),
    "rateLimitExceeded": ("rate_limit", "The model refused because of too many requests. Try again in a while."),
    "sessionBudgetExceeded": (
        "budget",
        "The budget of this Codex session is used up. Raise it, or start a new thread.",
    ),
    "contextWindowExceeded": (
        "context_window",
        "The thread no longer fits into the model's context window. Start a new thread, or fork from an earlier turn.",
    ),
    "serverOverloaded": ("overloaded", "The model's servers are overloaded. Try again in a while."),
    "internalServerError": ("model_error", "The model's servers failed. Try again in a while."),
    "badRequest": ("bad_request", "The model rejected the request"),
    "sandboxError": ("sandbox", "Codex could not set up its sandbox; a thread that is careful or yolo needs none"),
    "cyberPolicy": ("policy", "The model refused this for reasons of policy. Say it in another way."),
    "misalignmentPolicyViolation": ("policy", "The model was stopped for reasons of policy. Say it in another way."),
    "tooManyDenials": ("denials", "Codex gave up because too much of what it asked for was denied."),
}
_CONNECTIONS = frozenset(
    {
        "httpConnectionFailed",
        "responseStreamConnectionFailed",
        "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    }
)
_STATUS = {401: "unauthorized", 403: "unauthorized", 429: "rateLimitExceeded", 500: "internalServerError"}
_CONNECTION = ("connection", "The connection to the model failed. Check the network, then try again")


def problem(error: TurnError | None) -> Problem:
    """Return why a turn failed. For an unknown error the text is Codex's own."""
    if error is None:
        return Problem("failed", "Codex ended the turn as failed and did not say why. Try again.")
    name, status = _info(error.codex_error_info)
    known = _PROBLEMS.get(name) or _PROBLEMS.get(_STATUS.get(status or 0, ""))
    is_cut = name in _CONNECTIONS or error.message.startswith("stream disconnected")
    code, words = known or (_CONNECTION if is_cut else ("failed", "Codex says"))
    return Problem(code, words if words.endswith(".") else f"{words}: {error.message}")


def _info(info: Any) -> tuple[str, int | None]:
    """Read `codexErrorInfo`: a name, or an object of one name with an HTTP status."""
    if isinstance(info, dict) and info:
        name, inner = next(iter(info.items()))
        return str(name), inner.get("httpStatusCode") if isinstance(inner, dict) else None
    return str(info or ""), None
