"""Converts the frames of one turn into events. Pure: no I/O, no clock.

What comes before our message is begun belongs to a turn that nobody asked for. A turn of ours ends with a `result` that
names our id and has nothing of ours behind it: a message that was given to the turn, but came too late to be read in
it, is answered by a `result` of its own, which belongs to the same turn of clew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Event,
    Limits,
    Notice,
    NoticeKind,
    Outcome,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
    Usage,
)
from clew.model.events.long_text import GrowingText, shortened, text_done
from clew.model.turns import TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes import claude_limits
from clew.runtimes.claude import items, problems, spending, wire
from clew.runtimes.claude.record.transcript import STEERED
from clew.runtimes.claude.turn.sub_agents import SubAgents
from clew.runtimes.claude.wire import Block, Frame, Request, StreamEvent
from clew.runtimes.claude_limits import ClaudeLimits
from clew.support.text import LONGEST, clean
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

COMPACTED = say("claude.compacted")
TAIL = 4000  # characters of a thought in an update; the last event has all of it
_ABORTED = ("aborted_streaming", "aborted_tools")


def is_unasked(frame: Frame) -> bool:
    """Whether it ends a turn that nobody asked for, such as after a background task."""
    return frame.type == "result" and not frame.user_message_uuids and frame.terminal_reason not in _ABORTED


class Translation:
    def __init__(self, turn: str, folder: str = "", longest_text: int = LONGEST) -> None:
        self.turn = turn
        self.is_queued = False  # Claude has our message
        self.is_started = False
        self.is_repeated = False  # Claude has finished this turn before, and does not run it again
        self.is_ended = False
        self.is_interrupted = False
        self._limits: ClaudeLimits | None = None
        self._folder = folder
        self._longest = longest_text
        self._waiting: set[str] = set()  # ids of messages that were given to the turn, and are not in a result yet
        self._taken: set[str] = {turn}
        self._message = ""  # the id of the model's message that is being written
        self._open: tuple[str, GrowingText] | None = None  # the text that is being written
        self._thought: Activity | None = None
        self._activities: dict[str, Activity] = {}
        self._sub_agents = SubAgents()
        self._answers: list[str] = []
        self._said = ""  # the newest complete text
        self._spent = Tokens()
        self._newly_spent: Tokens | None = None
        self._has_retried = False
        self._has_acted = False  # it has used a tool
        self._error: Frame | None = None  # the frame that says why the model could not be asked

    def feed(self, frame: Frame, spent: Tokens | None = None) -> list[Event]:
        """`spent`: of a result, what was used since the one before; None: only what it says of its main loop."""
        if self.is_ended:
            return []
        self._newly_spent = spent
        if frame.type == "command_lifecycle":
            return list(self._lifecycle(frame))
        if frame.type == "rate_limit_event":
            return list(self._account_limits(frame))
        if not self.is_started:
            self.is_repeated = self.is_repeated or (self._is_replay(frame) and not self.is_queued)
            return []
        handler = self._handlers.get(frame.type)
        return list(handler(self, frame)) if handler is not None else []

    def _account_limits(self, frame: Frame) -> Iterable[Event]:
        found = claude_limits.parse(frame.rate_limit_info)
        self._limits = found or self._limits
        if found is not None and self.is_started:
            yield Limits(found.windows)

    def give(self, id: str) -> None:
        """A message is given to the running turn."""
        self._waiting.add(id)

    def take_back(self, ids: Iterable[str]) -> None:
        """Claude has not read these messages, and never will."""
        self._waiting -= set(ids)

    def detail_of(self, item: str | None) -> str:
        """What is shown of an open activity."""
        act = self._activities.get(item or "")
        return act.detail if act is not None else ""

    def agents_of(self, request: Request) -> tuple[str, ...]:
        """The sub-agents for which Claude asks, outermost first; empty: it asks for itself."""
        return self._sub_agents.names(request.tool_use_id, request.agent_id)

    def begin_asked(self, request: Request) -> list[Event]:
        """Begin the activity for which Claude asks: what a sub-agent does may be asked before it is told."""
        parent = self._sub_agents.call_of(request.agent_id)
        if parent is None:
            return []
        given = wire.read(request.input, object)
        block = Block("tool_use", request.tool_use_id, name=request.tool_name, input=given)
        return list(self._begin_tool(block, parent))

    @property
    def said(self) -> str:
        """The newest complete text."""
        return self._said

    def end(self, state: TurnState, *, text: str = "") -> list[Event]:
        """End the turn without a result."""
        self.is_ended = True
        return [*self._cut_open_text(), TurnEnded(state, text, messages=self._messages())]

    def _is_replay(self, frame: Frame) -> bool:
        return frame.type == "user" and bool(frame.is_replay) and frame.uuid == self.turn

    def _lifecycle(self, frame: Frame) -> Iterable[Event]:
        if frame.command_uuid != self.turn:
            return
        if frame.state == "queued":
            self.is_queued = True
        elif frame.state == "started" and not self.is_started:
            self.is_started = True
            yield TurnStarted(self.turn)
        elif frame.state == "completed" and not self.is_started:
            self.is_repeated = True
        elif frame.state == "cancelled" and not self.is_started:
            yield TurnStarted(self.turn)
            yield from self.end(TurnState.INTERRUPTED)

    # The model writes

    def _stream(self, frame: Frame) -> Iterable[Event]:
        event = wire.read(frame.event, StreamEvent)
        if event is None or frame.parent_tool_use_id is not None:
            return
        item = f"{self._message}:{event.index}"
        match event.type:
            case "message_start":
                yield from self._cut_open_text()  # the model is asked again
                self._message = (event.message and event.message.id) or ""
            case "content_block_start" if event.content_block is not None:
                yield from self._begin_block(item, event.content_block)
            case "content_block_delta" if isinstance(event.delta, dict):
                yield from self._delta(event.delta)

    def _begin_block(self, item: str, block: Block) -> Iterable[Event]:
        if block.type == "text":
            self._open = item, GrowingText(self._longest)
        elif block.type == "thinking":
            self._thought = Activity(item, ActivityKind.THOUGHT, Phase.STARTED, "")
            yield self._thought

    def _delta(self, delta: dict[str, object]) -> Iterable[Event]:
        if isinstance(piece := delta.get("text"), str) and self._open is not None:
            item, text = self._open
            offset = text.length
            if shown := text.add(piece):
                yield TextDelta(item, offset, shown)
            yield from text.news()
        elif isinstance(piece := delta.get("thinking"), str) and self._thought is not None:
            act, detail = self._thought, (self._thought.detail + piece)[-TAIL:]
            self._thought = Activity(act.item, act.kind, Phase.UPDATED, act.title, detail)
            yield self._thought

    def _assistant(self, frame: Frame) -> Iterable[Event]:
        """A block of the model's message is complete."""
        message = wire.message(frame.message)
        if frame.is_api_error_message:
            self._error = frame
            yield from self._cut_open_text()
            return
        for block in message.blocks:
            if block.type == "tool_use":
                yield from self._begin_tool(block, frame.parent_tool_use_id)
            elif frame.parent_tool_use_id is None and block.type == "thinking":
                yield from self._end_thought(block)
            elif frame.parent_tool_use_id is None and block.type == "text" and block.text:
                yield from self._end_text(frame, block.text)

    def _end_text(self, frame: Frame, text: str) -> Iterable[Event]:
        opened, self._open = self._open, None
        item, streamed = opened if opened is not None else (frame.uuid or "", None)
        if frame.aborted:
            yield TextDone(item, shortened(text, self._longest), cut=True)
            return
        self._said = shortened(text, self._longest)
        yield from text_done(item, text, self._longest, streamed)

    def _end_thought(self, block: Block) -> Iterable[Event]:
        act, self._thought = self._thought, None
        if act is not None:
            yield Activity(act.item, act.kind, Phase.DONE, act.title, block.thinking or act.detail)

    def _cut_open_text(self) -> Iterable[Event]:
        opened, self._open = self._open, None
        return [TextDone(opened[0], opened[1].whole(), cut=True)] if opened is not None else []

    # Tools

    def _begin_tool(self, block: Block, parent: str | None) -> Iterable[Event]:
        self._has_acted = True
        if block.name in items.SILENT or block.id is None or self._sub_agents.is_known(block.id):
            return
        name = clean(str(items.arguments(block).get("description") or block.name))
        self._sub_agents.add_call(block.id, parent, name if block.name in items.AGENTS else "")
        act = items.started(block, self._folder, parent)
        self._activities[block.id] = act
        yield act

    def _user(self, frame: Frame) -> Iterable[Event]:
        """Results of tools; our own messages, repeated when Claude reads them."""
        for block in wire.message(frame.message).blocks if not frame.is_replay else ():
            if block.type != "tool_result" or self._sub_agents.is_in_background(block.tool_use_id):
                continue  # the result of a sub-agent in the background only says that it was begun
            act = self._activities.pop(block.tool_use_id or "", None)
            if act is not None:
                yield items.done(act, block, frame.tool_use_result, frame.tool_result_meta)

    # What Claude says besides

    def _system(self, frame: Frame) -> Iterable[Event]:
        if frame.subtype == "compact_boundary":
            yield Notice(NoticeKind.COMPACTED, COMPACTED)
        elif frame.subtype == "api_retry":
            yield from self._retry(frame)
        elif frame.subtype == "task_started":
            self._sub_agents.begin(frame)
        elif frame.subtype == "task_notification" and self._sub_agents.is_in_background(frame.tool_use_id):
            yield from self._end_in_background(frame)

    def _end_in_background(self, frame: Frame) -> Iterable[Event]:
        act = self._activities.pop(frame.tool_use_id or "", None)
        if act is not None:
            outcome = Outcome.OK if frame.status == "completed" else Outcome.FAILED
            yield replace(act, phase=Phase.DONE, detail=clean(str(frame.summary or "")), outcome=outcome)

    def _retry(self, frame: Frame) -> Iterable[Event]:
        yield from self._cut_open_text()
        if not self._has_retried:  # there may be ten of them
            self._has_retried = True
            status = frame.error_status if isinstance(frame.error_status, int) else frame.error
            yield Notice(NoticeKind.RETRYING, say("claude.retries", error=clean(str(status or ""))))

    def _result(self, frame: Frame) -> Iterable[Event]:
        if is_unasked(frame):
            return
        given = frame.user_message_uuids if isinstance(frame.user_message_uuids, list) else []
        if given and not any(str(id).partition(STEERED)[0] == self.turn for id in given):
            return  # of another turn: something that was given to it too late was answered after its end
        self._taken |= self._waiting & set(given)
        self._waiting -= set(given)
        yield from self._cut_open_text()
        self._spent += self._newly_spent or spending.tokens(frame.usage)
        yield Usage(self._spent)
        is_over = self.is_interrupted or bool(frame.is_error) or not self._waiting
        if not frame.is_error and (text := self._final_text(frame)):
            self._answers.append(text)
        self._said = ""
        if is_over:
            self.is_ended = True
            yield self._ending(frame)

    def _final_text(self, frame: Frame) -> str:
        return self._said or shortened(str(frame.result or ""), self._longest)

    def _ending(self, frame: Frame) -> TurnEnded:
        text = shortened("\n\n".join(self._answers), self._longest)
        if frame.terminal_reason in _ABORTED:
            return TurnEnded(TurnState.INTERRUPTED, text, messages=self._messages())
        if not frame.is_error and not text and not self._has_acted:
            return TurnEnded(TurnState.FAILED, problem=problems.no_answer(), messages=self._messages())
        if not frame.is_error:
            return TurnEnded(TurnState.COMPLETED, text, messages=self._messages())
        errors = frame.errors if isinstance(frame.errors, list) else []
        reply = clean(str(frame.result or " ".join(map(str, errors))))
        why = problems.problem(
            reply,
            error=problems.error_name(self._error.error, self._error.api_error) if self._error is not None else None,
            status=frame.api_error_status,
            terminal=frame.terminal_reason,
            limits=self._limits,
        )
        return TurnEnded(TurnState.FAILED, text, why, self._messages())

    def _messages(self) -> frozenset[str]:
        return frozenset(id.removeprefix(f"{self.turn}{STEERED}") for id in self._taken)

    _handlers: dict[str, Callable[[Translation, Frame], Iterable[Event]]] = {  # noqa: RUF012
        "stream_event": _stream,
        "assistant": _assistant,
        "user": _user,
        "system": _system,
        "result": _result,
    }
