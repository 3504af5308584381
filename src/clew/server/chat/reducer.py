"""The chat reducer (pure): takes inputs and returns frames for a front end.

A front end that joins chunks, and clears its text at `restarted`, ends with exactly `done.content`: if the final text
differs from what was streamed, it is streamed again before `done`. No frame follows the last one.
"""

from __future__ import annotations

import zlib

from msgspec import Struct, field
from msgspec.structs import replace

from clew.model.events import Phase
from clew.model.events.live import TextDone, TextPiece
from clew.model.events.logged import ActivityChanged, GateOpened, RuntimeNotice, TurnStarted
from clew.server.chat.frames import GATE, RESTARTED, Chunk, Done, Frame, Progress, failure
from clew.server.chat.inputs import (
    GateClosed,
    Input,
    PlanChanged,
    Queued,
    Steered,
    StreamEnded,
    TurnReplaced,
    TurnResult,
    safe,
)
from clew.texts.catalogue import say

STAGES = {"thought": "thinking", "plan": "planning"}  # other activities are tools
NAMELESS = frozenset({"tool", "other"})  # these are named by their title


class SentText(Struct, frozen=True):
    """The text that the front end shows. Only length and checksum are stored: copying the text would cost quadratic
    time."""

    item: str | None = None
    length: int = 0
    crc: int = 0
    void: bool = False  # discarded: the next text restarts

    def plus(self, text: str) -> SentText:
        return replace(self, length=self.length + len(text), crc=zlib.crc32(_bytes(text), self.crc))

    def begins(self, text: str) -> bool:
        return not self.void and len(text) >= self.length and zlib.crc32(_bytes(text[: self.length])) == self.crc


class ChatState(Struct, frozen=True):
    conversation_id: str
    message_id: str
    agent: str | None = None
    shown: SentText = SentText()
    finished: frozenset[str] = field(default_factory=frozenset)  # items whose later input is ignored
    step: int = 0  # number of the current activity
    steps: int | None = None  # in the plan of the agent
    is_over: bool = False


Step = tuple[ChatState, tuple[Frame, ...]]


def reduce(state: ChatState, given: Input) -> Step:
    if state.is_over:
        return state, ()
    match given:
        case TextPiece():
            return _piece(state, given)
        case TextDone():
            return _complete(state, given)
        case ActivityChanged():
            return _activity(state, given)
        case PlanChanged(steps):
            return replace(state, steps=steps), ()
        case TurnReplaced(stage):
            moved = replace(state, shown=replace(state.shown, void=True), finished=frozenset(), step=0, steps=None)
            return moved, (_progress(state, stage),)
        case TurnResult():
            return _ended(state, given)
        case StreamEnded(code, words):
            return replace(state, is_over=True), (failure(code, words),)
        case _:
            return state, (_plain(state, given),)


def _plain(state: ChatState, given: Queued | TurnStarted | GateOpened | GateClosed | RuntimeNotice | Steered) -> Frame:
    """Inputs that do not change the text."""
    match given:
        case Queued(detail):
            return _progress(state, "queued", detail=detail)
        case TurnStarted():
            return _progress(state, "started")
        case GateOpened(gate, code, _, title):
            return _progress(state, GATE, detail=title, gate=gate, code=code)
        case GateClosed(gate, code, how):
            return _progress(state, "gate_settled", gate=gate, code=code, outcome=how)
        case RuntimeNotice(text, kind):
            return _progress(state, kind, detail=text)
        case Steered():
            return _progress(state, "steered")


def _piece(state: ChatState, piece: TextPiece) -> Step:
    if piece.item in state.finished:
        return state, ()
    if piece.item != state.shown.item or state.shown.void:
        return _begin(state, piece.item, piece.text) if piece.offset == 0 and piece.text else (state, ())
    known = state.shown.length - piece.offset
    if known < 0:  # a piece is missing: the complete text comes later
        return state, ()
    return _more(state, piece.text[known:])


def _complete(state: ChatState, complete: TextDone) -> Step:
    if complete.item in state.finished:
        return state, ()
    is_shown = complete.item == state.shown.item
    state = replace(state, finished=state.finished | {complete.item})
    if complete.cut:
        return (replace(state, shown=replace(state.shown, void=True)), ()) if is_shown else (state, ())
    if is_shown and state.shown.begins(complete.text):
        return _more(state, complete.text[state.shown.length :])
    return _begin(state, complete.item, complete.text) if complete.text or is_shown else (state, ())


def _more(state: ChatState, text: str) -> Step:
    if not text:
        return state, ()
    return replace(state, shown=state.shown.plus(text)), (Chunk(safe(text)),)


def _begin(state: ChatState, item: str | None, text: str) -> Step:
    """Start another text, which replaces the shown one."""
    before = state.shown
    finished = state.finished | {before.item} if before.item is not None and before.item != item else state.finished
    fresh = replace(state, shown=SentText(item), finished=finished)
    state, chunks = _more(fresh, text)
    return state, (*((_progress(state, RESTARTED),) if before.length else ()), *chunks)


def _activity(state: ChatState, changed: ActivityChanged) -> Step:
    name = changed.title if changed.activity in NAMELESS else changed.activity
    is_done = changed.phase == Phase.DONE
    stage = STAGES.get(changed.activity, "tool")
    tool = {"tool_name": name, "detail": changed.title or None} if stage == "tool" else {}
    step = state.step if is_done else state.step + 1
    stage = f"{stage}_done" if is_done else stage
    frame = Progress(stage, state.agent, step=step, steps=state.steps, outcome=changed.outcome, **tool)
    return replace(state, step=step), (frame,)


def _ended(state: ChatState, ended: TurnResult) -> Step:
    over = replace(state, is_over=True)
    if ended.problem is not None or ended.state == "failed":
        problem = ended.problem
        code, words = (problem.code, problem.text) if problem else ("failed", say("threads.turn_failed"))
        return over, (replace(failure(code, words, has_ended=True), message=safe(words)),)
    if state.shown.begins(ended.text):
        _, last = _more(state, ended.text[state.shown.length :])
    else:
        _, last = _begin(state, None, ended.text)
    content = safe(ended.text)
    done = Done(state.conversation_id, state.message_id, content, ended.state, ended.usage)
    return over, (*last, done)


def _progress(
    state: ChatState,
    stage: str,
    *,
    detail: str | None = None,
    outcome: str | None = None,
    gate: str | None = None,
    code: str | None = None,
) -> Progress:
    return Progress(stage, state.agent, detail=detail, outcome=outcome, gate=gate, code=code)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
