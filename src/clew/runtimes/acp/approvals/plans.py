"""Reads what a tool call would do, as far as the agent says: the command, its folder and environment, the files that it
changes, and everything else in the call. It resolves folders and runs nothing.

An agent says it twice: when it announces the call, and when it asks. Both count. If they differ, or if something is not
understood, that is a doubt: it is shown, and only a person may allow it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clew.model.events import ActivityKind
from clew.runtimes.acp import tools
from clew.runtimes.acp.approvals import diff_check, readings
from clew.runtimes.acp.wire import Part, ToolCall
from clew.support.display.as_code import as_code
from clew.texts.catalogue import say
from clew.texts.together import lines

SHELL = ("/bin/sh", "-c")
GRAMMAR = ("if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "time")
COMMANDS = ("command", "cmd")
FOLDERS = ("cwd", "workdir", "directory")
PATHS = ("path", "filePath", "filepath", "file_path")
# Keys that do not change what a rule judges. Keep these lists as short as real agents allow.
HARMLESS = ("description", "timeout", "timeout_ms")  # of a command
MODE = "mode"  # how Hermes edits a file
TOOL, ARGUMENTS = "tool", "arguments"  # how Hermes names its tool beside the arguments
SETS_VARIABLES = say("approvals.sets_variables")
REMOVING = ("delete", "move")  # kinds of calls

Env = tuple[tuple[str, str], ...]
Given = Mapping[str, Any]


class Plan(Struct, frozen=True):
    """What a person is asked about. `folder` is None if the agent does not say it clearly."""

    kind: ActivityKind
    argv: tuple[str, ...] = ()  # exactly as it is run; empty: no command
    folder: str | None = None
    env: Env = ()
    paths: tuple[str, ...] = ()
    removes: bool = False  # it deletes or moves these files
    diffs: tuple[Part, ...] = ()
    texts: Mapping[str, Any] = {}  # sent with a diff; they must match it
    rest: str = ""  # everything else in the call, as JSON
    doubts: tuple[str, ...] = ()
    may_run: tuple[str, ...] = ()  # what it may do besides: see `Asked`
    may_touch: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()

    @property
    def hides_command(self) -> bool:
        """Whether it runs a command that the agent does not say clearly."""
        return self.kind is ActivityKind.COMMAND and not self.argv

    @property
    def command(self) -> str:
        """The exact command line with its environment, as for a shell."""
        return with_env(_line(self.argv), self.env) if self.argv else ""


def _line(argv: tuple[str, ...]) -> str:
    """Return argv as one line. For `/bin/sh -c LINE` that is LINE."""
    if not argv:
        return ""
    is_bare = argv[:2] == SHELL and len(argv) == 3 and bool(argv[2]) and argv[2][0] not in "-+"
    return argv[2] if is_bare else " ".join((_program(argv[0]), *map(shlex.quote, argv[1:])))


def _program(word: str) -> str:
    """Quote the program's name if a shell would misread it, such as the assignment `A=b` or the keyword `if`."""
    is_special = "=" in word or word in GRAMMAR
    return f"'{word}'" if is_special and shlex.quote(word) == word else shlex.quote(word)


ENDED = ("completed", "failed")  # later updates of such a call are ignored


class _KnownCall(Struct, frozen=True):
    """All that the agent has said of a call so far."""

    call: ToolCall
    removes: bool
    given: Mapping[str, Any]
    differing: Mapping[str, Any]  # announced values that differ from the request
    doubts: tuple[str, ...]
    announced_paths: tuple[str, ...]
    uses_edit_tool: bool  # the agent's own tool, which only edits the file that it names


def read(
    announced: ToolCall | None,
    asking: ToolCall,
    workspace: str,
    *,
    runs_in_workspace: bool = True,
    edit_tools: Set[str] = frozenset(),
    untyped_commands: bool = False,
) -> Plan:
    """Return the plan of a call. `runs_in_workspace`: if the agent names no folder, it means the workspace.
    `edit_tools`, `untyped_commands`: see `Quirks`."""
    known = _merge_announced(announced, asking, edit_tools)
    return _with_readings(_read(known, workspace, runs_in_workspace, untyped_commands), known)


