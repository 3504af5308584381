"""The placeholder message of a turn: edited while the turn runs, as often as the platform allows, and once more at the
end. The edits during the turn are not stored, and nothing waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from clew.engine.core import Core
from clew.engine.delivery.enqueue import deliveries_named, enqueue_delivery, next_free_id, shown_buttons
from clew.engine.delivery.language import localized
from clew.engine.progress import GATE, NOTICE, Progress
from clew.model.delivery import Button, Delivery, DeliveryKind, DeliveryState
from clew.model.events import ActivityKind, Phase
from clew.model.messages import Conversation
from clew.model.surface import Never, NotSent, Outgoing, Receipt, ShowsTyping, Surface
from clew.model.turns import TEXT, Item, Turn, TurnState
from clew.store import Tx
from clew.store.tables import deliveries, turns
from clew.support.display.as_code import plain_or_code
from clew.support.text import visible
from clew.texts import bilingual, chat_messages, handoff_messages

WRITTEN = 2000  # last characters of the open text that are shown
LINES = 4  # newest steps that are shown
LOOK = 2.0  # seconds between checks whether a turn of a local client has moved to a chat
SHORTEST_TICK = 1.0  # seconds between two edits in which only the time has changed
LONGEST_TICK = 20.0  # seconds between two edits if only the time has changed; at first they are shorter
WIDTH = 80  # characters of each step
_Shown = tuple[Receipt, Outgoing]  # where the placeholder is, and what it shows
_Look = Callable[[Tx], tuple[Conversation | None, _Shown | None]]
_HIDDEN = frozenset({TEXT, NOTICE, GATE, ActivityKind.THOUGHT, ActivityKind.PLAN})


def working(progress: Progress, seconds: float) -> bilingual.Bilingual:
    """`Working on it … 12 s`, and the newest steps."""
    head = bilingual.joined(" ", chat_messages.WORKING, chat_messages.seconds(seconds) if seconds >= 1 else "")
    return bilingual.joined("\n", head, *_steps(progress)[-LINES:])


def end_line(state: TurnState, steps: int, seconds: float) -> bilingual.Bilingual:
    mark = {TurnState.COMPLETED: "✓", TurnState.FAILED: "⚠"}.get(state, "⏹")
    return bilingual.joined(
        " ", mark, bilingual.joined(", ", chat_messages.seconds(seconds), chat_messages.steps(steps) if steps else "")
    )


def _steps(progress: Progress) -> list[bilingual.Bilingual]:
    done = (item for item in progress.items.values() if item.kind not in _HIDDEN and item.title)
    marks = {True: "·", False: "▸"}
    return [
        chat_messages.step(marks[item.phase == Phase.DONE], item.kind, plain_or_code(_short(item.title)))
        for item in done
    ]


def _short(title: str) -> str:
    line = " ".join(visible(title).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def _editable_surface(core: Core, where: Conversation | None) -> Surface | None:
    surface = core.surfaces.get(where.surface) if where else None
    return surface if surface is not None and surface.can.chat and surface.can.edit else None


def streams(core: Core, turn: Turn) -> bool:
    """Whether the surface of the turn shows the open text."""
    surface = _editable_surface(core, turn.conversation)
    return surface is not None and surface.can.stream


def _newest(text: str) -> str:
    return text if len(text) <= WRITTEN else f"… {text[-WRITTEN:]}"


async def show(
    core: Core, turn: Turn, progress: Callable[[], Progress], written: Callable[[], str], changed: asyncio.Event
) -> None:
    """Keep the placeholder up to date until cancelled, also if the turn moves to another conversation."""
    hint = _TypingHint(core)
    async with asyncio.TaskGroup() as group:
        group.create_task(hint.run(progress))
        if hint.can_type(turn.conversation):
            row = await core.read_with_retry(lambda tx: placeholder(tx, turn.id))
            hint.show_in(row.conversation if row is not None else None)
        await _keep_editing(core, turn, progress, written, changed, hint)


class _TypingHint:
    """Shows in the chat of the turn that somebody writes. It reads nothing: whoever edits the placeholder says where
    that is."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._where: Conversation | None = None
        self._is_told = asyncio.Event()

    def can_type(self, where: Conversation | None) -> bool:
        surface = _editable_surface(self._core, where)
        return surface is not None and surface.can.typing > 0

    def show_in(self, where: Conversation | None) -> None:
        self._where = where if self.can_type(where) else None
        self._is_told.set()

    async def run(self, progress: Callable[[], Progress]) -> None:
        while True:
            await self._is_told.wait()
            if self._where is None or progress().gates:  # nobody is there, or the turn waits for a person
                self._is_told.clear()
                continue
            surface = self._core.surfaces[self._where.surface]
            with suppress(NotSent):  # it is only a hint
                await cast(ShowsTyping, surface).typing(self._where)
            await self._core.clock.sleep(surface.can.typing)


