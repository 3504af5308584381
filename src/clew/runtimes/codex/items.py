"""Converts an item of a Codex turn into an Activity. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.model.events import Activity, ActivityKind, Outcome, Phase
from clew.runtimes import file_changes
from clew.runtimes.codex.wire import Change, ChangeKind, Item
from clew.runtimes.file_changes import Found
from clew.support.display.as_code import script_shown
from clew.support.text import clean
from clew.texts.catalogue import say
from clew.texts.together import glued

LONGEST_NAME = 80  # characters of the name of a sub-agent

_KINDS = {
    "commandExecution": ActivityKind.COMMAND,
    "fileChange": ActivityKind.CHANGE,
    "mcpToolCall": ActivityKind.TOOL,
    "dynamicToolCall": ActivityKind.TOOL,
    "collabAgentToolCall": ActivityKind.TOOL,
    "subAgentActivity": ActivityKind.TOOL,
    "webSearch": ActivityKind.SEARCH,
    "reasoning": ActivityKind.THOUGHT,
    "plan": ActivityKind.PLAN,
}
_OUTCOMES = {"completed": Outcome.OK, "failed": Outcome.FAILED, "declined": Outcome.DECLINED}
_SHELLS = frozenset({"bash", "/bin/bash", "/usr/bin/bash"})  # a script means something else to other shells
NO_ANSWER = frozenset({"userMessage", "agentMessage", "reasoning", "contextCompaction"})  # a text alone is one
SILENT = frozenset({"userMessage", "agentMessage", "contextCompaction"})  # these have their own events


def activity(item: Item, phase: Phase, workspace: str = "") -> Activity:
    """The paths of changes are shown as the workspace has them."""
    item = _inside(item, workspace)
    return Activity(
        item=item.id,
        kind=_KINDS.get(item.type, ActivityKind.OTHER),
        phase=phase,
        title=_title(item),
        detail=_detail(item),
        outcome=_outcome(item) if phase is Phase.DONE else None,
        exit_code=item.exit_code,
        folder=item.cwd,
        image=item.saved_path,
    )


def _inside(item: Item, workspace: str) -> Item:
    if not item.changes or len(workspace) < 2:
        return item
    top = f"{workspace.rstrip('/')}/"
    changes = tuple(replace(each, path=each.path.removeprefix(top), kind=_moved(each, top)) for each in item.changes)
    return replace(item, changes=changes)


def _moved(change: Change, top: str) -> ChangeKind:
    target = change.kind.moved_to
    return replace(change.kind, moved_to=target.removeprefix(top) if target else None)


def diff(changes: Iterable[Change], there: Mapping[str, Found] | None = None) -> str:
    """Return the complete diff, file by file. For a new or deleted file Codex gives only its text. `there`: what is
    already at the paths of new files and at the targets of moves, which Codex does not say."""
    return glued(*(_file_diff(change, there or {}) for change in changes))


def _file_diff(change: Change, there: Mapping[str, Found]) -> str:
    target = change.kind.moved_to or change.path
    found = there.get(target, Found())
    match change.kind.type:
        case "add" if found.text is not None:
            return f"{file_changes.diff(change.path, found.text, change.diff)}\n"
        case "add":
            new = f"--- /dev/null\n+++ {change.path}\n{_prefix_lines('+', change.diff)}"
            return glued(file_changes.replaced(target, found), "\n", new) if found.is_unseen else new
        case "delete":
            return f"--- {change.path}\n+++ /dev/null\n{_prefix_lines('-', change.diff)}"
        case _:
            body = change.diff if change.diff.endswith("\n") else f"{change.diff}\n"
            return glued(f"--- {change.path}\n+++ {target}\n{body}", _gone(target, found))


def _gone(path: str, found: Found) -> str:
    """Show the file that a move overwrites."""
    if found.text is None:
        return glued(file_changes.replaced(path, found), "\n") if found.is_unseen else ""
    removed = f"--- {path}\n+++ /dev/null\n{_prefix_lines('-', found.text)}"
    return glued(say("approvals.gone"), "\n", removed)


def _prefix_lines(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.removesuffix("\n").split("\n"))


def _outcome(item: Item) -> Outcome:
    return _OUTCOMES.get(item.status or "completed", Outcome.OK)


def script_of(command: str | Sequence[str]) -> str:
    """Codex runs each script of its model as `/bin/bash -lc SCRIPT`: people and rules see the script. Of any other
    command the words, quoted as a shell needs it."""
    words = _words(command) if isinstance(command, str) else list(command)
    if len(words) == 3 and words[0] in _SHELLS and words[1] == "-lc" and words[2].strip():
        return words[2]
    return command if isinstance(command, str) else shlex.join(command)


def _words(command: str) -> list[str]:
    if not command.partition(" ")[0].endswith("bash"):
        return []
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return []


def _title(item: Item) -> str:
    match item.type:
        case "commandExecution":
            return script_shown(script_of(item.command or ""))
        case "fileChange":
            return ", ".join(change.path for change in item.changes or ())
        case "mcpToolCall" | "dynamicToolCall":
            return ".".join(part for part in (item.server or item.namespace, item.tool) if part)
        case "collabAgentToolCall":
            return f"{item.tool} {task_name(item.prompt or '')}".strip()
        case "subAgentActivity":
            return f"{item.agent_path} {item.kind}"
        case "webSearch":
            return item.query or ""
        case "reasoning" | "plan":
            return item.type
        case _:
            return " ".join(part for part in (item.type, item.tool or item.path or item.review) if part)


def task_name(prompt: str) -> str:
    """What a sub-agent is for, in a few words."""
    line = next((line.strip() for line in clean(prompt).splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}…"


def _detail(item: Item) -> str:
    match item.type:
        case "commandExecution":
            return item.aggregated_output or ""
        case "fileChange":
            return diff(item.changes or ())
        case "reasoning":
            return "\n".join(_lines(item.summary) or _lines(item.content))
        case "mcpToolCall" | "dynamicToolCall":
            return _result(item)
        case "collabAgentToolCall":
            return item.prompt or ""
        case _:
            return item.text or ""


def _result(item: Item) -> str:
    if item.error:
        return _part_text(item.error)
    parts = item.content_items or (item.result.get("content") if isinstance(item.result, dict) else None) or ()
    return "\n".join(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if isinstance(part, dict):
        return str(part.get("text") or part.get("message") or msgspec.json.encode(part).decode())
    return str(part)


def _lines(value: Any) -> list[str]:
    return [_part_text(part) for part in value] if isinstance(value, list) else []
