"""Converts the updates of one turn into events. Pure: no I/O, no clock.

The protocol has no end of a message: a text ends when a tool call or another message starts, or with the turn. The last
text is the answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from clew.model.events import Activity, ActivityKind, Event, Limits, Outcome, Phase, TextDelta, TextDone
from clew.model.events.long_text import GrowingText
from clew.runtimes import claude_limits
from clew.runtimes.acp import wire
from clew.runtimes.acp.tools import activity, merge, title
from clew.runtimes.acp.wire import ToolCall
from clew.runtimes.claude_limits import ClaudeLimits
from clew.support.text import LONGEST

log = logging.getLogger(__name__)

CLAUDE_LIMITS = "_claude/rateLimit"  # in `_meta`
TAIL = 4000  # characters of a thought in an update; the last event has all of it
QUIET = frozenset(
    {
        "user_message_chunk",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
    }
)


class Translation:
    def __init__(self, turn: str, longest_text: int = LONGEST) -> None:
        self._turn = turn
        self._longest = longest_text
        self._count = 0
        self._open: tuple[str, GrowingText, str | None] | None = None  # item, text so far, the agent's id of it
        self._thought: tuple[str, GrowingText] | None = None
        self._newest = ""  # the last characters of the thought
        self._plan: Activity | None = None
        self._tools: dict[str, ToolCall] = {}
        self._done: dict[str, Activity] = {}
        self._texts: list[str] = []
        self.context_used = 0  # tokens, if the agent says
        self.limits: ClaudeLimits | None = None  # of its account, if it is Claude's adapter

    @property
    def text(self) -> str:
        """The answer so far."""
        said = [*self._texts, *([self._open[1].whole()] if self._open else [])]
        return next((text for text in reversed(said) if text.strip()), "")

    @property
    def is_empty(self) -> bool:
        return not (self._texts or self._open or self._tools or self._thought or self._plan)

    @property
    def has_acted(self) -> bool:
        return bool(self._tools)

    @property
    def has_answered(self) -> bool:
        """Whether it said or did anything; thoughts alone are no answer."""
        return bool(self.text or self._tools or self._plan)

    @property
    def is_at_work(self) -> bool:
        """Whether a tool call runs, which may be silent for long."""
        return any(id not in self._done for id in self._tools)

    @property
    def activities(self) -> tuple[Activity, ...]:
        """The activities so far; those that have ended, with their outcome."""
        started = {id: self._done.get(id) or activity(call, Phase.STARTED) for id, call in self._tools.items()}
        return tuple(started.values())

    def feed(self, update: msgspec.Raw) -> list[Event]:
        kind = (wire.read(update, wire.Kind) or wire.Kind()).session_update
        if (handler := self._handlers.get(kind)) is not None:
            return handler(self, update)
        if kind not in QUIET:
            log.info("ignored an update of the unknown kind %r", kind)
        return []

    def tool(self, id: str) -> ToolCall | None:
        return self._tools.get(id)

    def agents_above(self, call: ToolCall) -> tuple[str, ...]:
        """What the sub-agents above a call are for, outermost first."""
        names: list[str] = []
        parent = call.parent
        while parent is not None and len(names) <= len(self._tools):
            above = self._tools.get(parent)
            names.append(title(above) if above is not None else "?")
            parent = above.parent if above is not None else None
        return tuple(reversed(names))

    def decline(self, id: str) -> list[Event]:
        """Mark a tool call as declined by a person. Later updates about it are ignored."""
        if id not in self._tools or id in self._done:
            return []
        self._done[id] = replace(activity(self._tools[id], Phase.DONE), outcome=Outcome.DECLINED)
        return [self._done[id]]

    def discard(self) -> list[Event]:
        """Discard the text so far: it is not the answer."""
        events = [*self._end_thought(), *self._end_text(cut=True)]
        self._texts = []
        return events

    def end_message(self) -> list[Event]:
        """End what the agent is saying: what follows is another message."""
        return [*self._end_thought(), *self._end_text()]

    def end(self) -> list[Event]:
        """End everything that is open."""
        events = self.end_message()
        if self._plan is not None:
            events.append(replace(self._plan, phase=Phase.DONE))
        for id, call in self._tools.items():
            if id not in self._done:
                self._done[id] = activity(call, Phase.DONE)
                events.append(self._done[id])
        return events

    def _message(self, update: msgspec.Raw) -> list[Event]:
        chunk = wire.read(update, wire.Chunk) or wire.Chunk()
        piece = _said(chunk.content)
        if self._open is None:
            piece = piece.lstrip("\r\n")  # some agents start each message with a separator
        if not piece:
            return []
        events = self._end_thought()
        if self._open is not None and chunk.message_id is not None and chunk.message_id != self._open[2]:
            events += self._end_text()
        item, text, _ = self._open or (self._next("text"), GrowingText(self._longest), None)
        self._open = item, text, chunk.message_id
        offset, shown = text.length, text.add(piece)
        deltas = [TextDelta(item, offset, shown)] if shown else []
        return [*events, *deltas, *text.news()]

    def _think(self, update: msgspec.Raw) -> list[Event]:
        chunk = wire.read(update, wire.Chunk) or wire.Chunk()
        if not (piece := _said(chunk.content)):
            return []
        is_new = self._thought is None
        item, text = self._thought = self._thought or (self._next("thought"), GrowingText(self._longest))
        text.add(piece)
        self._newest = f"{'' if is_new else self._newest}{piece}"[-TAIL:]
        phase = Phase.STARTED if is_new else Phase.UPDATED
        return [Activity(item, ActivityKind.THOUGHT, phase, "", self._newest)]

    def _planned(self, update: msgspec.Raw) -> list[Event]:
        entries = (wire.read(update, wire.Plan) or wire.Plan()).entries
        lines = "\n".join(f"[{entry.status or 'pending'}] {entry.content}" for entry in entries)
        phase = Phase.UPDATED if self._plan else Phase.STARTED
        item = self._plan.item if self._plan else self._next("plan")
        self._plan = Activity(item, ActivityKind.PLAN, phase, "plan", lines)
        return [self._plan]

    def _used(self, update: msgspec.Raw) -> list[Event]:
        told = wire.read(update, wire.UsageUpdate) or wire.UsageUpdate()
        self.context_used = told.used
        found = claude_limits.parse(told.meta.get(CLAUDE_LIMITS)) if isinstance(told.meta, dict) else None
        if found is None:
            return []
        self.limits = found
        return [Limits(found.windows)]

    def _called(self, update: msgspec.Raw) -> list[Event]:
        """Handle a tool call or an update of one. A call that has ended does not change."""
        call = wire.read(update, ToolCall)
        if call is None or not call.tool_call_id or call.tool_call_id in self._done:
            return []
        known = self._tools.get(call.tool_call_id)
        merged = self._tools[call.tool_call_id] = merge(known, call)
        events = [] if known else [*self._end_thought(), *self._end_text(), activity(merged, Phase.STARTED)]
        if merged.status in ("completed", "failed"):
            done = self._done[call.tool_call_id] = activity(merged, Phase.DONE)
            return [*events, done]
        return events if not known else [activity(merged, Phase.UPDATED)]

    def _end_text(self, cut: bool = False) -> list[Event]:
        if self._open is None:
            return []
        item, text, _ = self._open
        self._open = None
        whole = text.whole()
        if not cut:
            self._texts.append(whole)
        return [TextDone(item, whole, cut=cut), *text.news()]

    def _end_thought(self) -> list[Event]:
        if self._thought is None:
            return []
        item, text = self._thought
        self._thought = None
        return [Activity(item, ActivityKind.THOUGHT, Phase.DONE, "", text.whole())]

    def _next(self, what: str) -> str:
        self._count += 1
        return f"{self._turn}-{what}-{self._count}"

    _handlers: ClassVar[dict[str, Callable[[Translation, msgspec.Raw], list[Event]]]] = {
        "agent_message_chunk": _message,
        "agent_thought_chunk": _think,
        "tool_call": _called,
        "tool_call_update": _called,
        "plan": _planned,
        "usage_update": _used,
    }


def _said(content: wire.Content) -> str:
    match content.type:
        case "text":
            return content.text
        case "resource_link" | "resource":
            return content.uri
        case other:
            return f"[{other}]" if other else ""
