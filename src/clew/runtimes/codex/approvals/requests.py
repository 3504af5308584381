"""Converts a request of the server to what a person is asked. Pure. `answers.py` converts the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.model.gates import Asked, GateKind, Question
from clew.runtimes.codex import items, wire
from clew.runtimes.codex.approvals import forms, overwriting
from clew.runtimes.codex.translate import Translation
from clew.runtimes.file_changes import Found
from clew.support.coded import Text, coded_of, with_arguments
from clew.support.display.as_code import as_code
from clew.texts import doubts
from clew.texts.catalogue import english, say
from clew.texts.together import lines, listed

COMMAND = "item/commandExecution/requestApproval"
CHANGE = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
TOOL = "item/tool/call"
OLD_COMMAND = "execCommandApproval"
OLD_CHANGE = "applyPatchApproval"

LOCAL = "local"  # Codex's name of the environment that is this machine
FILES = ("read", "write", "entries")
_ACCESS = {"read": "approvals.read_path", "write": "approvals.write_path"}
UNSEEN = say("approvals.unshown_change", agent="Codex")
UNNAMED = say("approvals.unnamed", agent="Codex")
_WILDCARD = re.compile(r"[*?\[{]")
_KEYS = re.compile(r"[\x00-\x1f\x7f:!]+")  # before a command that is typed into a pager or an editor
_TOOL_NAME = re.compile(r'run tool "([^"]+)"')
_TOOL_QUESTION = 'Allow the {} MCP server to run tool "{}"?'  # in Codex's words; a server may say more in it


def read(
    method: str, request: wire.Request, turn: Translation, there: Mapping[str, Found] | None = None
) -> Asked | None:
    """Return what to ask a person; None if a person cannot decide this. `there`: what is at the paths of `targets`."""
    if method in _CHANGES:
        return _change(request, _CHANGES[method](request, turn), there or {})
    reader = _READERS.get(method)
    return reader(request, turn) if reader else None


def targets(method: str, request: wire.Request, turn: Translation) -> tuple[str, ...]:
    """Return the paths to look at before the request is read: those that it may overwrite."""
    return overwriting.targets(_CHANGES[method](request, turn)) if method in _CHANGES else ()


def summary(request: wire.Request) -> str:
    """Describe a request in a few words, for a notice that no person could be asked."""
    asked = " / ".join(question.question for question in request.questions)
    return asked or _command(request) or request.message or request.tool or request.reason or ""


def _read_command(request: wire.Request, turn: Translation) -> Asked:
    known = turn.open_item(request.item_id)
    command = _command(request) or (items.script_of(known.command) if known and known.command else "")
    host = _host(request.network_approval_context)
    if request.kind == "writeStdin":
        typed = (command, _KEYS.sub("\n", command))
        return replace(_permission(request, say("approvals.typed", text=command)), may_run=typed)
    if not command:
        unnamed = replace(_permission(request, UNNAMED), unshown=True)
        return _permission(request, say("approvals.network", place=host)) if host else unnamed
    also = describe_permissions(request.additional_permissions)
    extra: list[str] = [say("approvals.network", place=host)] if host else []
    extra += [say("approvals.with", permissions=also)] if also else []
    elsewhere = _environment(request)
    return Asked(
        GateKind.COMMAND,
        command,
        detail=lines(elsewhere, *extra),
        folder=request.cwd,
        reason=request.reason or "",
        paths=_permitted_paths(request.additional_permissions, request.cwd),
        item=_item(request),
        leaves_sandbox=bool(extra),
        unjudged=_escaped(elsewhere),
    )


def _changes(request: wire.Request, turn: Translation) -> tuple[wire.Change, ...]:
    known = turn.open_item(request.item_id)
    return known.changes or () if known else ()


def _change(request: wire.Request, changes: tuple[wire.Change, ...], there: Mapping[str, Found]) -> Asked:
    """Ask about a change. If it also asks to write later, show that, and let no rule or policy accept it."""
    root = request.grant_root
    also = say("approvals.writes_below", folder=root) if root else ""
    paths = tuple(path for change in changes for path in (change.path, change.kind.moved_to) if path)
    return Asked(
        GateKind.CHANGE,
        ", ".join(paths) or UNSEEN,
        detail=lines(also, items.diff(changes, there)),
        reason=request.reason or "",
        paths=paths,
        item=_item(request),
        unjudged=doubts.joined((_escaped(also), *overwriting.doubt(changes, there))),
        removes=any(change.kind.type == "delete" or change.kind.moved_to for change in changes),
        unshown=not paths,
    )


def _permissions(request: wire.Request, turn: Translation) -> Asked:
    words = describe_permissions(request.permissions) or say("approvals.no_permission")
    asked = _permission(request, words, _json(request.permissions))
    return replace(asked, paths=_permitted_paths(request.permissions, request.cwd))


def _questions(request: wire.Request, turn: Translation) -> Asked:
    questions = tuple(_question(question) for question in request.questions)
    return Asked(
        GateKind.QUESTION,
        " / ".join(question.text for question in questions),
        detail="\n".join(_option_descriptions(request.questions)),
        questions=questions,
        item=request.item_id,
    )


def _question(question: wire.Question) -> Question:
    options = tuple(option.label for option in question.options or ())
    free = question.is_other or not options
    return Question(question.id, question.question, options, free=free, secret=question.is_secret)


def _option_descriptions(questions: tuple[wire.Question, ...]) -> list[str]:
    options = [option for question in questions for option in question.options or ()]
    return [f"{each.label}: {each.description}" for each in options if each.description not in ("", each.label)]


def _elicitation(request: wire.Request, turn: Translation) -> Asked | None:
    """Read a question of an MCP server, or Codex's question whether a tool of that server may run, which has no fields.
    A server can send the mark of the latter, too."""
    server = say("approvals.by_server", server=as_code(request.server_name, lines=False))
    if request.mode == "url":
        opening = say("approvals.open_address", url=request.url or "")
        return _permission(request, opening, reason=request.message, asker=server)
    fields = forms.fields(request.requested_schema)
    is_marked = isinstance(request.meta, dict) and request.meta.get("codex_approval_kind") == "mcp_tool_call"
    if is_marked and not fields:
        return _read_tool(request, turn)
    if fields is None:
        return None
    if not fields:
        return _permission(request, request.message, asker=server)
    questions = tuple(field.question() for field in fields)
    return Asked(GateKind.QUESTION, request.message, reason=request.message, questions=questions, asker=server)


def _read_tool(request: wire.Request, turn: Translation) -> Asked:
    named = _TOOL_NAME.search(request.message)
    title = f"{request.server_name}.{named.group(1)}" if named else request.message
    given = _json(request.meta.get("tool_params"))
    is_codex = named is not None and request.message == _TOOL_QUESTION.format(request.server_name, named.group(1))
    return Asked(
        GateKind.PERMISSION,
        title,
        given,
        reason=request.message,
        item=turn.find_item_by_title(title),
        unjudged="" if is_codex else say("approvals.asked_by_server"),
    )


def _permission(request: wire.Request, title: str, detail: str = "", reason: str = "", asker: str = "") -> Asked:
    elsewhere = _environment(request)
    return Asked(
        GateKind.PERMISSION,
        title,
        detail=lines(elsewhere, detail),
        folder=request.cwd,
        reason=reason or request.reason or "",
        item=_item(request),
        unjudged=_escaped(elsewhere),
        asker=asker,
    )


def _environment(request: wire.Request) -> str:
    """Name the environment if it is not this machine. Then what clew sees in the workspace proves nothing, and only a
    person may accept."""
    place = request.environment_id
    if place in (None, "", LOCAL):
        return ""
    return say("approvals.elsewhere", environment=_line(place))


def _escaped(text: str) -> str:
    """A sentence with its arguments escaped: nobody else does that, and they are the agent's."""
    coded = coded_of(with_arguments(text, partial(as_code, lines=False)))
    return Text(english(coded), coded) if coded else text


