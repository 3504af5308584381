"""Converts Claude's question whether a tool may be used to what a person is asked, or to a yes of clew itself.

Claude asks about every tool. clew lets it use those that only read in the workspace, or that only lead to further
questions; about all others, also those that it does not know, a person or a rule decides. Looks at files, so it may be
slow.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import Asked, GateKind, Question, Reason
from clew.runtimes import file_changes
from clew.runtimes.claude import items, wire
from clew.runtimes.claude.wire import Request
from clew.runtimes.file_changes import Found
from clew.texts.catalogue import say
from clew.texts.together import lines

# What each leads to is asked by itself, or stays inside of Claude.
FREE = frozenset(
    (
        *("TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite"),
        *("EnterPlanMode", "ListAgents", "ReportFindings", "ToolSearch", "BashOutput", "KillShell"),
    )
)
READERS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead"})
# Others may give a sub-agent another folder, or another mode of asking.
_AGENT_FIELDS = frozenset({"description", "prompt", "subagent_type", "model", "run_in_background"})
_PATHS = ("file_path", "notebook_path", "path")
_OTHER_SPACES = "".join(
    map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF))
)
_OURS = "flagSettings"  # Claude's name for the rules of its command line
_SHOWN = frozenset({"command", "description"})  # of a command: in the title and the reason


class Checked(Struct, frozen=True):
    """What a person is asked, and the file that it is about as it is now."""

    asked: Asked
    path: Path | None = None
    stamp: str = ""

    def is_current(self) -> bool:
        """False: the file has changed since it was shown, or cannot be seen any more."""
        try:
            return self.path is None or file_changes.stamp(self.path) == self.stamp
        except OSError:
            return False


def is_wanted_asked(request: Request, asked_tools: frozenset[str] = frozenset()) -> bool:
    """Whether an ask rule of the person, or of the folder, is about it. Ours, which is about everything, comes with our
    command line, and so do those of a folder that nobody trusts; of these, `asked_tools` are about all of a tool."""
    rule, source = request.matched_ask_rule, request.decision_reason_rule_source
    sources = {source, rule.get("source") if isinstance(rule, dict) else None}
    if sources - {None, _OURS} or (source == _OURS and rule is not None):
        return True
    names = items.AGENTS if request.tool_name in items.AGENTS else (request.tool_name,)
    return any(fnmatchcase(name, pattern) for name in names for pattern in asked_tools)


def is_free(request: Request, workspace: str) -> bool:
    """Whether clew allows it without asking anybody, if no rule of a person is about it."""
    given = arguments(request)
    if request.tool_name in items.AGENTS:
        return given.keys() <= _AGENT_FIELDS
    if request.tool_name in FREE:
        return True
    named = [given[name] for name in (*_PATHS, *(("pattern",) if request.tool_name == "Glob" else ())) if name in given]
    is_reader = request.tool_name in READERS and not request.blocked_path
    return is_reader and all(isinstance(path, str) and _is_inside(workspace, path) for path in named)


def read(
    request: Request, workspace: str, plan: str = "", agents: tuple[str, ...] = (), *, is_wanted: bool = False
) -> Checked:
    """Return what to ask a person. `plan`: what Claude wants to have approved; `agents`: the sub-agents that ask;
    `is_wanted`: a person has said that they want to be asked about it."""
    checked = _read(request, workspace, plan)
    why = say("claude.own_ask_rule") if is_wanted and not checked.asked.unjudged else checked.asked.unjudged
    return replace(checked, asked=replace(checked.asked, unjudged=why, agents=agents))


def _read(request: Request, workspace: str, plan: str) -> Checked:
    given = arguments(request)
    match request.tool_name:
        case "Bash":
            return Checked(_command(request, given, workspace))
        case "Write" | "Edit" if isinstance(given.get("file_path"), str):
            return _change(request, given, workspace)
        case items.QUESTIONS:
            return Checked(_questions(request, given))
        case items.PLAN_READY:
            return Checked(_plan(request, str(given.get("plan") or plan)))
    return Checked(_tool(request, given, workspace))


def arguments(request: Request) -> dict[str, Any]:
    given = wire.read(request.input, object)
    return given if isinstance(given, dict) else {}


def _command(request: Request, given: Mapping[str, Any], workspace: str) -> Asked:
    more = {name: value for name, value in given.items() if name not in _SHOWN and value not in (None, False)}
    return Asked(
        GateKind.COMMAND,
        str(given.get("command", "")),
        detail=items.as_json(more) if more else "",
        folder=workspace,
        reason=str(given.get("description") or ""),
        item=request.tool_use_id,
        leaves_sandbox=bool(given.get("dangerouslyDisableSandbox")),
        unshown=not given.get("command"),
    )


def _change(request: Request, given: Mapping[str, Any], workspace: str) -> Checked:
    """A file outside of the workspace is not read: a card must not show what nobody shared."""
    path = Path(workspace, as_claude_reads(str(given["file_path"])))
    found = _look(path, workspace)
    if found is None:
        return Checked(_unseen_change(request, given, path))
    after = _after(request.tool_name, given, found)
    if after is None:
        return Checked(_unseen_change(request, given, path), path, found.stamp)
    asked = Asked(
        GateKind.CHANGE,
        str(path),
        detail=_shown(str(path), found, after),
        paths=(str(path),),
        item=request.tool_use_id,
    )
    if found.is_unseen:
        about = f"{path} ({found.size:,} B)"
        asked = replace(asked, unjudged=say("approvals.unseen_file"), doubt=Reason("file.unseen", about))
    return Checked(asked, path, found.stamp)


def _look(path: Path, workspace: str) -> Found | None:
    try:
        root, real = Path(workspace).resolve(), path.resolve()
        return file_changes.look(real) if real.is_relative_to(root) else None
    except (OSError, ValueError, RuntimeError):
        return None


def _after(tool: str, given: Mapping[str, Any], found: Found) -> str | None:
    """The text of the file after the change; None if it is not clear."""
    if tool == "Write":
        return str(given.get("content", ""))
    old, new = str(given.get("old_string", "")), str(given.get("new_string", ""))
    text = found.text or ""
    if not old:
        return new if not text else None
    if found.is_unseen or old not in text:
        return None
    return text.replace(old, new) if given.get("replace_all") else text.replace(old, new, 1)


def _shown(path: str, found: Found, after: str) -> str:
    if not found.mark and not after:
        return file_changes.new_empty(path)
    if not found.is_unseen:
        return file_changes.diff(path, found.text, after)
    return lines(file_changes.replaced(path, found), file_changes.diff(path, "", after))


def _unseen_change(request: Request, given: Mapping[str, Any], path: Path) -> Asked:
    """As Claude describes it: clew could not check it against the file."""
    old, new = given.get("old_string"), given.get("new_string", given.get("content"))
    described = file_changes.described(str(path), str(old) if old is not None else None, str(new or ""))
    return Asked(
        GateKind.CHANGE,
        str(path),
        detail=described,
        paths=(str(path),),
        item=request.tool_use_id,
        unjudged=say("approvals.unchecked"),
    )


def _questions(request: Request, given: Mapping[str, Any]) -> Asked:
    found = [each for each in given.get("questions") or () if isinstance(each, dict)]
    questions = tuple(_question(number, each) for number, each in enumerate(found, 1))
    described = [line for each in found for line in _descriptions(each)]
    title = " / ".join(question.text for question in questions)
    return Asked(GateKind.QUESTION, title, "\n".join(described), questions=questions, item=request.tool_use_id)


def _question(number: int, given: Mapping[str, Any]) -> Question:
    labels = tuple(str(each.get("label", "")) for each in _options(given))
    return Question(str(number), str(given.get("question", "")), labels, several=bool(given.get("multiSelect")))


def _descriptions(given: Mapping[str, Any]) -> list[str]:
    pairs = [(str(each.get("label", "")), str(each.get("description") or "")) for each in _options(given)]
    return [f"{label}: {text}" for label, text in pairs if text not in ("", label)]


def _options(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in given.get("options") or () if isinstance(each, dict)]


def _plan(request: Request, plan: str) -> Asked:
    """A yes to a plan allows none of its steps: each is asked about when it comes."""
    return Asked(
        GateKind.PERMISSION,
        say("approvals.plan"),
        detail=plan or say("claude.plan_above"),
        item=request.tool_use_id,
        unjudged=say("claude.plan_is_for_people"),
        is_for_people=True,
    )


def _tool(request: Request, given: Mapping[str, Any], workspace: str) -> Asked:
    paths = tuple(str(Path(workspace, path)) for path in _named(given))
    command = given.get("command")
    return Asked(
        GateKind.PERMISSION,
        items.tool_title(request.tool_name),
        detail=items.as_json(given) if given else "",
        reason=str(request.decision_reason or "") if isinstance(request.decision_reason, str) else "",
        paths=paths,
        item=request.tool_use_id,
        may_run=(command,) if isinstance(command, str) else (),
        may_touch=() if request.tool_name in READERS else paths,
        unshown=not request.tool_name,
    )


def _named(given: Mapping[str, Any]) -> list[str]:
    return [as_claude_reads(given[name]) for name in _PATHS if isinstance(given.get(name), str)]


def as_claude_reads(path: str) -> str:
    """Claude takes white space at both ends off a path, in all forms that JavaScript knows, and knows `~/`."""
    trimmed = path.strip(f"{string.whitespace}{_OTHER_SPACES}")
    return str(Path(trimmed).expanduser()) if trimmed.startswith("~/") else trimmed


def _is_inside(workspace: str, path: str) -> bool:
    try:
        root = Path(workspace).resolve()
        return (root / Path(as_claude_reads(path)).expanduser()).resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False
