"""Converts the use of a tool into an Activity. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from clew.model.events import Activity, ActivityKind, Outcome, Phase
from clew.runtimes import file_changes
from clew.runtimes.claude.wire import Block
from clew.support.text import clean

COMMANDS = frozenset({"Bash"})
CHANGES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
AGENTS = frozenset({"Agent", "Task"})
QUESTIONS = "AskUserQuestion"
PLAN_READY = "ExitPlanMode"
_SEARCHES = frozenset({"Glob", "Grep", "ToolSearch", "WebSearch"})
_PLANS = frozenset({"TodoWrite", PLAN_READY})
SILENT = frozenset({QUESTIONS})  # it is shown as a gate
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)")
_NAMES = ("file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "description")
LONGEST_TITLE = 300  # characters


def started(block: Block, folder: str, parent: str | None = None) -> Activity:
    """`parent`: the call that began the sub-agent that does it."""
    name, given = block.name or "", arguments(block)
    return Activity(
        item=block.id or "",
        kind=kind_of(name),
        phase=Phase.STARTED,
        title=title_of(name, given),
        detail=_detail(name, given),
        folder=folder if name in COMMANDS else None,
        parent=parent,
    )


def done(begun: Activity, block: Block, more: object = None, meta: object = None) -> Activity:
    """The end of an activity. `block`: the tool's result; `more`: the same as data; `meta`: what became of the
    request."""
    output, code = output_of(block, more), None
    if begun.kind is ActivityKind.COMMAND and (found := _EXIT_CODE.match(output)):
        code = int(found[1])
        output = output[found.end() :].lstrip("\n")
    elif begun.kind is ActivityKind.COMMAND and not block.is_error:
        code = 0
    shown = begun.detail if begun.kind in (ActivityKind.CHANGE, ActivityKind.PLAN) else output
    return replace(begun, phase=Phase.DONE, detail=shown, outcome=_outcome(block, meta), exit_code=code)


def title_of(name: str, given: dict[str, Any]) -> str:
    """The exact command; for others the paths or the tool and what it is about."""
    if name in COMMANDS:
        return str(given.get("command", ""))
    if name in CHANGES:
        return str(given.get("file_path") or given.get("notebook_path") or name)
    about = next((str(given[each]) for each in _NAMES if isinstance(given.get(each), str)), "")
    title = f"{tool_title(name)} {about}".strip()
    return clean(title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE]}…")


def tool_title(name: str) -> str:
    """The name of a tool; of one of an MCP server `SERVER.TOOL`."""
    if not name.startswith("mcp__"):
        return name
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return f"{server}.{tool}" if tool else server


def kind_of(name: str) -> ActivityKind:
    if name in COMMANDS:
        return ActivityKind.COMMAND
    if name in CHANGES:
        return ActivityKind.CHANGE
    if name in _PLANS:
        return ActivityKind.PLAN
    return ActivityKind.SEARCH if name in _SEARCHES else ActivityKind.TOOL


def arguments(block: Block) -> dict[str, Any]:
    return block.input if isinstance(block.input, dict) else {}


def output_of(block: Block, more: object = None) -> str:
    """What a tool returned, as text: of a command its own output rather than what the model was told of it."""
    if isinstance(more, dict) and isinstance(more.get("stdout"), str):
        return "\n".join(filter(None, (more["stdout"], str(more.get("stderr") or ""))))
    return flat(block.content)


def flat(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def as_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _detail(name: str, given: dict[str, Any]) -> str:
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    match name:
        case "Bash":
            return ""
        case "Write":
            return file_changes.diff(path, None, str(given.get("content", "")))
        case "Edit":
            return file_changes.diff(path, str(given.get("old_string", "")), str(given.get("new_string", "")))
        case "ExitPlanMode":
            return str(given.get("plan", ""))
        case "TodoWrite":
            return _todos(given.get("todos"))
    return as_json(given) if given else ""


def _todos(todos: object) -> str:
    marks = {"completed": "x", "in_progress": ">"}
    listed = [each for each in todos if isinstance(each, dict)] if isinstance(todos, list) else []
    return "\n".join(f"[{marks.get(str(each.get('status')), ' ')}] {each.get('content', '')}" for each in listed)


def _outcome(block: Block, meta: object) -> Outcome:
    if not block.is_error:
        return Outcome.OK
    notes = [each for each in meta if isinstance(each, dict)] if isinstance(meta, list) else []
    own = [each for each in notes if each.get("id") in (None, block.tool_use_id)]
    is_declined = any(each.get("non_execution_kind") or _is_no(each.get("permission_decision")) for each in own)
    return Outcome.DECLINED if is_declined else Outcome.FAILED


def _is_no(decision: object) -> bool:
    return isinstance(decision, dict) and decision.get("decision") == "reject"
