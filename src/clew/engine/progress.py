"""What a turn has said and done so far, as a pure reducer over its events. It stores nothing and sends nothing.

The text that is being written is not in it piece by piece (that would cost the square of its length): an open text is
an item without a body until it is done; `Live` holds its pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Event,
    GateClosed,
    GateOpened,
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
from clew.model.turns import Usage as Tokens
from clew.store.tables.items import TEXT, Item
from clew.support.text import clean

KEPT_OUTPUT = 64_000  # characters of an activity's output that history keeps

NOTICE, GATE = "notice", "gate"
# Notices that belong to history.
REMEMBERED = frozenset({NoticeKind.DECLINED, NoticeKind.COMPACTED, NoticeKind.SHORTENED})

# What changes nothing in the world and may be done twice.
HARMLESS = frozenset({TEXT, NOTICE, GATE, ActivityKind.THOUGHT, ActivityKind.PLAN, ActivityKind.SEARCH})


class Progress(Struct, frozen=True):
    items: Mapping[str, Item] = field(default_factory=lambda: MappingProxyType({}))
    gates: frozenset[str] = frozenset()
    tokens: Tokens | None = None
    images: tuple[str, ...] = ()  # paths of pictures that the runtime made

    @property
    def busy(self) -> bool:
        """Something is open that may rightly be silent for an hour: a command, a gate."""
        return bool(self.gates) or any(
            item.kind != TEXT and item.phase != Phase.DONE and item.kind not in HARMLESS for item in self.items.values()
        )


def advance(progress: Progress, event: Event) -> Progress:
    match event:
        case TextDelta(item=item):
            return progress if item in progress.items else _with(progress, Item(item, TEXT, Phase.STARTED))
        case TextDone(item, text):
            return _with(progress, Item(item, TEXT, Phase.DONE, body=text))
        case Activity(item, phase=Phase.UPDATED) if _is_only_more(progress, event):
            return progress
        case Activity():
            drawn = progress.images if event.image is None else (*progress.images, event.image)
            return _with(replace(progress, images=drawn), _activity(event))
        case GateOpened(ref, asked):
            held = replace(progress, gates=progress.gates | {ref}) if asked.blocking else progress
            return _with(held, Item(gate_item(ref), GATE, Phase.STARTED, asked.title))
        case GateClosed(ref):
            return replace(progress, gates=progress.gates - {ref})
        case Usage(tokens):
            return replace(progress, tokens=tokens)
        case Notice(kind, text) if kind in REMEMBERED:
            name = f"notice-{len(progress.items)}"
            return _with(progress, Item(name, NOTICE, Phase.DONE, text, outcome=kind))
        case TurnStarted() | Notice() | TurnEnded():
            return progress


def gate_item(ref: str) -> str:
    """The line that a gate has in its turn's history."""
    return f"gate:{ref}"


def cleaned(item: Item) -> Item:
    """As it may be stored."""
    return replace(item, title=clean(item.title), body=clean(item.body))


def is_sign_of_life(event: Event) -> bool:
    """A runtime that says it is still trying has not heard from its model."""
    return not (isinstance(event, Notice) and event.kind is NoticeKind.RETRYING)


def may_have_acted(items: Mapping[str, Item] | list[Item]) -> bool:
    """Whether something in it, done twice, could matter."""
    found = items.values() if isinstance(items, Mapping) else items
    return any(item.kind not in HARMLESS and item.outcome != Outcome.DECLINED for item in found)


def _is_only_more(progress: Progress, event: Activity) -> bool:
    """More output of something that is known: it is shown live, and its end brings the whole of it. To copy all items
    for each piece would cost the square of what is said."""
    known = progress.items.get(event.item)
    return known is not None and known.phase != Phase.DONE and known.title == event.title and event.image is None


def _with(progress: Progress, item: Item) -> Progress:
    known = progress.items.get(item.item)
    placed = replace(item, position=known.position if known else len(progress.items))
    return replace(progress, items={**progress.items, item.item: placed})


def _activity(event: Activity) -> Item:
    return Item(
        event.item,
        event.kind,
        event.phase,
        event.title,
        shortened(event.detail),
        event.outcome,
        event.exit_code,
        event.folder,
    )


def shortened(text: str) -> str:
    """Long output, with its beginning and its end."""
    if len(text) <= KEPT_OUTPUT:
        return text
    half = KEPT_OUTPUT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
