"""Converts the notifications of one turn into events. Pure: no I/O, no clock.

Notifications about other turns are dropped. Codex sends no end for a message that it gives up (retry, steer,
interrupt), so this module adds a `TextDone(cut=True)`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from clew.model.events import (
    MISSED,
    Activity,
    ActivityKind,
    Event,
    GateOpened,
    Limits,
    LimitWindow,
    Notice,
    NoticeKind,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
    Usage,
)
from clew.model.events.long_text import GrowingText, shortened, text_done
from clew.model.gates import Asked, GateKind, Question
from clew.model.turns import TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes.codex import wire
from clew.runtimes.codex.items import NO_ANSWER, SILENT, activity
from clew.runtimes.codex.problems import no_answer_to_turn, problem
from clew.runtimes.codex.server import limits
from clew.runtimes.codex.wire import Item
from clew.support.text import LONGEST
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

TAIL = 4000  # characters of a running command's output in an update; the last event has all of it
COMPACTED = say("codex.compacted")
STATES = {
    "completed": TurnState.COMPLETED,
    "failed": TurnState.FAILED,
    "interrupted": TurnState.INTERRUPTED,
}


class Translation:
    """`runtime_turn` is Codex's id of the turn: given if a running turn is joined, otherwise read from
    `turn/started`."""

    def __init__(self, runtime_turn: str | None = None, longest_text: int = LONGEST, workspace: str = "") -> None:
        self._longest = longest_text
        self.workspace = workspace
        self.runtime_turn = runtime_turn
        self.is_started = self._is_joined = runtime_turn is not None
        self._done: set[str] = set()  # items that have ended
        self.is_ended = False
        self._texts: dict[str, GrowingText] = {}  # text so far of open messages
        self._acts: dict[str, Activity] = {}  # open activities
        self._items: dict[str, Item] = {}  # the same as Codex sent them: an approval request names only the item
        self._agent_messages: list[Item] = []
        self._messages: set[str] = set()
        self._has_acted = False  # it has done more than to write
        self.spent = Tokens()
        self._thread_total = -1
        self._limits: dict[
            str, dict[str, LimitWindow]
        ] = {}  # by bucket and name, the one that was reported last at the end

    def feed(self, method: str, params: msgspec.Raw) -> list[Event]:
        if self.is_ended or (handler := self._handlers.get(method)) is None:
            log.debug("dropped %s", method)
            return []
        address = wire.read(params, wire.Address)
        if address is None or (address.turn_id is not None and address.turn_id != self.runtime_turn):
            log.debug("dropped %s of another turn", method)
            return []
        return list(handler(self, params))

    def catch_up(self, thread: str, turn: wire.Turn) -> list[Event]:
        """Return the events of items that ended before the turn was joined, from its record."""
        items = [wire.read_item(raw) for raw in turn.items]
        events = [event for item in items for event in self._end_item(item, thread)]
        known = {item.id for item in items}
        said = [self._shortened(item) for item in items if item.type == "agentMessage"]
        self._agent_messages = [*said, *(item for item in self._agent_messages if item.id not in known)]
        return events

    def open_item(self, id: str | None) -> Item | None:
        return self._items.get(id or "")

    def find_item_by_title(self, title: str) -> str | None:
        """Return the open activity with that title; None if there is none, or more than one."""
        found = [act.item for act in self._acts.values() if act.title == title]
        return found[0] if len(found) == 1 else None

    def _started(self, params: msgspec.Raw) -> Iterable[Event]:
        note = wire.read(params, wire.TurnNote)
        if note is None or self.runtime_turn not in (None, note.turn.id):
            return
        self.runtime_turn = note.turn.id
        self.is_started = True
        yield TurnStarted(note.turn.id)

    def _completed(self, params: msgspec.Raw) -> Iterable[Event]:
        note = wire.read(params, wire.TurnNote)
        return self.end(note.turn) if note is not None and note.turn.id == self.runtime_turn else ()

    def end(self, turn: wire.Turn) -> Iterable[Event]:
        """Codex says that the turn is over, or its record does."""
        yield from self._cut_open_texts()
        self.is_ended = True
        state, why = STATES.get(turn.status, TurnState.FAILED), None
        items = self._agent_messages or [wire.read_item(raw) for raw in turn.items]
        text = final_text(items, self._longest)
        if state is TurnState.FAILED:
            why = problem(turn.error, limits.free_again(each.values() for each in self._limits.values()))
        elif state is TurnState.COMPLETED and not (text or self._has_acted or self._is_joined):
            state, why = TurnState.FAILED, no_answer_to_turn()
        yield TurnEnded(state, text, why, frozenset(self._messages))

    def _item_started(self, params: msgspec.Raw) -> Iterable[Event]:
        item = _item(params)
        self._has_acted = self._has_acted or item.type not in NO_ANSWER
        if item.type == "userMessage":
            # A steer arrived: Codex has given up its current message. (If it finished the message first, none is open.)
            yield from self._cut_open_texts()
        elif item.type == "agentMessage":
            self._texts.setdefault(item.id, GrowingText(self._longest))
        elif item.type not in SILENT:
            self._items[item.id] = item
            self._acts[item.id] = act = activity(item, Phase.STARTED, self.workspace)
            yield act

    def _item_completed(self, params: msgspec.Raw) -> Iterable[Event]:
        return self._end_item(_item(params), _thread(params))

    def _end_item(self, item: Item, thread: str) -> Iterable[Event]:
        if self._is_joined and item.id in self._done:
            return
        self._done.add(item.id)
        if item.type == "userMessage":
            self._messages |= {item.client_id} if item.client_id else set()
        elif item.type == "agentMessage":
            streamed = self._texts.pop(item.id, None)
            self._agent_messages.append(self._shortened(item))
            yield from text_done(item.id, item.text or "", self._longest, streamed)
            if (asked := non_blocking_question(item)) is not None:
                yield GateOpened(f"{thread}:{item.id}", asked)
        elif item.type == "contextCompaction":
            yield Notice(NoticeKind.COMPACTED, COMPACTED)
        else:
            self._acts.pop(item.id, None)
            self._items.pop(item.id, None)
            yield activity(item, Phase.DONE, self.workspace)

    def _text_delta(self, params: msgspec.Raw) -> Iterable[Event]:
        if (note := wire.read(params, wire.DeltaNote)) is None:
            return
        if self._is_joined and note.item_id not in self._texts:
            yield TextDelta(note.item_id, MISSED, note.delta)
            return
        text = self._texts.setdefault(note.item_id, GrowingText(self._longest))
        offset = text.length
        if shown := text.add(note.delta):
            yield TextDelta(note.item_id, offset, shown)
        yield from text.news()

    def _activity_delta(self, params: msgspec.Raw) -> Iterable[Event]:
        note = wire.read(params, wire.DeltaNote)
        if note is None or (act := self._acts.get(note.item_id)) is None:
            return
        detail = (act.detail + note.delta)[-TAIL:]
        self._acts[note.item_id] = act = Activity(
            act.item, act.kind, Phase.UPDATED, act.title, detail, folder=act.folder
        )
        yield act

    def _plan_updated(self, params: msgspec.Raw) -> Iterable[Event]:
        if (note := wire.read(params, wire.PlanNote)) is not None:
            marks = {"completed": "x", "inProgress": ">"}
            steps = "\n".join(f"[{marks.get(step.status, ' ')}] {step.step}" for step in note.plan)
            yield Activity(f"plan:{self.runtime_turn}", ActivityKind.PLAN, Phase.UPDATED, "plan", steps)

    def _usage(self, params: msgspec.Raw) -> Iterable[Event]:
        """Add up the usage: `last` is one model request, and a turn has several. The same total again is a
        duplicate."""
        note = wire.read(params, wire.UsageNote)
        if note is None or note.token_usage.total.total_tokens == self._thread_total:
            return
        self._thread_total = note.token_usage.total.total_tokens
        self.spent += _tokens(note.token_usage.last)
        yield Usage(self.spent)

    def _account_limits(self, params: msgspec.Raw) -> Iterable[Event]:
        if (note := wire.read(params, wire.LimitsNote)) is None:
            return
        news = limits.windows(note.rate_limits)
        if news:
            bucket = limits.name_of(note.rate_limits)
            self._limits[bucket] = {**self._limits.pop(bucket, {}), **{window.name: window for window in news}}
            yield Limits(news)

    def _error(self, params: msgspec.Raw) -> Iterable[Event]:
        note = wire.read(params, wire.ErrorNote)
        if note is None or not note.will_retry:
            return  # the end of the turn follows and repeats it
        yield from self._cut_open_texts()
        details = f" ({note.error.additional_details})" if note.error.additional_details else ""
        yield Notice(NoticeKind.RETRYING, note.error.message + details)

    def _warning(self, params: msgspec.Raw) -> Iterable[Event]:
        if (note := wire.read(params, wire.WarningNote)) is not None:
            yield Notice(NoticeKind.WARNING, note.message or note.summary)

    def _rerouted(self, params: msgspec.Raw) -> Iterable[Event]:
        if (note := wire.read(params, wire.ReroutedNote)) is not None:
            yield Notice(NoticeKind.WARNING, say("codex.model_changed", before=note.from_model, after=note.to_model))

    def _shortened(self, item: Item) -> Item:
        return replace(item, text=shortened(item.text or "", self._longest))

    def _cut_open_texts(self) -> Iterable[Event]:
        open_texts, self._texts = self._texts, {}
        return [TextDone(item, text.whole(), cut=True) for item, text in open_texts.items()]

    _handlers: dict[str, Callable[[Translation, msgspec.Raw], Iterable[Event]]] = {  # noqa: RUF012
        "turn/started": _started,
        "turn/completed": _completed,
        "turn/plan/updated": _plan_updated,
        "item/started": _item_started,
        "item/completed": _item_completed,
        "item/agentMessage/delta": _text_delta,
        "item/commandExecution/outputDelta": _activity_delta,
        "item/fileChange/outputDelta": _activity_delta,
        "item/reasoning/summaryTextDelta": _activity_delta,
        "item/reasoning/textDelta": _activity_delta,
        "item/plan/delta": _activity_delta,
        "thread/tokenUsage/updated": _usage,
        "account/rateLimits/updated": _account_limits,
        "error": _error,
        "warning": _warning,
        "guardianWarning": _warning,
        "model/rerouted": _rerouted,
    }


def final_text(items: Iterable[Item], longest: int = LONGEST) -> str:
    """Return the answer: the last complete message that is neither commentary nor a non-blocking question; if all are,
    the last."""
    said = [item for item in items if item.type == "agentMessage"]
    answers = [item for item in said if item.phase != "commentary" and item.delivery != "async"] or said
    return shortened(answers[-1].text or "", longest) if answers else ""


def non_blocking_question(item: Item) -> Asked | None:
    """Return the non-blocking question in a message, if any: the turn goes on, and the answer is a normal message."""
    if item.delivery != "async" or not item.questions:
        return None
    try:
        asked = msgspec.convert(item.questions, tuple[wire.NonBlockingQuestion, ...])
    except msgspec.ValidationError as error:
        log.warning("Codex sent a question of unknown shape (%s): %.300r", error, item.questions)
        return None
    questions = tuple(Question(str(number), each.title, each.options) for number, each in enumerate(asked, 1))
    title = " / ".join(question.text for question in questions)
    return Asked(GateKind.QUESTION, title, questions=questions, item=item.id, blocking=False)


def _thread(params: msgspec.Raw) -> str:
    address = wire.read(params, wire.Address)
    return (address.thread_id if address else None) or ""


def _item(params: msgspec.Raw) -> Item:
    note = wire.read(params, wire.ItemNote)
    return wire.read_item(note.item) if note else Item(type="unknown")


def _tokens(tokens: wire.Tokens) -> Tokens:
    return Tokens(
        input_tokens=tokens.input_tokens,
        cached_input_tokens=tokens.cached_input_tokens,
        output_tokens=tokens.output_tokens,
        reasoning_tokens=tokens.reasoning_output_tokens,
        total_tokens=tokens.total_tokens,
    )
