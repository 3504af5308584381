"""A pure reducer: folds the events of a turn into its progress. It stores nothing and sends nothing.

An open text is an item without a body until it is done, since adding it piece by piece would take quadratic time;
`Live` holds its pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Event,
    GateClosed,
    GateOpened,
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
from clew.model.gates import GateKind
from clew.model.history import Deed
from clew.model.turns import TEXT, Item
from clew.model.turns import Usage as Tokens
from clew.support.coded import coded_of
from clew.support.display.as_code import script_shown
from clew.support.display.relative import relative_diff
from clew.support.text import clean, cut_mark

MAX_OUTPUT = 64_000  # characters of an activity's output that are stored

NOTICE, GATE = "notice", "gate"
STORED_NOTICES = frozenset({NoticeKind.DECLINED, NoticeKind.COMPACTED, NoticeKind.SHORTENED})

# Kinds of items that have no side effects and may be repeated.
HARMLESS = frozenset({TEXT, NOTICE, GATE, ActivityKind.THOUGHT, ActivityKind.PLAN, ActivityKind.SEARCH})


class Progress(Struct, frozen=True):
    items: Mapping[str, Item] = field(default_factory=lambda: MappingProxyType({}))
    gates: frozenset[str] = frozenset()
    tokens: Tokens | None = None
    images: tuple[str, ...] = ()  # paths of pictures that the runtime made
    workspace: str = ""  # of the thread: paths are shown relative to it
    diffs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # of changes, as their gates showed

    @property
    def busy(self) -> bool:
        """Whether a command or a gate is open: then a long silence is normal."""
        return bool(self.gates) or any(
            item.kind != TEXT and item.phase != Phase.DONE and item.kind not in HARMLESS for item in self.items.values()
        )


def advance(progress: Progress, event: Event) -> Progress:
    match event:
        case TextDelta(item=item):
            return progress if item in progress.items else _with(progress, Item(item, TEXT, Phase.STARTED))
        case TextDone(item, text):
            return _with(progress, Item(item, TEXT, Phase.DONE, body=text))
        case Activity(item, phase=Phase.UPDATED) if _is_only_output(progress, event):
            return progress
        case Activity():
            images = progress.images if event.image is None else (*progress.images, event.image)
            return _with(replace(progress, images=images), _with_diff(progress, _activity(event)))
        case GateOpened(ref, asked):
            held = replace(progress, gates=progress.gates | {ref}) if asked.blocking else progress
            if asked.item and asked.kind is GateKind.CHANGE and asked.detail:
                shown = relative_diff(str.__str__(asked.detail), progress.workspace)
                held = replace(held, diffs={**held.diffs, asked.item: shown})
            held_up = progress.items.get(asked.item or "")
            parent = held_up.parent if held_up is not None else None
            return _with(held, Item(gate_item(ref), GATE, Phase.STARTED, script_shown(asked.title), parent=parent))
        case GateClosed(ref):
            return replace(progress, gates=progress.gates - {ref})
        case Usage(tokens):
            return replace(progress, tokens=tokens)
        case Notice(kind, text) if kind in STORED_NOTICES:
            name = f"notice-{len(progress.items)}"
            return _with(progress, Item(name, NOTICE, Phase.DONE, text, outcome=kind))
        case TurnStarted() | Limits() | Notice() | TurnEnded():
            return progress


def gate_item(ref: str) -> str:
    """The id of the item for a gate."""
    return f"gate:{ref}"


def cleaned(item: Item) -> Item:
    """The item with its texts cleaned for the store."""
    return replace(item, title=item.title if coded_of(item.title) else clean(item.title), body=clean(item.body))


def is_sign_of_life(event: Event) -> bool:
    """Whether the event shows progress; a notice that the runtime retries its model does not."""
    return not (isinstance(event, Notice) and event.kind is NoticeKind.RETRYING)


def may_have_acted(items: Mapping[str, Item] | Sequence[Item | Deed]) -> bool:
    """Whether any item may have side effects, so that repeating it could matter."""
    found = items.values() if isinstance(items, Mapping) else items
    return any(item.kind not in HARMLESS and item.outcome != Outcome.DECLINED for item in found)


def _is_only_output(progress: Progress, event: Activity) -> bool:
    """Whether the event only adds output to a known activity. It is published live, and the end brings all of it;
    copying all items for each piece would take quadratic time."""
    known = progress.items.get(event.item)
    return known is not None and known.phase != Phase.DONE and known.title == event.title and event.image is None


def _with(progress: Progress, item: Item) -> Progress:
    known = progress.items.get(item.item)
    placed = replace(item, position=known.position if known else len(progress.items))
    return replace(progress, items={**progress.items, item.item: placed})


def _with_diff(progress: Progress, item: Item) -> Item:
    """A change that was asked about keeps the diff that was shown, which clew compared with the file: an agent may call
    a file new that it overwrites."""
    shown = progress.diffs.get(item.item)
    return replace(item, body=shortened(shown)) if shown and item.kind == ActivityKind.CHANGE else item


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
        parent=event.parent,
    )


def shortened(text: str) -> str:
    """The text; if it is too long, its beginning and its end."""
    if len(text) <= MAX_OUTPUT:
        return text
    half = MAX_OUTPUT // 2
    return f"{text[:half]}\n[{cut_mark(len(text) - 2 * half)}]\n{text[-half:]}"