async def _keep_editing(
    core: Core,
    turn: Turn,
    progress: Callable[[], Progress],
    written: Callable[[], str],
    changed: asyncio.Event,
    hint: _TypingHint,
) -> None:
    began, last, gone = core.clock.monotonic(), None, None
    surface = _editable_surface(core, turn.conversation)
    pause = surface.can.edit_every if surface else LOOK
    while True:
        elapsed = core.clock.monotonic() - began
        is_working = surface is not None and not progress().gates
        await _wait(changed, min(LONGEST_TICK, max(pause, SHORTEST_TICK, elapsed / 10)) if is_working else None)
        changed.clear()
        await core.clock.sleep(pause)
        text = working(progress(), core.clock.monotonic() - began)
        look = partial(_look, core=core, turn=turn, text=text, live=_newest(written()))
        where, shown = await core.read_with_retry(look)
        hint.show_in(where)
        if shown is None or shown[0] == gone:
            continue
        surface = core.surfaces[shown[0].conversation.surface]
        pause = surface.can.edit_every
        if shown == last:
            continue
        try:
            last = await _edit_unless_over(core, look, *shown) or last
        except Never:  # it was deleted; the turn may have another one elsewhere later
            gone = shown[0]
        except NotSent as failure:
            pause = max(failure.retry_after or 0.0, 2 * surface.can.edit_every)
            changed.set()


async def _edit_unless_over(core: Core, look: _Look, receipt: Receipt, outgoing: Outgoing) -> _Shown | None:
    """Edit the placeholder, unless its last edit is enqueued by now: nothing else may follow that one."""
    async with core.editing(receipt):
        _, now = await core.read_with_retry(look)
        if now is None or now[0] != receipt:
            return None
        await core.surfaces[receipt.conversation.surface].edit(receipt, outgoing)
        return receipt, outgoing


