"""Error texts about ACP agents: what happened and what to do. In one module, so that `ping`, `doctor` and a failed turn
say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clew.model.turns import Problem
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.agents.text_errors import LONGEST
from clew.support.coded import Text
from clew.support.errors import RuntimeTrouble, Unable
from clew.texts.catalogue import say

if TYPE_CHECKING:  # the first session loads the protocol
    from clew.runtimes.jsonrpc import RpcError

OWN_FAILURE = Problem.of("internal", say("acp.own_failure"))


class AgentMissing(RuntimeTrouble):
    code = "agent_missing"
    unable = Unable.MISSING


class AgentExits(RuntimeTrouble):
    code = "agent_exits"
    unable = Unable.EXITS


class AgentNotLoggedIn(RuntimeTrouble):
    code = "agent_not_logged_in"
    unable = Unable.NOT_LOGGED_IN


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
    from clew.runtimes.acp.wire import VERSION

    return AgentRefuses(say("acp.wrong_version", title=entry.title, version=str(version), ours=VERSION))


def not_logged_in(entry: Entry, said: str = "") -> AgentNotLoggedIn:
    if said:
        words = say("acp.not_logged_in_says", title=entry.title, reply=said, advice=entry.login)
    else:
        words = say("acp.not_logged_in", title=entry.title, advice=entry.login)
    return AgentNotLoggedIn(words, entry.login)


def refuses(entry: Entry, what: Text, error: RpcError) -> RuntimeTrouble:
    if _wants_login(error):
        return not_logged_in(entry, reply(error))
    return AgentRefuses(say("acp.refuses", title=entry.title, what=what, reply=reply(error)))


def names_no_session(entry: Entry) -> AgentRefuses:
    what = say("acp.do_begin_session")
    return AgentRefuses(say("acp.refuses", title=entry.title, what=what, reply=say("acp.named_none")))


def no_mode(entry: Entry, wanted: str, offered: Iterable[str]) -> AgentRefuses:
    return AgentRefuses(say("acp.no_mode", title=entry.title, wanted=repr(wanted), offered=_listed(offered)))


def does_not_ask(entry: Entry, mode: str, asks: str) -> AgentRefuses:
    return AgentRefuses(say("acp.does_not_ask", title=entry.title, mode=mode, asks=asks or "–", name=entry.name))


def silent_argument(entry: Entry, argument: str) -> AgentRefuses:
    return AgentRefuses(say("acp.silent_argument", title=entry.title, argument=argument, name=entry.name))


def no_model(entry: Entry, wanted: str, offered: Iterable[str]) -> AgentRefuses:
    return AgentRefuses(say("acp.no_model", title=entry.title, wanted=repr(wanted), offered=_listed(offered)))


def _listed(offered: Iterable[str]) -> str:
    return ", ".join(offered) or say("acp.nothing_offered")


def workspace_gone(folder: str) -> WorkspaceGone:
    return WorkspaceGone(say("acp.workspace_gone", folder=folder))


def unreadable(name: str, why: str) -> FileUnreadable:
    return FileUnreadable(say("acp.file_unreadable", name=name, error=why))


def problem(entry: Entry, error: RpcError, free_again: int | None = None) -> Problem:
    """Why a turn failed. `free_again`: when its account is free again, if that is at its limit."""
    said, data = reply(error), _data(error)
    if _wants_login(error):
        return Problem.of("not_logged_in", not_logged_in(entry, said).words)
    if data.get("errorKind") == "rate_limit" or "usageLimitExceeded" in _names(data.get("codexErrorInfo")):
        found = Problem.of("usage_limit", say("acp.usage_limit", title=entry.title, reply=said))
        return replace(found, until=free_again)
    return Problem.of("agent_error", say("acp.agent_failed", title=entry.title, reply=said.rstrip(".")))


def _wants_login(error: RpcError) -> bool:
    from clew.runtimes.acp.wire import AUTH_REQUIRED

    return error.code == AUTH_REQUIRED


def reply(error: RpcError) -> str:
    """Return the agent's own words about an error. Most agents put them into `data`, and say only "Internal error" as
    the message."""
    data = _data(error)
    told = [data.get(key) for key in ("details", "message")] if data else [error.data]
    words = next((each for each in told if isinstance(each, str) and each.strip()), error.message)
    return words.strip()[:LONGEST]


def _data(error: RpcError) -> Mapping[str, Any]:
    return error.data if isinstance(error.data, Mapping) else {}


def _names(info: Any) -> tuple[str, ...]:
    """Read Codex's kind of an error: a name, or an object with one."""
    return tuple(info) if isinstance(info, Mapping) else (info,) if isinstance(info, str) else ()


def no_answer(entry: Entry) -> Problem:
    return Problem.of("no_answer", say("runtimes.no_answer", title=entry.title))


def refusal(entry: Entry) -> Problem:
    return Problem.of("refusal", say("acp.agent_refused", title=entry.title))