def _read(known: _KnownCall, workspace: str, runs_in_workspace: bool, untyped_commands: bool) -> Plan:
    kind, given = tools.kind(known.call), known.given
    if kind is ActivityKind.COMMAND and (argv := _argv(given)):
        return _command(known, argv, workspace, runs_in_workspace)
    if kind is ActivityKind.CHANGE and (paths := _paths(known)):
        return _change(known, paths)
    if argv := _argv(given):
        plan = _command(known, argv, workspace, runs_in_workspace)
        return plan if untyped_commands else with_doubt(plan, say("approvals.not_called_command"))
    folder = _folder(given, workspace) if any(key in given for key in FOLDERS) else None
    doubts = (*known.doubts, say("approvals.names_nothing"))
    shown, mentions = _json(given, known.differing), _words(known.call.title or "", given, known.differing)
    return Plan(kind, folder=folder, diffs=diffs(known.call), rest=shown, doubts=doubts, mentions=mentions)


def _with_readings(plan: Plan, known: _KnownCall) -> Plan:
    """Add what the call may do besides, for rules that deny or ask."""
    odd = tuple(path for path in plan.paths if readings.is_odd_path(path))
    is_change = plan.kind is ActivityKind.CHANGE
    others = known.call.others
    said = [known.given, known.differing, *others]
    run = [line for line in readings.commands(said) if line not in (_line(plan.argv), plan.command)]
    named = [*readings.paths(said), *plan.paths] if is_change else []
    touched = [path for path in (*named, *(part.path for part in plan.diffs)) if path]
    touched += [each for path in touched for each in readings.path_readings(path)]
    doubts: list[str] = [say("approvals.odd_path", paths=_shown(odd))] if odd else []
    doubts += [say("approvals.other_content")] if others else []
    return replace(
        plan,
        rest=lines(plan.rest, *map(_line_of, others)),
        doubts=(*plan.doubts, *doubts),
        mentions=tuple(dict.fromkeys((*plan.mentions, *_words(*others)))),
        may_run=tuple(dict.fromkeys(run)),
        may_touch=tuple(path for path in dict.fromkeys(touched) if path not in plan.paths),
    )


def _merge_announced(announced: ToolCall | None, asking: ToolCall, edit_tools: Set[str]) -> _KnownCall:
    before, now = _given(announced, edit_tools), _given(asking, edit_tools)
    differing = {key: before[key] for key in now if key in before and before[key] != now[key] and key not in HARMLESS}
    differing |= _differing_content(announced, asking) if announced is not None else {}
    doubts: list[str] = [say("approvals.announced_other", names=_shown(differing))] if differing else []
    if not is_announced(announced, asking, edit_tools):
        doubts.append(say("approvals.not_announced"))
    if announced is not None and announced.status in ENDED:
        doubts.append(say("approvals.ended_before"))
    removes = any(each is not None and each.kind in REMOVING for each in (announced, asking))
    inputs = [each.raw_input for each in (announced, asking) if each is not None and each.raw_input is not None]
    return _KnownCall(
        tools.merge(announced, asking),
        removes,
        {**before, **now},
        differing,
        tuple(doubts),
        tools.paths(announced) if announced is not None else (),
        bool(inputs) and all(_is_of_edit_tool(each, edit_tools) for each in inputs),
    )


def _differing_content(announced: ToolCall, asking: ToolCall) -> dict[str, Any]:
    """Return the announced diffs, files and other content if those of the request differ."""
    found: dict[str, Any] = {}
    before, others = diffs(announced), announced.others
    is_same = before == diffs(asking) and others == asking.others
    if (before or others) and asking.content is not None and not is_same:
        shown = [{"path": part.path, "oldText": part.old_text, "newText": part.new_text} for part in before]
        found["toolCall.content"] = [*shown, *others]
    places = [{place.path for place in call.locations or ()} for call in (announced, asking)]
    if all(places) and places[0] != places[1]:
        found["toolCall.locations"] = sorted(places[0])
    return found