async def _wait(changed: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return


def _look(tx: Tx, core: Core, turn: Turn, text: str, live: str) -> tuple[Conversation | None, _Shown | None]:
    """Where the placeholder is, and, once it is sent there, its receipt and what it shows now. None: there is none, or
    it is over."""
    row = placeholder(tx, turn.id)
    where = row.conversation if row is not None else None
    surface = _editable_surface(core, where)
    if row is None or row.message_id is None or where is None or surface is None:
        return where, None
    now = turns.get(tx, turn.id)
    buttons = () if now is None or now.stop_asked else shown_buttons(tx, core, where, stop_button(core, turn, where))
    name, said = f"{turn.id}:{DeliveryKind.PLACEHOLDER}", localized(tx, core, where, text)
    live = live if surface.can.stream else ""
    kind = DeliveryKind.PLACEHOLDER
    outgoing = Outgoing(name, kind, where, turn.thread, turn.id, said, buttons=buttons, live=live)
    return where, (Receipt(where, row.message_id), outgoing)


def stop_button(core: Core, turn: Turn, where: Conversation | None) -> tuple[Button, ...]:
    """A button that stops this turn, and no later one. Only in a chat, since it is a command."""
    surface = _editable_surface(core, where)
    return (Button(chat_messages.STOP_BUTTON, f"{surface.can.prefix[0]}stop {turn.id}"),) if surface else ()


def placeholder(tx: Tx, turn: str) -> Delivery | None:
    """The turn's newest placeholder, unless its last edit is enqueued."""
    shown = list(deliveries_named(tx, f"{turn}:{DeliveryKind.PLACEHOLDER}"))
    is_over = not shown or deliveries.get(tx, _end_id(shown[-1])) is not None
    return None if is_over else shown[-1]


def placeholder_of(tx: Tx, answer: Delivery) -> Delivery | None:
    """The placeholder in the conversation of the answer, which can be edited into the answer until its last edit is
    sent."""
    shown = deliveries_named(tx, f"{answer.turn}:{DeliveryKind.PLACEHOLDER}")
    here = [each for each in shown if each.conversation == answer.conversation]
    last = deliveries.get(tx, _end_id(here[-1])) if here else None
    is_over = last is not None and last.state is DeliveryState.SENT
    return here[-1] if here and not is_over else None


def _end_id(shown: Delivery) -> str:
    return f"{shown.id}:over"


def enqueue_placeholder(tx: Tx, core: Core, turn: Turn, where: Conversation | None) -> None:
    """Enqueue a placeholder, if the surface can edit messages."""
    surface = core.surfaces.get(where.surface) if where else None
    if surface is not None and surface.can.edit:
        name = next_free_id(tx, f"{turn.id}:{DeliveryKind.PLACEHOLDER}")
        stop, kind = stop_button(core, turn, where), DeliveryKind.PLACEHOLDER
        enqueue_delivery(tx, core, turn, kind, where, chat_messages.WORKING, id=name, buttons=stop)


def move(tx: Tx, core: Core, turn: Turn, to: Conversation) -> None:
    """Move the placeholder of a running turn: end the one in the old conversation, and enqueue one in the new."""
    shown = placeholder(tx, turn.id)
    if shown is not None and shown.conversation == to:
        return
    if shown is not None:
        _enqueue_last_edit(tx, core, turn, shown, handoff_messages.moved(to.surface, core.local_surface))
    enqueue_placeholder(tx, core, turn, to)


def show_words(tx: Tx, core: Core, turn: Turn, words: str) -> None:
    """Show something else in a placeholder that was sent, until its turn runs again."""
    shown = placeholder(tx, turn.id)
    if shown is None or shown.conversation is None or shown.state is not DeliveryState.SENT:
        return
    id, stop = next_free_id(tx, f"{shown.id}:words"), stop_button(core, turn, shown.conversation)
    where, kind = shown.conversation, DeliveryKind.REDRAW
    enqueue_delivery(tx, core, turn, kind, where, words, id=id, edits=shown.id, buttons=stop)


def enqueue_end(tx: Tx, core: Core, turn: Turn, state: TurnState, done: Sequence[Item]) -> None:
    """Enqueue the placeholder's last edit, behind the answer, so that after any crash none goes on saying "working"."""
    shown = placeholder(tx, turn.id)
    seconds = max(0, core.clock.now() - (turn.started_at or turn.queued_at)) / 1000
    if shown is not None:
        _enqueue_last_edit(
            tx, core, turn, shown, end_line(state, sum(item.kind not in _HIDDEN for item in done), seconds)
        )


def note_pressed(tx: Tx, core: Core, turn: Turn, where: Conversation, message_id: str) -> None:
    """A button was pressed on a placeholder whose receipt was lost. Now its id is known: it is the placeholder itself,
    if that is in doubt, else a copy, which is ended, since nothing else would do that."""
    sent = [
        each for each in deliveries_named(tx, f"{turn.id}:{DeliveryKind.PLACEHOLDER}") if each.conversation == where
    ]
    if not sent or deliveries.by_receipt(tx, where, message_id) is not None:
        return
    now = core.clock.now()
    if any(deliveries.record_found(tx, each.id, message_id, now) for each in sent):
        return
    id, kind = next_free_id(tx, f"{turn.id}:lost"), DeliveryKind.PLACEHOLDER
    copy = Delivery(id, kind, turn.thread, turn.id, where, "", DeliveryState.SENT, now)
    deliveries.record_copy(tx, copy, message_id, now)
    _enqueue_last_edit(tx, core, turn, copy, chat_messages.SHOWN_AGAIN)


def _enqueue_last_edit(tx: Tx, core: Core, turn: Turn, shown: Delivery, text: str) -> None:
    surface = _editable_surface(core, shown.conversation)
    if surface is None or shown.state is DeliveryState.SUPERSEDED:
        deliveries.supersede(tx, shown.id)
        return
    # On such a surface we get the receipt even if it is unknown whether the placeholder arrived.
    is_found = surface.can.idempotency_window > 0 or surface.can.read_back
    if not (shown.first_sent_at is not None and is_found) and deliveries.supersede(tx, shown.id):
        return
    enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, shown.conversation, text, id=_end_id(shown), edits=shown.id)
