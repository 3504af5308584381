"""Converts a tool call of an agent to an Activity. Pure."""

from __future__ import annotations

import json
import shlex
from typing import Any

from msgspec.structs import replace

from clew.model.events import Activity, ActivityKind, Outcome, Phase
from clew.runtimes import file_changes
from clew.runtimes.acp.wire import Part, ToolCall

_KINDS = {
    "execute": ActivityKind.COMMAND,
    "edit": ActivityKind.CHANGE,
    "delete": ActivityKind.CHANGE,
    "move": ActivityKind.CHANGE,
    "think": ActivityKind.THOUGHT,
}


def merge(known: ToolCall | None, news: ToolCall) -> ToolCall:
    """Merge an update into a known call: an update has only the changed fields."""
    if known is None:
        return news
    return ToolCall(
        known.tool_call_id,
        news.title if news.title is not None else known.title,
        news.kind or known.kind,
        news.status or known.status,
        news.content if news.content is not None else known.content,
        news.locations or known.locations,
        news.raw_input if news.raw_input is not None else known.raw_input,
        news.raw_output if news.raw_output is not None else known.raw_output,
        news.meta if news.parent is not None else known.meta,
    )


def with_arguments(call: ToolCall) -> ToolCall:
    """The call of an agent that sends the arguments as a text, until it has them all."""
    if call.raw_input is not None or len(call.parts) != 1 or not call.parts[0].is_text:
        return call
    try:
        given = json.loads(_shown(call.parts[0]))
    except ValueError:
        return call
    return replace(call, raw_input=given, content=()) if isinstance(given, dict) else call


def activity(call: ToolCall, phase: Phase) -> Activity:
    return Activity(
        call.tool_call_id,
        kind(call),
        phase,
        title(call),
        detail(call),
        _outcome(call) if phase is Phase.DONE else None,
        _exit_code(call),
        parent=call.parent,
    )


def kind(call: ToolCall) -> ActivityKind:
    return _KINDS.get(call.kind or "", ActivityKind.TOOL)


def title(call: ToolCall) -> str:
    """Return the exact command, the paths, or the agent's own title."""
    if kind(call) is ActivityKind.COMMAND and (said := command(call)):
        return said
    if kind(call) is ActivityKind.CHANGE and (touched := paths(call)):
        return ", ".join(touched)
    name, said = call.title or call.kind or "tool", command(call)
    return f"{name}: {said}" if said and said not in name else name


def command(call: ToolCall) -> str:
    given = call.raw_input.get("command", call.raw_input.get("cmd")) if isinstance(call.raw_input, dict) else None
    if isinstance(given, list):
        return shlex.join(map(str, given))
    return given if isinstance(given, str) else ""


def paths(call: ToolCall) -> tuple[str, ...]:
    diffs = [part.path for part in call.parts if part.type == "diff"]
    places = [place.path for place in call.locations or ()]
    return tuple(dict.fromkeys(path for path in (*diffs, *places) if path))


def detail(call: ToolCall) -> str:
    shown = [_shown(part) for part in call.parts]
    if any(shown):
        return "\n".join(filter(None, shown))
    return _flat(call.raw_output)


def apply_change(now: str, old: str, new: str) -> str:
    """Return the text of a file after a change. Agents send the complete old and new text, or only the changed piece:
    `old` is a piece if it occurs once."""
    return now.replace(old, new, 1) if old and now.count(old) == 1 else new


def shown_texts(call: ToolCall) -> str:
    """Return the texts that a call shows beside its diffs."""
    return "\n".join(filter(None, (_shown(part) for part in call.parts if part.is_text)))


def _shown(part: Part) -> str:
    if part.type == "diff":
        return file_changes.diff(part.path, part.old_text, part.new_text)
    if part.content is not None:
        return part.content.text or part.content.uri
    return ""


def _flat(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, dict) and isinstance(value.get("output"), str):
        return str(value["output"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _outcome(call: ToolCall) -> Outcome | None:
    return {"completed": Outcome.OK, "failed": Outcome.FAILED}.get(call.status or "")


def _exit_code(call: ToolCall) -> int | None:
    for key in ("exitCode", "exit_code"):
        if isinstance(call.raw_output, dict) and isinstance(code := call.raw_output.get(key), int):
            return code
    return None