def is_announced(announced: ToolCall | None, asking: ToolCall, edit_tools: Set[str] = frozenset()) -> bool:
    """False: the agent has announced the call, but not its command yet. The folder comes with the command, so the
    request alone is incomplete. OpenCode may ask before or after it announces."""
    if announced is None or announced.raw_input is None:
        return True
    before, now = _given(announced, edit_tools), _given(asking, edit_tools)
    return not any(key in now for key in COMMANDS) or any(key in before for key in COMMANDS)


def with_env(line: str, env: Env) -> str:
    names = " ".join(f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in env)
    return f"export {names}; {line}" if env else line


def without_shell(argv: tuple[str, ...], shell: tuple[str, ...]) -> tuple[str, ...]:
    """A command that the agent wraps into its own shell, as when it asks about it."""
    return (*SHELL, argv[-1]) if shell and argv[:-1] == shell else argv


def diffs(call: ToolCall) -> tuple[Part, ...]:
    return tuple(part for part in call.parts if part.type == "diff")


def resolved(folder: str, workspace: str) -> str:
    """Return the real path of a folder; the workspace itself as its owner names it. Raises ValueError and OSError."""
    found = os.path.realpath(Path(workspace, folder))
    return workspace if found == os.path.realpath(workspace) else found


def _command(known: _KnownCall, argv: tuple[str, ...], workspace: str, runs_in_workspace: bool) -> Plan:
    named = [key for key in FOLDERS if key in known.given]
    folder = _folder(known.given, workspace) if named or runs_in_workspace else None
    env, changes = _env(known.given.get("env")), diffs(known.call)
    known_keys = {*COMMANDS, *HARMLESS, *(named if folder else ()), *(["env"] if env is not None else [])}
    rest = _unknown(known.given, known_keys)
    doubts = [*known.doubts, *_doubts(rest)]
    doubts += [SETS_VARIABLES] if env else []
    doubts += [say("approvals.no_folder")] if folder is None else []
    doubts += [say("approvals.changes_too")] if changes else []
    shown = _json(rest, known.differing)
    return Plan(
        ActivityKind.COMMAND,
        argv,
        folder,
        env or (),
        diffs=changes,
        rest=shown,
        doubts=tuple(doubts),
        mentions=_words(rest, known.differing),
    )


def _change(known: _KnownCall, paths: tuple[str, ...]) -> Plan:
    """Return the plan of a file change. Without a diff it is shown as the agent describes it."""
    tool = {TOOL: known.given[TOOL]} if known.uses_edit_tool else {}
    rest, changes = _unknown(known.given, {*PATHS, *diff_check.KEYS, MODE, *tool}), diffs(known.call)
    given = (
        {key: known.given[key] for key in diff_check.KEYS if key in known.given and key not in rest} if changes else {}
    )
    shown = _json({**rest, **tool} if changes else known.given, known.differing)
    doubts = (*known.doubts, *_doubts(rest))
    return Plan(
        ActivityKind.CHANGE,
        paths=paths,
        removes=known.removes,
        diffs=changes,
        texts=given,
        rest=shown,
        doubts=doubts,
        mentions=_words(rest, known.differing),
    )


def with_odd_texts(plan: Plan, odd: Given) -> Plan:
    """`odd`: texts that do not match the diff."""
    if not odd:
        return plan
    rest = lines(plan.rest, _json(odd, {}))
    return with_doubt(replace(plan, rest=rest), say("approvals.not_in_diff", names=_shown(odd)))


def with_doubt(plan: Plan, doubt: str) -> Plan:
    return replace(plan, doubts=(*plan.doubts, doubt))


def _unknown(given: Given, known: Set[str]) -> Given:
    return {key: value for key, value in given.items() if key not in known or not _is_plain(key, value)}


