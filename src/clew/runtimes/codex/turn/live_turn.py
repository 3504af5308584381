"""State of a turn that Codex works on: its events and its open requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from clew.model.events import Activity, Event, GateClosed, GateOpened, Notice, NoticeKind, Phase, TurnEnded, Usage
from clew.model.gates import Asked, GateKind
from clew.model.turns import TurnState
from clew.runtimes.codex import wire
from clew.runtimes.codex.approvals import overwriting, requests
from clew.runtimes.codex.approvals.pending import CANCELLED, Pending
from clew.runtimes.codex.translate import Translation
from clew.runtimes.codex.turn.sub_agents import Below, SubAgents
from clew.runtimes.file_changes import Found
from clew.runtimes.process import within
from clew.runtimes.turn_events import Events
from clew.support.errors import RuntimeLost
from clew.support.text import LONGEST, clean
from clew.texts.catalogue import say

log = logging.getLogger(__name__)


class Live:
    """A turn that Codex works on."""

    def __init__(
        self,
        turn: str,
        runtime_turn: str | None = None,
        longest_text: int = LONGEST,
        *,
        is_sandboxed: bool = False,
        workspace: str = "",
    ) -> None:
        self.turn = turn
        self._workspace = workspace
        self._is_sandboxed = is_sandboxed  # then Codex asks only before it runs something outside its sandbox
        self.translation = Translation(runtime_turn, longest_text, workspace)
        self.agents = SubAgents(workspace)
        self.events: Events = asyncio.Queue()
        self._calls: dict[str, Activity] = {}  # activities that have ended, by item, until that may be told
        self._end: TurnEnded | None = None  # held back until the sub-agents have ended
        self.gates: dict[str, Pending] = {}  # open requests
        self._unasked: set[str] = set()  # those whose files are looked at first
        self._looking: set[asyncio.Task[None]] = set()
        self._id_known = asyncio.Event()  # set when Codex's id of the turn is known, or the turn is over
        self._started = asyncio.Event()  # set when the turn has started, or is over
        self.is_over = False
        self.is_interrupted = False
        self.is_ending = False  # a cancelled request ends the turn by itself
        self.ending_agents: set[str] = set()  # the same of sub-agents, by thread
        self._is_told = False  # of the end
        self._signal()

    def feed(self, method: str, params: msgspec.Raw) -> None:
        events = self.translation.feed(method, params)
        note = wire.read(params, wire.ItemNote) if method == "item/completed" else None
        below = self.agents.place([wire.read_item(note.item)]) if note is not None else []
        self._put([*events, *below])
        self._signal()

    def feed_agent(self, thread: str, method: str, params: msgspec.Raw) -> None:
        """The same of a sub-agent, which has a thread of its own."""
        self._put(self.agents.feed(thread, method, params))
        self._signal()

    def _put(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, TurnEnded):
                self._end = event
            elif isinstance(event, Activity) and event.phase is Phase.DONE:
                self._calls[event.item] = event
            elif isinstance(event, Usage):  # of the agent, or of one sub-agent
                self.events.put_nowait(Usage(self.translation.spent + self.agents.spent))
            else:
                self.events.put_nowait(event)
            self._end_calls()
        self._end_calls()
        if self._end is not None and not self.agents.is_working:
            ended, self._end = self._end, None
            was_stopped = self.is_interrupted and ended.state is TurnState.COMPLETED
            self.events.put_nowait(replace(ended, state=TurnState.INTERRUPTED) if was_stopped else ended)
            self._is_told = True

    def _end_calls(self) -> None:
        """End activities, but a call that began a sub-agent only when that one has ended."""
        for item in [each for each in reversed(self._calls) if not self.agents.is_at_work_for(each)]:
            self.events.put_nowait(self._calls.pop(item))

    def catch_up(self, thread: str, turn: wire.Turn) -> None:
        """Add the events of items that ended before this session listened."""
        events = self.translation.catch_up(thread, turn)
        if turn.status != wire.RUNNING and not self.translation.is_ended:
            events = [*events, *self.translation.end(turn)]
        self._put([*events, *self.agents.place(map(wire.read_item, turn.items), is_past=True)])
        self._signal()

    def catch_up_agent(self, below: Below) -> None:
        """The same of a sub-agent."""
        self._put(self.agents.catch_up(below))

    def ask(self, pending: Pending) -> bool:
        """Open a gate for the request, once. False: no person can be asked this, or it belongs to another turn."""
        if pending.request.turn_id not in (None, self._translation(pending).runtime_turn):
            return False
        if self.is_interrupted:
            return self.cancel(pending)
        if pending.ref in self.gates:
            return True
        if pending.asked is None and (targets := self._targets(pending)):
            self.gates[pending.ref] = pending
            self._unasked.add(pending.ref)
            task = asyncio.get_running_loop().create_task(self._look_and_ask(pending, targets))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)
            return True
        pending.asked = pending.asked or self._read(pending, {})
        if pending.asked is None:
            self._note_declined(pending)
            return False
        self.gates[pending.ref] = pending
        self.events.put_nowait(GateOpened(pending.ref, pending.asked))
        return True

    def _translation(self, pending: Pending) -> Translation:
        """Of the turn that asks: ours, or that of a sub-agent."""
        agent = self.agents.get(pending.thread)
        return agent.translation if agent is not None else self.translation

    def _targets(self, pending: Pending) -> tuple[str, ...]:
        return requests.targets(pending.method, pending.request, self._translation(pending))

    async def _look_and_ask(self, pending: Pending, targets: tuple[str, ...]) -> None:
        """Look at the files that the request may overwrite, then open the gate, unless it was answered meanwhile."""
        try:
            asked = await self._look(pending, targets)
            while (news := self._targets(pending)) != targets:  # the change has grown
                targets = news
                asked = await self._look(pending, targets)
        except Exception:  # nobody can be asked, and Codex must not wait for ever
            log.exception("a request of Codex cannot be read")
            asked = None
        if asked is None and pending.ref in self._unasked:
            self._unasked.discard(pending.ref)
            self.gates.pop(pending.ref, None)
            self._note_declined(pending)
            self.cancel(pending)
            return
        if pending.ref in self._unasked and not pending.is_answered and not self.is_over and asked is not None:
            self._unasked.discard(pending.ref)
            pending.asked = asked
            self.events.put_nowait(GateOpened(pending.ref, asked))

    async def _look(self, pending: Pending, targets: tuple[str, ...]) -> Asked | None:
        try:
            there = await asyncio.to_thread(overwriting.look, targets, self._workspace)
            return await asyncio.to_thread(self._read, pending, there)
        except Exception:  # a person must be asked in any case
            log.exception("could not look at what a change overwrites")
            return self._read(pending, dict.fromkeys(targets, overwriting.UNKNOWN))

    def _read(self, pending: Pending, there: Mapping[str, Found]) -> Asked | None:
        asked = requests.read(pending.method, pending.request, self._translation(pending), there)
        if asked is not None:
            asked = replace(asked, agents=self.agents.names(pending.thread))
        is_command = asked is not None and asked.kind is GateKind.COMMAND
        return replace(asked, leaves_sandbox=True) if asked and is_command and self._is_sandboxed else asked

    def resolved(self, pending: Pending) -> None:
        is_asked = pending.ref not in self._unasked
        self._unasked.discard(pending.ref)
        if self.gates.pop(pending.ref, None) is not None and is_asked:
            self.events.put_nowait(GateClosed(pending.ref))

    def cancel(self, pending: Pending) -> bool:
        """False: it was already answered."""
        if not pending.answer(CANCELLED):
            return False
        if pending.cancel_ends_the_turn:
            self._note_ending(pending)
        return True

    def _note_ending(self, pending: Pending) -> None:
        if self.agents.get(pending.thread) is None:
            self.is_ending = True
        else:
            self.ending_agents.add(pending.thread)

    def running_agents(self) -> list[tuple[str, str]]:
        """The threads and the turns of sub-agents that have to be interrupted."""
        found = ((thread, self.agents.get(thread)) for thread in self.agents.threads)
        return [
            (thread, agent.translation.runtime_turn)
            for thread, agent in found
            if agent is not None and agent.is_working and agent.translation.runtime_turn is not None
            if thread not in self.ending_agents
        ]

    def cancel_gates(self) -> None:
        for pending in self.gates.values():
            self.cancel(pending)

    @property
    def is_drained(self) -> bool:
        """Whether the turn is over and all its events were read."""
        return self.is_over and self.events.empty()

    def set_runtime_turn(self, runtime_turn: str) -> None:
        """Store the turn id from the response to `turn/start`. Notifications may have brought it before."""
        self.translation.runtime_turn = self.translation.runtime_turn or runtime_turn
        self._signal()

    async def wait_for_id(self, time_limit: float) -> bool:
        return await within(time_limit, self._id_known) and not self.is_over

    async def wait_started(self, time_limit: float) -> bool:
        """Wait until the turn can be interrupted."""
        return await within(time_limit, self._started) and not self.is_over

    def lose(self, reason: str) -> None:
        self.is_over = True
        self.events.put_nowait(RuntimeLost(reason))
        self._signal()

    def _note_declined(self, pending: Pending) -> None:
        about = requests.summary(pending.request) or pending.method
        self.events.put_nowait(Notice(NoticeKind.DECLINED, say("codex.declined", about=clean(about))))

    def _signal(self) -> None:
        self.is_over = self.is_over or self._is_told
        if self.is_over or self.translation.runtime_turn is not None:
            self._id_known.set()
        if self.is_over or self.translation.is_started:
            self._started.set()
