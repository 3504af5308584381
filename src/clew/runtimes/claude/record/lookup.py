"""Finds out from Claude's transcript what became of one of our turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from clew.model.events import Activity, Phase
from clew.model.events.long_text import shortened
from clew.model.runtime import RecordState, TurnRecord
from clew.model.turns import Problem, Usage
from clew.runtimes import claude_limits
from clew.runtimes.claude import items, problems, spending, wire
from clew.runtimes.claude.record import transcript
from clew.runtimes.claude.record.transcript import STEERED, Said, SaidTurn
from clew.runtimes.claude.wire import Row
from clew.runtimes.claude_limits import ClaudeLimits
from clew.support.text import LONGEST

NONE: Mapping[str, Path] = MappingProxyType({})
NOBODY_LEFT = "Tool permission stream closed before response received"  # Claude's own words


def look(path: Path, turn: str, longest_text: int = LONGEST) -> TurnRecord | None:
    """None: Claude has no record of the turn. It may have asked the model, but the turn did not end."""
    found = transcript.newest_turn(path, turn)
    if found is None:
        return None
    done = tuple(activities(found, transcript.sub_agents(path)))
    used = spent([*found.rows, *transcript.of_sub_agents(path, found)])
    record = replace(as_record(found, longest_text), activities=done, usage=used)
    folded = (id.removeprefix(f"{turn}{STEERED}") for id in transcript.folded_in(path, turn))
    return replace(record, messages=record.messages.union(folded))


def as_record(found: SaidTurn, longest_text: int = LONGEST) -> TurnRecord:
    """An interrupted turn is `cut`: only our own rows know whether a person stopped it."""
    state = _state(found)
    return TurnRecord(
        state=state,
        runtime_turn=found.id,
        text=shortened(answer(found), longest_text),
        problem=_problem(found) if state is RecordState.FAILED else None,
        usage=spent(found.rows),
        activities=tuple(activities(found)),
        messages=messages(found),
    )


def messages(found: SaidTurn) -> frozenset[str]:
    """Our ids of the people's messages in it."""
    return frozenset(each.id.removeprefix(f"{found.id}{STEERED}") for each in found.prompts)


def answer(found: SaidTurn) -> str:
    """The answer to the request, and the answers to what was given to the turn after it had ended."""
    ends = [row.message.text for row in found.rows if row.is_final and not row.is_error and not row.is_filler]
    return "\n\n".join(filter(None, ends))


def activities(found: SaidTurn, sub_agents: Mapping[str, Path] = NONE) -> list[Activity]:
    """What has ended. `sub_agents`: their files, by the call that began each."""
    return [each for each in _activities(found.rows, None, sub_agents) if each.phase is Phase.DONE]


def _activities(said: Sequence[Said], parent: str | None, sub_agents: Mapping[str, Path]) -> Iterator[Activity]:
    known: dict[str, Activity] = {}
    for row in said:
        for block in row.message.blocks:
            if block.type == "tool_use" and block.name not in items.SILENT:
                known[block.id or ""] = items.started(block, row.row.cwd or "", parent)
            elif block.type == "tool_result" and (begun := known.get(block.tool_use_id or "")) is not None:
                known[begun.item] = items.done(begun, block, row.row.tool_use_result)
    for act in known.values():
        yield act
        if (path := sub_agents.get(act.item)) is not None:
            left = {call: file for call, file in sub_agents.items() if call != act.item}
            yield from _activities(transcript.said_by_sub_agent(path), act.item, left)


def spent(rows: Iterable[Said]) -> Usage | None:
    """Each message of the model is one request, and may have several rows."""
    used = {row.message.id: spending.tokens(_usage(row)) for row in rows if row.is_from_model and not row.is_filler}
    return sum(used.values(), Usage()) if used else None


def _usage(row: Said) -> object:
    fields = wire.read(row.row.message, dict)
    return fields.get("usage") if fields is not None else None


def _state(found: SaidTurn) -> RecordState:
    """By the last thing that was said: a request that has no answer yet is cut, too."""
    last = next((row for row in reversed(found.rows) if not row.is_filler), None)
    if last is None or not last.is_from_model or _was_denied_by_itself(found):
        return RecordState.CUT
    if last.is_error:
        return RecordState.FAILED
    if not last.is_final:
        return RecordState.CUT
    return RecordState.COMPLETED if has_answered(found) else RecordState.FAILED


def has_answered(found: SaidTurn) -> bool:
    """Whether it said or did anything; thoughts alone are no answer."""
    blocks = (block for row in found.rows if row.is_from_model for block in row.message.blocks)
    return any(block.type == "tool_use" or (block.type == "text" and block.text) for block in blocks)


def _was_denied_by_itself(found: SaidTurn) -> bool:
    """When clew dies while a person is asked, Claude takes that for a no, and goes on as if somebody had said it."""
    blocks = (block for row in found.rows for block in row.message.blocks)
    return any(
        block.type == "tool_result" and block.is_error and NOBODY_LEFT in items.flat(block.content) for block in blocks
    )


def asks(found: SaidTurn) -> bool:
    """Whether it is at a tool, about which Claude asks, or nobody could answer it."""
    blocks = [block for row in found.rows for block in row.message.blocks]
    ended = {block.tool_use_id for block in blocks if block.type == "tool_result"}
    is_open = any(block.type == "tool_use" and block.id not in ended for block in blocks)
    return is_open or _was_denied_by_itself(found)


def _problem(found: SaidTurn) -> Problem:
    """Its limits say when the account is free again."""
    row = next((row for row in reversed(found.rows) if row.is_error), None)
    if row is None:
        return problems.no_answer()
    return problems.problem(
        row.message.text,
        error=problems.error_name(row.row.error, row.row.api_error),
        status=row.row.api_error_status,
        terminal="api_error",
        limits=_limits(row.row),
    )


def _limits(row: Row) -> ClaudeLimits | None:
    params = row.api_error_params
    told = params.get("rate_limit_info") if isinstance(params, dict) else None
    return claude_limits.parse(told) or claude_limits.parse(row.quota_limits)
