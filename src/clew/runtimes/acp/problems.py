"""Error texts about ACP agents: what happened and what to do. In one module, so that `ping`, `doctor` and a failed turn
say the same."""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.turns import Problem
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.wire import AUTH_REQUIRED, VERSION
from clew.support.coded import Text
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

OWN_FAILURE = Problem.of("internal", say("acp.own_failure"))


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
    advice = say("acp.or_set_command", install=entry.install, name=entry.name)
    return AgentMissing(say("acp.missing", title=entry.title, why=why, advice=advice), advice)


def exits(entry: Entry, fate: str, stderr_tail: Iterable[str] = ()) -> AgentExits:
    words = list(stderr_tail)
    whole = say("runtimes.last_words", fate=fate, words=words[-1]) if words else fate
    command = " ".join(entry.command)
    return AgentExits(say("acp.exits", title=entry.title, fate=whole, command=command), died_starting=True)


def silent(entry: Entry, seconds: float) -> AgentExits:
    command = " ".join(entry.command)
    return AgentExits(say("acp.silent", title=entry.title, seconds=f"{seconds:g}", command=command))


def wrong_version(entry: Entry, version: object) -> AgentRefuses:
    return AgentRefuses(say("acp.wrong_version", title=entry.title, version=str(version), ours=VERSION))


def not_logged_in(entry: Entry, said: str = "") -> AgentNotLoggedIn:
    if said:
        words = say("acp.not_logged_in_says", title=entry.title, reply=said, advice=entry.login)
    else:
        words = say("acp.not_logged_in", title=entry.title, advice=entry.login)
    return AgentNotLoggedIn(words, entry.login)


def refuses(entry: Entry, what: Text, code: int, said: str) -> RuntimeTrouble:
    if code == AUTH_REQUIRED:
        return not_logged_in(entry, said)
    return AgentRefuses(say("acp.refuses", title=entry.title, what=what, reply=said))


def no_mode(entry: Entry, wanted: str, offered: Iterable[str]) -> AgentRefuses:
    return AgentRefuses(say("acp.no_mode", title=entry.title, wanted=repr(wanted), offered=_listed(offered)))


def no_model(entry: Entry, wanted: str, offered: Iterable[str]) -> AgentRefuses:
    return AgentRefuses(say("acp.no_model", title=entry.title, wanted=repr(wanted), offered=_listed(offered)))


def _listed(offered: Iterable[str]) -> str:
    return ", ".join(offered) or say("acp.nothing_offered")


def workspace_gone(folder: str) -> WorkspaceGone:
    return WorkspaceGone(say("acp.workspace_gone", folder=folder))


def unreadable(name: str, why: str) -> FileUnreadable:
    return FileUnreadable(say("acp.file_unreadable", name=name, error=why))


def problem(entry: Entry, code: int, said: str) -> Problem:
    """Why a turn failed."""
    if code == AUTH_REQUIRED:
        return Problem.of("not_logged_in", not_logged_in(entry, said).words)
    return Problem.of("agent_error", say("acp.agent_failed", title=entry.title, reply=said))


def refusal(entry: Entry) -> Problem:
    return Problem.of("refusal", say("acp.agent_refused", title=entry.title))
