"""What a turn is doing, shown in its placeholder: edited in place while it runs, no more often than the platform bears,
and once more at the end. Only for the eye: nothing of it is stored, and nothing waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from clew.engine.core import Core
from clew.engine.delivery.enqueue import deliveries_named, enqueue_delivery, next_free_id
from clew.engine.delivery.language import localized
from clew.engine.progress import GATE, NOTICE, Progress
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.events import ActivityKind, Phase
from clew.model.messages import Conversation
from clew.model.surface import Never, NotSent, Outgoing, Receipt, Surface
from clew.model.turns import Turn, TurnState
from clew.store import Tx
from clew.store.tables import deliveries
from clew.store.tables.items import TEXT, Item
from clew.support.display_code import plain_or_code
from clew.support.text import visible
from clew.texts import bilingual, handoff_messages, messages

WRITTEN = 2000  # characters of the text that is being written
LINES = 4  # of the newest steps
LOOK = 2.0  # seconds between two looks whether a turn of the desk has moved to where it is shown
WIDTH = 80  # characters of each
_UNSHOWN = frozenset({TEXT, NOTICE, GATE, ActivityKind.THOUGHT, ActivityKind.PLAN})


def working(progress: Progress, seconds: float) -> bilingual.Bilingual:
    """`Working on it … 12 s`, and the newest steps."""
    head = bilingual.joined(" ", messages.WORKING, messages.seconds(seconds) if seconds >= 1 else "")
    return bilingual.joined("\n", head, *_steps(progress)[-LINES:])


def over(state: TurnState, steps: int, seconds: float) -> bilingual.Bilingual:
    mark = {TurnState.COMPLETED: "✓", TurnState.FAILED: "⚠"}.get(state, "⏹")
    return bilingual.joined(
        " ", mark, bilingual.joined(", ", messages.seconds(seconds), messages.steps(steps) if steps else "")
    )


def _steps(progress: Progress) -> list[str]:
    done = (item for item in progress.items.values() if item.kind not in _UNSHOWN and item.title)
    return [
        f"{'·' if item.phase == Phase.DONE else '▸'} {item.kind}: {plain_or_code(_short(item.title))}" for item in done
    ]


def _short(title: str) -> str:
    line = " ".join(visible(title).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def _edits(core: Core, where: Conversation | None) -> Surface | None:
    surface = core.surfaces.get(where.surface) if where else None
    return surface if surface is not None and surface.can.chat and surface.can.edit else None


def streams(core: Core, turn: Turn) -> bool:
    """Whether people see its text as it is being written."""
    surface = _edits(core, turn.conversation)
    return surface is not None and surface.can.stream


def _newest(text: str) -> str:
    return text if len(text) <= WRITTEN else f"… {text[-WRITTEN:]}"


async def show(
    core: Core, turn: Turn, progress: Callable[[], Progress], written: Callable[[], str], changed: asyncio.Event
) -> None:
    """For as long as the turn runs, wherever it moves to."""
    began, last = core.clock.monotonic(), None
    first = _edits(core, turn.conversation)
    pause = first.can.edit_every if first else LOOK
    while True:
        await changed.wait()
        changed.clear()
        await core.clock.sleep(pause)
        receipt = await _placeholder(core, turn)
        surface = _edits(core, receipt.conversation) if receipt else None
        if receipt is None or surface is None:
            continue
        text = await _spoken(core, receipt.conversation, working(progress(), core.clock.monotonic() - began))
        live, pause = _newest(written()) if surface.can.stream else "", surface.can.edit_every
        if (receipt, text, live) == last:
            continue
        name, where = f"{turn.id}:{DeliveryKind.PLACEHOLDER}", receipt.conversation
        now = Outgoing(name, DeliveryKind.PLACEHOLDER, where, turn.thread, turn.id, text, live=live)
        try:
            await surface.edit(receipt, now)
            last = receipt, text, live
        except Never:  # it is not there any more; another may be, in another place
            last = receipt, text, live
        except NotSent as failure:
            pause = max(failure.retry_after or 0.0, 2 * surface.can.edit_every)
            changed.set()


async def _spoken(core: Core, where: Conversation, text: str) -> str:
    return await core.read_with_retry(lambda tx: localized(tx, core, where, text))


async def _placeholder(core: Core, turn: Turn) -> Receipt | None:
    row = await core.read_with_retry(lambda tx: placeholder(tx, turn.id))
    if row is None or row.message_id is None or row.conversation is None:
        return None
    return Receipt(row.conversation, row.message_id)


def placeholder(tx: Tx, turn: str) -> Delivery | None:
    """The one in the place where the turn is now; none that has had its last words."""
    shown = list(deliveries_named(tx, f"{turn}:{DeliveryKind.PLACEHOLDER}"))
    is_over = not shown or deliveries.get(tx, _over(shown[-1])) is not None
    return None if is_over else shown[-1]


def placeholder_of(tx: Tx, answer: Delivery) -> Delivery | None:
    """The one where the answer goes, which can be made the answer until its last words are said there."""
    shown = deliveries_named(tx, f"{answer.turn}:{DeliveryKind.PLACEHOLDER}")
    here = [each for each in shown if each.conversation == answer.conversation]
    last = deliveries.get(tx, _over(here[-1])) if here else None
    is_over = last is not None and last.state is DeliveryState.SENT
    return here[-1] if here and not is_over else None


def _over(shown: Delivery) -> str:
    return f"{shown.id}:over"


def enqueue_placeholder(tx: Tx, core: Core, turn: Turn, where: Conversation | None) -> None:
    """A sign that it is being worked on, where it can later be edited."""
    surface = core.surfaces.get(where.surface) if where else None
    if surface is not None and surface.can.edit:
        name = next_free_id(tx, f"{turn.id}:{DeliveryKind.PLACEHOLDER}")
        enqueue_delivery(tx, core, turn, DeliveryKind.PLACEHOLDER, where, messages.WORKING, id=name)


def move(tx: Tx, core: Core, turn: Turn, to: Conversation) -> None:
    """The turn is worked on while its thread moves: one place stops saying so, another begins."""
    shown = placeholder(tx, turn.id)
    if shown is not None and shown.conversation == to:
        return
    if shown is not None:
        _last_words(tx, core, turn, shown, handoff_messages.moved(to.surface, core.local_surface))
    enqueue_placeholder(tx, core, turn, to)


def enqueue_end(tx: Tx, core: Core, turn: Turn, state: TurnState, done: Sequence[Item]) -> None:
    """The placeholder's last words, after the answer: whatever is killed, nothing goes on saying that it works."""
    shown = placeholder(tx, turn.id)
    seconds = max(0, core.clock.now() - (turn.started_at or turn.queued_at)) / 1000
    if shown is not None:
        _last_words(tx, core, turn, shown, over(state, sum(item.kind not in _UNSHOWN for item in done), seconds))


def _last_words(tx: Tx, core: Core, turn: Turn, shown: Delivery, text: str) -> None:
    surface = _edits(core, shown.conversation)
    if surface is None or shown.state is DeliveryState.SUPERSEDED:
        deliveries.supersede(tx, shown.id)
        return
    is_found = surface.can.idempotency_window > 0 or surface.can.read_back  # also where it is not known to have arrived
    if not (shown.first_sent_at is not None and is_found) and deliveries.supersede(tx, shown.id):
        return
    enqueue_delivery(tx, core, turn, DeliveryKind.REDRAW, shown.conversation, text, id=_over(shown), edits=shown.id)