def describe_permissions(profile: Any) -> str:
    """Describe a permission profile, for example `write /x, network`. Unknown parts are shown as JSON: they may grant
    more than the known ones."""
    if not isinstance(profile, dict):
        return _unknown(profile) if profile else ""
    files, network = profile.get("fileSystem") or {}, profile.get("network") or {}
    if not isinstance(files, dict) or not isinstance(network, dict):
        return _unknown(profile)
    known = [*_describe_files(files), *([say("approvals.any_network")] if network.get("enabled") else [])]
    parts = ((profile, ("fileSystem", "network")), (files, FILES), (network, ("enabled",)))
    return listed(*known, *(_unknown(rest) for part, names in parts if (rest := _others(part, names))))


def _describe_files(files: dict[str, Any]) -> list[str]:
    """Codex may give the same folder as a list and as an entry; it is named once."""
    named = [_access(access, path) for access in _ACCESS for path in _as_list(files.get(access))]
    return list(dict.fromkeys([*named, *map(_describe_entry, _as_list(files.get("entries")))]))


def _describe_entry(entry: Any) -> str:
    is_known = isinstance(entry, dict) and entry.keys() <= {"access", "path"}
    return _access(str(entry.get("access")), entry.get("path")) if is_known else _unknown(entry)


def _access(access: str, path: Any) -> str:
    code = _ACCESS.get(access)
    return say(code, path=_place(path)) if code else f"{access} {_place(path)}"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _others(part: Mapping[Any, Any], names: tuple[str, ...]) -> dict[Any, Any]:
    """Return the keys that are not among these names, and whose value is not empty."""
    return {key: value for key, value in part.items() if key not in names and value not in (None, False, [], {})}


