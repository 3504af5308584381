"""What a turn is doing, shown in its placeholder: edited in place while it runs, no more often than the platform bears,
and once more at the end. Only for the eye: nothing of it is stored, and nothing waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from clew.engine import words
from clew.engine.core import Core
from clew.engine.language import spoken
from clew.engine.owing import owe
from clew.engine.progress import GATE, NOTICE, Progress
from clew.events import ActivityKind, Phase
from clew.model import DeliveryKind, DeliveryState, Turn, TurnState
from clew.store import Tx, deliveries
from clew.store.items import TEXT, Item
from clew.surfaces.base import Never, NotSent, Outgoing, Receipt, Surface
from clew.text import visible

LINES = 4  # of the newest steps
WIDTH = 80  # characters of each
_UNSHOWN = frozenset({TEXT, NOTICE, GATE, ActivityKind.THOUGHT, ActivityKind.PLAN})


def working(progress: Progress, seconds: float) -> words.Both:
    """`Working on it … 12 s`, and the newest steps."""
    head = words.joined(" ", words.WORKING, words.seconds(seconds) if seconds >= 1 else "")
    return words.joined("\n", head, *_steps(progress)[-LINES:])


def over(state: TurnState, steps: int, seconds: float) -> words.Both:
    mark = {TurnState.COMPLETED: "✓", TurnState.FAILED: "⚠"}.get(state, "⏹")
    return words.joined(" ", mark, words.joined(", ", words.seconds(seconds), words.steps(steps) if steps else ""))


def _steps(progress: Progress) -> list[str]:
    done = (item for item in progress.items.values() if item.kind not in _UNSHOWN and item.title)
    return [f"{'·' if item.phase == Phase.DONE else '▸'} {item.kind}: {_short(item.title)}" for item in done]


def _short(title: str) -> str:
    line = " ".join(visible(title).split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def is_shown(core: Core, turn: Turn) -> Surface | None:
    surface = core.surfaces.get(turn.conversation.surface) if turn.conversation else None
    return surface if surface is not None and surface.can.chat and surface.can.edit else None


async def show(core: Core, turn: Turn, progress: Callable[[], Progress], changed: asyncio.Event) -> None:
    """For as long as the turn runs."""
    surface = is_shown(core, turn)
    if surface is None or turn.conversation is None:
        return
    began, last, pause = core.clock.monotonic(), "", surface.can.edit_every
    while True:
        await changed.wait()
        changed.clear()
        await core.clock.sleep(pause)
        receipt = await _placeholder(core, turn)
        text = await _spoken(core, turn, working(progress(), core.clock.monotonic() - began))
        pause = surface.can.edit_every
        if receipt is None or text == last:
            continue
        name = f"{turn.id}:{DeliveryKind.PLACEHOLDER}"
        try:
            await surface.edit(
                receipt, Outgoing(name, DeliveryKind.PLACEHOLDER, receipt.conversation, turn.thread, turn.id, text)
            )
            last = text
        except Never:  # it is not there any more
            return
        except NotSent as failure:
            pause = max(failure.retry_after or 0.0, 2 * surface.can.edit_every)
            changed.set()


async def _spoken(core: Core, turn: Turn, text: str) -> str:
    return await core.store.read(lambda tx: spoken(tx, core, turn.conversation, text))


async def _placeholder(core: Core, turn: Turn) -> Receipt | None:
    row = await core.store.read(lambda tx: deliveries.get(tx, f"{turn.id}:{DeliveryKind.PLACEHOLDER}"))
    if row is None or row.message_id is None or row.conversation is None:
        return None
    return Receipt(row.conversation, row.message_id)


def owe_end(tx: Tx, core: Core, turn: Turn, state: TurnState, done: Sequence[Item]) -> None:
    """The placeholder's last words, after the answer: whatever is killed, nothing goes on saying that it works."""
    name = f"{turn.id}:{DeliveryKind.PLACEHOLDER}"
    shown = deliveries.get(tx, name) if is_shown(core, turn) is not None else None
    if shown is None or shown.state is DeliveryState.SUPERSEDED:
        return
    seconds = max(0, core.clock.now() - (turn.started_at or turn.queued_at)) / 1000
    text = over(state, sum(item.kind not in _UNSHOWN for item in done), seconds)
    owe(tx, core, turn, DeliveryKind.REDRAW, turn.conversation, text, id=f"{name}:over", edits=name)
