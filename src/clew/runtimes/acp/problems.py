"""Error texts about ACP agents: what happened and what to do. In one module, so that `ping`, `doctor` and a failed turn
say the same."""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.turns import Problem
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.wire import AUTH_REQUIRED, VERSION
from clew.support.errors import RuntimeTrouble

OWN_FAILURE = Problem("internal", "clew itself failed on this turn; `clew logs` has the details. Send it again.")


class AgentMissing(RuntimeTrouble):
    code = "agent_missing"


class AgentExits(RuntimeTrouble):
    code = "agent_exits"


class AgentNotLoggedIn(RuntimeTrouble):
    code = "agent_not_logged_in"


class AgentRefuses(RuntimeTrouble):
    """The agent runs, but refused a request that clew needs."""

    code = "agent_refuses"


class FileUnreadable(RuntimeTrouble):
    code = "file_unreadable"


class WorkspaceGone(RuntimeTrouble):
    code = "workspace_gone"


def missing(entry: Entry, why: str) -> AgentMissing:
    return AgentMissing(
        f"{entry.title} was not found ({why}). {entry.install} Or set `command` under [runtimes.acp.{entry.name}]."
    )


def exits(entry: Entry, fate: str, stderr_tail: Iterable[str] = ()) -> AgentExits:
    words = list(stderr_tail)
    said = f"; its last words: {words[-1]}" if words else ""
    return AgentExits(
        f"{entry.title} does not stay up, or is no ACP agent ({fate}{said})."
        f" Run `{' '.join(entry.command)}` by hand to see why."
    )


def silent(entry: Entry, seconds: float) -> AgentExits:
    return AgentExits(
        f"{entry.title} did not answer within {seconds:g} s; is `{' '.join(entry.command)}` an ACP agent?"
        " Run it by hand to see."
    )


def wrong_version(entry: Entry, version: object) -> AgentRefuses:
    return AgentRefuses(
        f"{entry.title} speaks version {version} of the Agent Client Protocol, and clew speaks {VERSION}."
        " Update it, or clew, whichever is the older."
    )


def not_logged_in(entry: Entry, said: str = "") -> AgentNotLoggedIn:
    return AgentNotLoggedIn(f"{entry.title} is not logged in{f' ({said})' if said else ''}. {entry.login}")


def refuses(entry: Entry, what: str, code: int, said: str) -> RuntimeTrouble:
    if code == AUTH_REQUIRED:
        return not_logged_in(entry, said)
    return AgentRefuses(f"{entry.title} refused to {what}: {said}")


def not_offered(entry: Entry, what: str, wanted: str, offered: Iterable[str]) -> AgentRefuses:
    known = ", ".join(offered) or "none to choose"
    return AgentRefuses(f"{entry.title} has no {what} {wanted!r}; it has {known}. Set another.")


def workspace_gone(folder: str) -> WorkspaceGone:
    return WorkspaceGone(f"The folder {folder} is gone. Bring it back, or begin a thread in another one.")


def unreadable(name: str, why: str) -> FileUnreadable:
    return FileUnreadable(f"The file {name} cannot be read: {why}. Send it again.")


def problem(entry: Entry, code: int, said: str) -> Problem:
    """Why a turn failed."""
    if code == AUTH_REQUIRED:
        return Problem("not_logged_in", not_logged_in(entry, said).message)
    return Problem("agent_error", f"{entry.title} failed on this turn: {said}. Send it again.")


def refusal(entry: Entry) -> Problem:
    return Problem("refusal", f"{entry.title} refused to go on with this. Say it in another way.")
