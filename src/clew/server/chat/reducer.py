"""What a front end is told of a turn: a pure reducer, what is heard in, frames out.

A front end that puts chunks together, and begins anew at `restarted`, has at the end exactly `done.content`: where the
final text is not what was streamed, it is streamed again before `done`. Nothing comes after the last frame.
"""

from __future__ import annotations

import zlib

from msgspec import Struct, field
from msgspec.structs import replace

from clew.server.chat.frames import RESTARTED, Chunk, Done, Frame, Progress, failure
from clew.server.chat.inputs import (
    Asked,
    Began,
    Did,
    Ended,
    Heard,
    Lost,
    MovedOn,
    Noticed,
    Planned,
    Queued,
    Settled,
    Steered,
    Whole,
    Wrote,
    safe,
)

TOOLS = {"thought": "thinking", "plan": "planning"}  # other activities are tools
NAMELESS = frozenset({"tool", "other"})  # these are called by their title


class Shown(Struct, frozen=True):
    """The text that stands at the front end. Only its sum is kept: the text would cost the square of its length."""

    item: str | None = None
    length: int = 0
    crc: int = 0
    void: bool = False  # given up: whatever comes next begins again

    def plus(self, text: str) -> Shown:
        return replace(self, length=self.length + len(text), crc=zlib.crc32(_bytes(text), self.crc))

    def begins(self, text: str) -> bool:
        return not self.void and len(text) >= self.length and zlib.crc32(_bytes(text[: self.length])) == self.crc


class Told(Struct, frozen=True):
    conversation_id: str
    message_id: str
    agent: str | None = None
    shown: Shown = Shown()
    left: frozenset[str] = field(default_factory=frozenset)  # items that are over: nothing more is taken of them
    step: int = 0  # of what the agent does
    steps: int | None = None  # that it has planned
    over: bool = False


Step = tuple[Told, tuple[Frame, ...]]


def tell(told: Told, heard: Heard) -> Step:
    if told.over:
        return told, ()
    match heard:
        case Wrote():
            return _piece(told, heard)
        case Whole():
            return _whole(told, heard)
        case Did():
            return _did(told, heard)
        case Planned(steps):
            return replace(told, steps=steps), ()
        case MovedOn(stage):
            moved = replace(told, shown=replace(told.shown, void=True), left=frozenset(), step=0, steps=None)
            return moved, (_progress(told, stage),)
        case Ended():
            return _ended(told, heard)
        case Lost(code, words):
            return replace(told, over=True), (failure(code, words),)
        case _:
            return told, (_plain(told, heard),)


def _plain(told: Told, heard: Queued | Began | Asked | Settled | Noticed | Steered) -> Frame:
    """What changes nothing of the text."""
    match heard:
        case Queued(detail):
            return _progress(told, "queued", detail=detail)
        case Began():
            return _progress(told, "started")
        case Asked(gate, code, title):
            return _progress(told, "gate", detail=title, gate=gate, code=code)
        case Settled(gate, code, how):
            return _progress(told, "gate_settled", gate=gate, code=code, outcome=how)
        case Noticed(kind, text):
            return _progress(told, kind, detail=text)
        case Steered():
            return _progress(told, "steered")


def _piece(told: Told, piece: Wrote) -> Step:
    if piece.item in told.left:
        return told, ()
    if piece.item != told.shown.item or told.shown.void:
        return _begin(told, piece.item, piece.text) if piece.offset == 0 and piece.text else (told, ())
    known = told.shown.length - piece.offset
    if known < 0:  # something is missing: the whole of it comes at its end
        return told, ()
    return _more(told, piece.text[known:])


def _whole(told: Told, whole: Whole) -> Step:
    if whole.item in told.left:
        return told, ()
    is_shown = whole.item == told.shown.item
    told = replace(told, left=told.left | {whole.item})
    if whole.cut:
        return (replace(told, shown=replace(told.shown, void=True)), ()) if is_shown else (told, ())
    if is_shown and told.shown.begins(whole.text):
        return _more(told, whole.text[told.shown.length :])
    return _begin(told, whole.item, whole.text) if whole.text or is_shown else (told, ())


def _more(told: Told, text: str) -> Step:
    if not text:
        return told, ()
    return replace(told, shown=told.shown.plus(text)), (Chunk(safe(text)),)


def _begin(told: Told, item: str | None, text: str) -> Step:
    """Another text, in the place of the one that stands there."""
    before = told.shown
    left = told.left | {before.item} if before.item is not None and before.item != item else told.left
    fresh = replace(told, shown=Shown(item), left=left)
    told, chunks = _more(fresh, text)
    return told, (*((_progress(told, RESTARTED),) if before.length else ()), *chunks)


def _did(told: Told, did: Did) -> Step:
    name = did.title if did.kind in NAMELESS else did.kind
    stage = TOOLS.get(did.kind, "tool")
    tool = {"tool_name": name, "detail": did.title or None} if stage == "tool" else {}
    step = told.step if did.done else told.step + 1
    stage = f"{stage}_done" if did.done else stage
    frame = Progress(stage, told.agent, step=step, steps=told.steps, outcome=did.outcome, **tool)
    return replace(told, step=step), (frame,)


def _ended(told: Told, ended: Ended) -> Step:
    over = replace(told, over=True)
    if ended.problem is not None or ended.state == "failed":
        problem = ended.problem
        code, words = (problem.code, problem.message) if problem else ("failed", "The turn failed.")
        return over, (failure(code, safe(words)),)
    if told.shown.begins(ended.text):
        _, last = _more(told, ended.text[told.shown.length :])
    else:
        _, last = _begin(told, None, ended.text)
    content = safe(ended.text)
    done = Done(told.conversation_id, told.message_id, content, ended.state, ended.usage)
    return over, (*last, done)


def _progress(
    told: Told,
    stage: str,
    *,
    detail: str | None = None,
    outcome: str | None = None,
    gate: str | None = None,
    code: str | None = None,
) -> Progress:
    return Progress(stage, told.agent, detail=detail, outcome=outcome, gate=gate, code=code)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
