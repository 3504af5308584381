"""Consumes the events of a running turn: updates its progress, stores what must survive a crash, publishes the rest
live, and times out if the runtime is silent. It never decides what an end means; the runner does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from msgspec.structs import replace

from clew.engine.account_limits import note_limits
from clew.engine.core import Core
from clew.engine.delivery.placeholder import streams
from clew.engine.gates.lifecycle import close_gate, open_gate, request_to_judge
from clew.engine.gates.requests.inspection import RequestInspection, RulesChanged, inspect_request
from clew.engine.progress import Progress, advance, cleaned, gate_item, is_sign_of_life
from clew.engine.turns.completion import End, newest_text
from clew.model.events import (
    MISSED,
    Activity,
    Event,
    GateClosed,
    GateOpened,
    Limits,
    Notice,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    TurnStarted,
)
from clew.model.events.live import ActivityOutput
from clew.model.events.logged import ActivityChanged, Logged, RuntimeNotice
from clew.model.events.logged import TurnStarted as TurnStartedEvent
from clew.model.runtime import Session
from clew.model.threads import Thread
from clew.model.turns import TEXT, Item, Turn, TurnState
from clew.store import Tx
from clew.store.tables import continuity, items, turns
from clew.support import crash
from clew.support.coded import coded_of
from clew.support.errors import RuntimeLost
from clew.support.text import clean
from clew.texts.catalogue import say

FLUSH = 0.25  # seconds between two writes of the open text
AT_EACH_FLUSH = 250_000  # characters; a longer text is written less often, since each write stores all of it
STOP_TIMEOUT = 20.0  # seconds for a runtime to end a turn that a person stopped


class RuntimeSilent(Exception):
    """The runtime gave no sign of life for too long."""


class TurnConsumer:
    def __init__(
        self,
        core: Core,
        turn: Turn,
        thread: Thread,
        session: Session,
        on_started: Callable[[], None],
        on_asked: Callable[[], None],
        attach_mode: str = "warm",
        so_far: Sequence[Item] = (),
    ) -> None:
        """`on_started` and `on_asked` are called when the turn has started, and when a gate is stored. `so_far`: the
        items that an earlier daemon stored."""
        self._core = core
        self._attach_mode = attach_mode
        self.turn = turn
        self.thread = thread
        self.session = session
        self.started = asyncio.Event()
        self._progress = Progress({item.item: item for item in so_far}, workspace=thread.workspace)
        self._unsaved: set[str] = set()
        self._grown = asyncio.Event()
        self.changed = asyncio.Event()  # what the placeholder shows has changed
        self._streams = streams(core, turn)
        self._timeout: asyncio.Timeout | None = None
        self.stop_expected = False
        self.asked: set[str] = set()  # references of gates that the runtime has opened
        self._on_started = on_started
        self._on_asked = on_asked

    @property
    def progress(self) -> Progress:
        return self._progress

    @property
    def is_at_gate(self) -> bool:
        """Whether the turn waits for the answer to a gate."""
        return bool(self._progress.gates)

    async def consume(self, events: AsyncIterator[Event]) -> TurnEnded:
        """Handle all events. Raises RuntimeSilent after the timeout, RuntimeLost if the stream has no end event."""
        ended = None
        limit = None if self._progress.busy else self._core.config.turns.silence or None
        try:
            async with asyncio.timeout(limit) as self._timeout:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        ended = event
                    await self._handle(event)
                    self._reset_timeout(event)
        except TimeoutError:
            raise RuntimeSilent from None
        if ended is None:
            raise RuntimeLost(say("turns.broke_off"))
        return ended

    def expect_stop(self) -> None:
        """A person stopped the turn: from now on a short timeout applies that no event extends."""
        self.stop_expected = True
        if self._timeout is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + STOP_TIMEOUT)

    def _reset_timeout(self, event: Event) -> None:
        limit = self._core.config.turns.silence
        if self.stop_expected or not limit or self._timeout is None or not is_sign_of_life(event):
            return
        now = asyncio.get_running_loop().time()
        self._timeout.reschedule(None if self._progress.busy else now + limit)

    def end(self, ended: TurnEnded) -> End:
        text = self._core.storable(ended.text)
        text = text if ended.state is TurnState.COMPLETED else newest_text(text, self._texts())
        unwritten = tuple(map(cleaned, self._take_unsaved()))
        tokens, images = self._progress.tokens, self._progress.images
        return End(ended.state, self._core.storable(text), ended.problem, tokens, ended.messages, unwritten, images)

    def partial(self) -> str:
        """The newest text, complete or not."""
        texts = self._texts()
        return texts[-1] if texts else ""

    def _texts(self) -> list[str]:
        open_now = list(self._core.live.open_texts(self.thread.id).values())
        done = [item.body for item in self._progress.items.values() if item.kind == TEXT and item.body]
        return [text for text in (*done, *open_now) if text]

    async def _handle(self, event: Event) -> None:
        if isinstance(event, TextDone):
            event = replace(event, text=self._core.storable(event.text))
        self._progress = advance(self._progress, event)
        match event:
            case TextDelta(offset=offset) if offset == MISSED:
                pass  # its position is unknown; the end of the item brings the complete text
            case TextDelta(item, offset, text):
                self._core.live.text(self.thread.id, self.turn.id, item, offset, text)
                self._mark_unsaved(item)
                if self._streams:
                    self.changed.set()
                crash.point("turn.text-not-stored")
            case TextDone(item, text, cut):
                self._core.live.text_done(self.thread.id, self.turn.id, item, text, cut=cut)
                self._mark_unsaved(item)  # not urgent: the runtime's own record has it
            case Activity():
                await self._activity(event)
            case Limits(windows):
                await note_limits(self._core, self.turn.runtime, windows)
            case TurnStarted(runtime_turn):
                await self._begun(runtime_turn)
            case Notice(kind, text):
                await self._store(*(item for item in self._progress.items.values() if item.title == text))
                await self._log(RuntimeNotice(text if coded_of(text) else clean(text), kind))
            case GateOpened():
                await self._asked(event)
            case GateClosed(ref, ran_out, changed):
                crash.point("gate.taken-not-recorded")
                closing = partial(close_gate, core=self._core, ref=ref, ran_out=ran_out, changed=changed)
                await self._core.write_with_retry(closing)
                self.changed.set()
            case _:
                pass

    async def _asked(self, event: GateOpened) -> None:
        """Store a gate together with the text before it, so that people see what the question refers to."""
        item, again = self._progress.items[gate_item(event.ref)], event.ref in self.asked
        inspection = await self._inspect(event, again)
        said = list(map(cleaned, self._take_unsaved()))

        def body(tx: Tx) -> None:
            for text in said:
                items.put(tx, self.turn.id, text)
            open_gate(
                tx, self._core, self.thread, self.turn, event, cleaned(item), seen_before=again, inspection=inspection
            )

        crash.point("gate.asked-not-stored")
        while True:
            try:
                await self._core.write_with_retry(body)
                break
            except RulesChanged:
                inspection = await self._inspect(event, again)
        crash.point("gate.stored-not-shown")
        self.asked.add(event.ref)
        self._on_asked()

    async def _inspect(self, event: GateOpened, again: bool) -> RequestInspection:
        asked = await self._core.read_with_retry(lambda tx: request_to_judge(tx, event, seen_before=again))
        return await inspect_request(self._core, asked, self.thread)

    async def _activity(self, event: Activity) -> None:
        """Store the start and the end of an activity, since recovery needs them; updates are only published live."""
        if event.phase is Phase.UPDATED:
            output = ActivityOutput(event.item, event.kind, event.phase, event.title, event.detail, event.parent)
            self._core.live.say(self.thread.id, self.turn.id, output)
            return
        item = self._progress.items[event.item]
        self.changed.set()
        await self._store(*self._take_unsaved(), item, logged=item)

    async def _begun(self, runtime_turn: str) -> None:
        began = self.session.began() if hasattr(self.session, "began") else None  # a plugin may be older

        def body(tx: Tx) -> None:
            now = self._core.clock.now()
            turns.record_started(tx, self.turn, runtime_turn)
            continuity.record_use(tx, self.turn.session, self._attach_mode, began, now)
            tx.log(self.thread.id, self.turn.id, now, TurnStartedEvent())

        crash.point("turn.sent-not-recorded")
        await self._core.write_with_retry(body)
        self.started.set()
        self._on_started()

    async def keep_writing(self) -> None:
        """Store the open text at most four times a second, so that a crash loses little of it."""
        while True:
            await self._grown.wait()
            self._grown.clear()
            await self._core.clock.sleep(FLUSH * max(1.0, self._core.live.open_length(self.thread.id) / AT_EACH_FLUSH))
            await self._store(*self._take_unsaved())

    def _mark_unsaved(self, item: str) -> None:
        self._unsaved.add(item)
        self._grown.set()

    def _take_unsaved(self) -> list[Item]:
        """Texts that have grown since they were last stored; marks them as stored."""
        texts = self._core.live.open_texts(self.thread.id)
        due = [self._progress.items[item] for item in self._progress.items if item in self._unsaved]
        self._unsaved.clear()
        return [replace(item, body=texts.get(item.item, item.body)) for item in due]

    async def _store(self, *changed: Item, logged: Item | None = None) -> None:
        if not changed:
            return

        def body(tx: Tx) -> None:
            for item in map(cleaned, changed):
                items.put(tx, self.turn.id, item)
            if logged is not None:
                title = clean(logged.title)
                happened = ActivityChanged(logged.item, logged.kind, logged.phase, title, logged.outcome, logged.parent)
                tx.log(self.thread.id, self.turn.id, self._core.clock.now(), happened)

        await self._core.write_with_retry(body)

    async def _log(self, happened: Logged) -> None:
        now = self._core.clock.now()
        await self._core.write_with_retry(lambda tx: tx.log(self.thread.id, self.turn.id, now, happened))