def _unknown(value: Any) -> str:
    return say("approvals.unknown_permission", permission=_line(value))


def _place(path: Any) -> str:
    """Name a path, a pattern, or a special folder such as `tmpdir`; JSON if there is more to it."""
    match path:
        case str():
            return path
        case {"type": "path", "path": str(name)} | {"type": "glob_pattern", "pattern": str(name)} if len(path) == 2:
            return name
        case {"type": "special", "value": {"kind": str(name), **more}} if len(path) == 2 and not _others(more, ()):
            return name
    return _line(path)


def _permitted_paths(profile: Any, folder: str | None) -> tuple[str, ...]:
    """Return the paths in a permission profile, of a pattern its part without wildcards, so that links are found."""
    files = profile.get("fileSystem") if isinstance(profile, dict) else None
    if not isinstance(files, dict):
        return ()
    entries = [entry.get("path") for entry in _as_list(files.get("entries")) if isinstance(entry, dict)]
    named = map(_path_of, [*_as_list(files.get("read")), *_as_list(files.get("write")), *entries])
    return tuple(dict.fromkeys(str(Path(folder or "", name)) for name in named if name))


def _path_of(path: Any) -> str:
    match path:
        case str(name) | {"path": str(name)} | {"value": {"subpath": str(name)}}:
            return name
        case {"pattern": str(pattern)}:
            fixed, *rest = _WILDCARD.split(pattern, maxsplit=1)
            return fixed.rpartition("/")[0] if rest else fixed
    return ""


def _host(context: Any) -> str:
    return f"{context.get('protocol')}://{context.get('host')}" if isinstance(context, dict) else ""


def _command(request: wire.Request) -> str:
    return items.script_of(request.command or "")


def _item(request: wire.Request) -> str | None:
    return request.item_id or request.call_id


def _old_changes(request: wire.Request, turn: Translation) -> tuple[wire.Change, ...]:
    changes = request.file_changes
    if not isinstance(changes, dict):
        return ()
    return tuple(_old_change(path, change) for path, change in changes.items() if isinstance(change, dict))


def _old_change(path: str, change: dict[str, Any]) -> wire.Change:
    kind = wire.ChangeKind(str(change.get("type", "")), change.get("move_path"))
    return wire.Change(path, str(change.get("unified_diff") or change.get("content") or ""), kind)


def _line(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


_READERS: dict[str, Callable[[wire.Request, Translation], Asked | None]] = {
    COMMAND: _read_command,
    OLD_COMMAND: _read_command,
    PERMISSIONS: _permissions,
    INPUT: _questions,
    ELICITATION: _elicitation,
}
_CHANGES: dict[str, Callable[[wire.Request, Translation], tuple[wire.Change, ...]]] = {
    CHANGE: _changes,
    OLD_CHANGE: _old_changes,
}
