"""The transcript of a thread: a window of its history, and the running turn. Read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from clew.engine.agents.past import repeated_messages
from clew.engine.core import Core
from clew.engine.services.thread_views import deeds, open_items
from clew.engine.threads.lookup import existing_thread
from clew.model import history
from clew.model.history import Node
from clew.model.turns import Turn
from clew.model.views import Asked, ItemView, Passage
from clew.store import Tx
from clew.store.tables import nodes, preludes, turns
from clew.support.coded import with_texts
from clew.support.errors import NotFound
from clew.support.text import agent_name
from clew.texts.catalogue import say
from clew.texts.gate_messages import person

BRIEF = 2_000  # characters of an item's output in a brief transcript


async def transcript(core: Core, name: str, limit: int, before: str | None = None, *, brief: bool) -> list[Passage]:
    """The last `limit` nodes of history before the node `before`, in order; without it, up to the running turn."""

    def read(tx: Tx) -> list[Passage]:
        row = existing_thread(tx, name)
        walked = nodes.back_from(tx, _before(tx, before) if before else row.head, limit)
        found = [passage for node in reversed(walked) if (passage := _passage(node)) is not None]
        running = turns.live(tx, row.id) if before is None else None
        found = [each for each in found if not _is_repeated(tx, each)]
        return _with_times(tx, [*found, *([_running(tx, running)] if running else [])])

    passages = await core.store.read(read)
    return [replace(each, items=tuple(map(_brief, each.items))) for each in passages] if brief else passages


def _before(tx: Tx, digest: str) -> str | None:
    node = nodes.get(tx, digest)
    if node is None:
        raise NotFound(say("threads.no_node", node=digest))
    return node.prev


def _is_repeated(tx: Tx, passage: Passage) -> bool:
    """Whether it is only said again to the agent: a turn that continues another one repeats its request."""
    is_person = passage.turn is not None and passage.role == "person"
    return is_person and passage.message in repeated_messages(tx, passage.turn or "")


def _with_times(tx: Tx, passages: Sequence[Passage]) -> list[Passage]:
    """Add to each answer when its turn started, and what its agent was told of what had happened before."""
    start_times: Mapping[str, int | None] = turns.start_times(tx, [each.turn for each in passages if each.turn])
    told = preludes.summaries(tx, [each.turn for each in passages if each.turn and each.role == "agent"])
    return [
        replace(each, started_at=start_times.get(each.turn or ""), prelude=told.get(each.turn or ""))
        if each.role == "agent"
        else each
        for each in passages
    ]


def _brief(item: ItemView) -> ItemView:
    return replace(item, body=item.body[:BRIEF], cut=True) if len(item.body) > BRIEF else item


def _passage(node: Node) -> Passage | None:
    try:
        content = history.read(node)
    except ValueError:
        damaged = say("threads.node_damaged", node=node.hash[:12])
        return with_texts(Passage("clew", "clew", damaged, 0, None, node=node.hash))
    match content:
        case history.Spoken():
            return _spoken(content, node.hash)
        case history.Outcome():
            return _outcome(content, node.hash)
        case history.Forked():
            text = say("threads.forked_from", source=content.source)
            return with_texts(Passage("clew", "clew", text, content.at, None, node=node.hash))
        case history.Switched():
            return _switched(content, node.hash)
        case history.Opinion():
            return _opinion(content, node.hash)
        case history.Started(adopted=None):
            return None
        case history.Started():
            text = say("threads.taken_over", runtime=content.runtime, session=content.adopted or "")
            return with_texts(Passage("clew", "clew", text, content.at, None, node=node.hash))


def _spoken(content: history.Spoken, digest: str) -> Passage:
    return with_texts(
        Passage(
            "clew" if content.author == "clew" else "person",
            content.author,
            content.text,
            content.at,
            content.turn,
            files=tuple(file.name for file in content.attachments),
            outside=bool(content.outside),
            node=digest,
            message=content.id,
            steer=content.steer,
        )
    )


def _outcome(content: history.Outcome, digest: str) -> Passage:
    return with_texts(
        Passage(
            "agent",
            content.runtime,
            content.text or (content.problem.text if content.problem else ""),
            content.at,
            content.turn,
            content.state,
            deeds(content),
            outside=bool(content.outside),
            node=digest,
            usage=content.usage,
            error=content.problem.text if content.problem else None,
            stopped_by=content.stopped_by,
        )
    )


def _switched(content: history.Switched, digest: str) -> Passage:
    names = {"former": agent_name(content.former), "runtime": agent_name(content.runtime)}
    text = say("agents.switched", by=person(content.by), **names)
    return with_texts(Passage("clew", "clew", text, content.at, None, node=digest))


def _opinion(content: history.Opinion, digest: str) -> Passage:
    """An answer of another agent. Its turn belongs to the fork that it worked on."""
    asked = Asked(content.by, content.question, content.thread)
    return Passage("agent", content.runtime, content.text, content.at, None, "completed", node=digest, asked=asked)


def _running(tx: Tx, row: Turn) -> Passage:
    so_far = open_items(tx, row.id)
    return with_texts(Passage("agent", row.runtime, "", row.started_at or row.queued_at, row.id, row.state, so_far))