def _words(*unclear: Any) -> tuple[str, ...]:
    return tuple(readings.words(list(unclear)))


def _doubts(rest: Given) -> list[str]:
    return [say("approvals.unknown_parts", names=_shown(rest))] if rest else []


def _shown(names: Iterable[str]) -> str:
    """Names that the agent chose, for a sentence."""
    return as_code(", ".join(names), lines=False)


def _is_plain(key: str, value: Any) -> bool:
    """Whether the value of a known key has the expected type."""
    if key in ("timeout", "timeout_ms"):
        return isinstance(value, int | float)
    if key in ("replaceAll", "replace_all"):
        return isinstance(value, bool)
    if key == MODE:
        return bool(value == "replace")
    return isinstance(value, str) or key in (*COMMANDS, *FOLDERS, "env")


def _given(call: ToolCall | None, edit_tools: Set[str]) -> dict[str, Any]:
    """Return what a call carries. The tool that it names stays a part of it, whatever stands beside it."""
    raw: Any = call.raw_input if call is not None else None
    if _is_of_edit_tool(raw, edit_tools):
        raw = {**raw[ARGUMENTS], TOOL: raw[TOOL]}
    if isinstance(raw, dict):
        return {str(key): value for key, value in raw.items() if value is not None}
    return {} if raw is None else {"rawInput": raw}


def _is_of_edit_tool(raw: Any, edit_tools: Set[str]) -> bool:
    """Whether this is how the agent names one of its own tools that edit a file, beside the arguments. Arguments of any
    other tool may mean anything, so they are not read as those of a file."""
    if not isinstance(raw, dict) or raw.keys() != {TOOL, ARGUMENTS} or not isinstance(raw[ARGUMENTS], dict):
        return False
    return isinstance(raw[TOOL], str) and raw[TOOL] in edit_tools and TOOL not in raw[ARGUMENTS]


def _argv(given: Given) -> tuple[str, ...]:
    """Return the command; empty if there is none, or if it is not clear."""
    said = [given[key] for key in COMMANDS if key in given]
    if not said or any(each != said[0] for each in said):
        return ()
    if isinstance(said[0], str):
        return (*SHELL, said[0]) if said[0].strip() and "\0" not in said[0] else ()
    words = tuple(said[0]) if isinstance(said[0], list) else ()
    return words if words and words[0] and all(isinstance(word, str) and "\0" not in word for word in words) else ()


def _folder(given: Given, workspace: str) -> str | None:
    """Return the folder; None if the agent names no valid path, or more than one."""
    said = [given[key] for key in FOLDERS if key in given]
    if any(not isinstance(each, str) or not each or readings.is_odd_path(each) for each in said):
        return None
    try:
        found = {resolved(each, workspace) for each in said or [workspace]}
    except (OSError, ValueError):
        return None
    return found.pop() if len(found) == 1 else None


def _env(value: Any) -> Env | None:
    """Read variables, as an object or as ACP's list. None if it is neither and cannot be shown as variables."""
    if value is None or value in ({}, []):
        return ()
    if isinstance(value, list) and all(isinstance(each, dict) and each.keys() == {"name", "value"} for each in value):
        pairs = tuple((each["name"], each["value"]) for each in value)
    else:
        pairs = tuple(value.items()) if isinstance(value, dict) else ()
    is_text = all(isinstance(half, str) and "\0" not in half for pair in pairs for half in pair)
    return pairs if pairs and is_text else None


def _paths(known: _KnownCall) -> tuple[str, ...]:
    named = [known.given[key] for key in PATHS if isinstance(known.given.get(key), str) and known.given[key]]
    return tuple(dict.fromkeys((*tools.paths(known.call), *named, *known.announced_paths)))


def _json(given: Given, announced: Given) -> str:
    """Return a line of JSON, and another one of what was announced: an argument may have any name."""
    told = say("approvals.announced", call=_line_of(announced)) if announced else ""
    return lines(_line_of(given) if given else "", told)


def _line_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
