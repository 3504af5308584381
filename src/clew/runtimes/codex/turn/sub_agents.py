"""The sub-agents of one turn. Codex runs each in a thread of its own, which names the turn that began it all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.model.events import Activity, Event, GateOpened, Usage
from clew.model.turns import Usage as Tokens
from clew.runtimes.codex import wire
from clew.runtimes.codex.items import task_name
from clew.runtimes.codex.translate import Translation
from clew.runtimes.codex.wire import Item
from clew.support.text import clean

UNKNOWN = "?"
_GONE = frozenset({"interrupted", "completed", "errored", "shutdown", "notFound"})


class Spawned(Struct, frozen=True):
    """A sub-agent, and the item that began it."""

    thread: str
    item: str
    name: str
    is_working: bool = True


class Below(Struct, frozen=True):
    """A sub-agent, and those of its turns that belong to a turn of ours, oldest first. `caller`: the thread of the
    sub-agent that began it."""

    agent: Spawned
    caller: str | None
    turns: tuple[wire.Turn, ...]

    @property
    def is_working(self) -> bool:
        return bool(self.turns) and self.turns[-1].status == wire.RUNNING


def spawned(item: Item) -> Iterator[Spawned]:
    """The sub-agents that an item began."""
    if item.type == "collabAgentToolCall" and item.tool == "spawnAgent":
        for thread in item.receiver_thread_ids:
            yield Spawned(thread, item.id, task_name(item.prompt or "") or UNKNOWN, _is_working(item, thread))
    elif item.type == "subAgentActivity" and item.kind == "started" and item.agent_thread_id:
        yield Spawned(item.agent_thread_id, item.id, clean(item.agent_path or UNKNOWN))


def _is_working(item: Item, thread: str) -> bool:
    states = item.agents_states if isinstance(item.agents_states, dict) else {}
    state = states.get(thread)
    return not (isinstance(state, dict) and state.get("status") in _GONE)


class SubAgent:
    """A thread of a sub-agent in this turn. Its item is known only when its call has ended, maybe after it began."""

    def __init__(self, workspace: str) -> None:
        self.began_by: Spawned | None = None
        self.caller: str | None = None  # the thread of the sub-agent that began it
        self.translation = Translation(workspace=workspace)
        self.is_working = True
        self._early: list[Event] = []
        self._spent_before = Tokens()  # in its earlier turns

    def feed(self, method: str, params: msgspec.Raw) -> list[Event]:
        """What is shown of it: its activities and its questions; and what it uses. It may have several turns, one after
        another."""
        if method == "turn/started" and self.translation.is_ended:
            self._spent_before = self.spent
            self.translation = Translation(workspace=self.translation.workspace)
        events = self.translation.feed(method, params)
        self._early += _shown(events)
        self.is_working = self.translation.is_started and not self.translation.is_ended
        return [*self.take(), *(event for event in events if isinstance(event, Usage))]

    def join(self, turn: wire.Turn) -> None:
        """Follow a turn of it that began before this session listened."""
        self.translation = Translation(turn.id, workspace=self.translation.workspace)
        self.is_working = True

    def catch_up(self, thread: str, turn: wire.Turn) -> list[Event]:
        """What it did in a turn before this session listened."""
        is_joined = turn.id == self.translation.runtime_turn
        translation = self.translation if is_joined else Translation(turn.id, workspace=self.translation.workspace)
        self._early += _shown(translation.catch_up(thread, turn))
        if is_joined and turn.status != wire.RUNNING:  # it ended meanwhile
            self.translation.is_ended, self.is_working = True, False
        return self.take()

    @property
    def spent(self) -> Tokens:
        return self._spent_before + self.translation.spent

    def take(self) -> list[Event]:
        """The events that can be placed by now."""
        if self.began_by is None:
            return []
        events, self._early = self._early, []
        return [_placed(event, self.began_by.item) for event in events]


def _shown(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, Activity | GateOpened)]


def _placed(event: Event, item: str) -> Event:
    return replace(event, parent=item) if isinstance(event, Activity) else event


class SubAgents:
    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._agents: dict[str, SubAgent] = {}  # by thread

    @property
    def is_working(self) -> bool:
        return any(agent.is_working for agent in self._agents.values())

    def is_at_work_for(self, item: str) -> bool:
        """Whether a sub-agent that this item began still works, or one below that."""
        begun = [thread for thread, agent in self._agents.items() if agent.began_by and agent.began_by.item == item]
        return any(self._is_at_work(thread, frozenset()) for thread in begun)

    def _is_at_work(self, thread: str, above: frozenset[str]) -> bool:
        below = [each for each, agent in self._agents.items() if agent.caller == thread and each not in above]
        return self._agents[thread].is_working or any(self._is_at_work(each, above | {thread}) for each in below)

    @property
    def threads(self) -> tuple[str, ...]:
        return tuple(self._agents)

    @property
    def spent(self) -> Tokens:
        return sum((agent.spent for agent in self._agents.values()), Tokens())

    def get(self, thread: str) -> SubAgent | None:
        return self._agents.get(thread)

    def begin(self, thread: str) -> SubAgent:
        return self._agents.setdefault(thread, SubAgent(self._workspace))

    def know(self, found: Spawned, caller: str | None) -> None:
        """Note a sub-agent that was there before this session listened. Whether it works, `join` says."""
        agent = self.begin(found.thread)
        agent.began_by, agent.caller, agent.is_working = found, caller, False

    def join(self, thread: str, turn: wire.Turn) -> None:
        self.begin(thread).join(turn)

    def lose(self, thread: str) -> None:
        """Nobody will hear the end of this one."""
        self.begin(thread).is_working = False

    def place(self, items: Iterable[Item], caller: str | None = None, *, is_past: bool = False) -> list[Event]:
        """Note which sub-agents these items began, and return what those did until now. `caller`: the thread of the
        sub-agent that has the items; `is_past`: nobody listened then, so the end of such a sub-agent may never be told,
        and it is not waited for."""
        events: list[Event] = []
        for found in (each for item in items for each in spawned(item)):
            agent = self.begin(found.thread)
            if agent.began_by is None:
                agent.began_by, agent.caller = found, caller
                may_work = found.is_working and not is_past
                agent.is_working = agent.is_working and (may_work or agent.translation.is_started)
                events += agent.take()
        return events

    def feed(self, thread: str, method: str, params: msgspec.Raw) -> list[Event]:
        agent = self.begin(thread)
        events = agent.feed(method, params)
        note = wire.read(params, wire.ItemNote) if method == "item/completed" else None
        return [*events, *(self.place([wire.read_item(note.item)], thread) if note is not None else ())]

    def catch_up(self, below: Below) -> list[Event]:
        """What a sub-agent did and began before this session listened."""
        agent = self.begin(below.agent.thread)
        if agent.began_by is None:
            agent.began_by, agent.caller = below.agent, below.caller
        return [event for turn in below.turns for event in agent.catch_up(below.agent.thread, turn)]

    def names(self, thread: str | None) -> tuple[str, ...]:
        """The sub-agent of this thread and those above it, outermost first."""
        found: list[str] = []
        while thread is not None and (agent := self._agents.get(thread)) is not None and len(found) < len(self._agents):
            found.append(agent.began_by.name if agent.began_by is not None else UNKNOWN)
            thread = agent.caller
        return tuple(reversed(found))
