"""Promise 6 under random interleavings of opened gates, answers, interrupts and crashes, on real rows. One seed is one
interleaving; each command that ran is matched with the yes that a person gave for it."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from clew.config.settings import Config, ThreadsConfig
from clew.engine.core import Core
from clew.engine.gates import lifecycle as room
from clew.engine.gates.answers import apply_choice
from clew.engine.gates.choices import Choice, ChoiceKind
from clew.engine.live import Live
from clew.engine.progress import GATE, gate_item
from clew.engine.threads.lifecycle import Opening, open_thread
from clew.engine.turns.completion import End, end_and_continue, end_turn
from clew.engine.turns.queueing import queue_turn
from clew.model.events import GateOpened, Phase
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, GateState, Question
from clew.model.messages import PromptMessage
from clew.model.turns import Item, Origin, Turn, TurnState
from clew.store import Store, Tx
from clew.store.migrate import migrate
from clew.store.sqlite.driver import Inline, SqliteConnection
from clew.store.tables import gates, turns
from clew.support.errors import Refused
from tests.simulation.clock import VirtualClock

INTERLEAVINGS = 10_000
CHUNKS = 20
OFTEN = 5  # of them in every check; the others with `--all`
COMMANDS = ("make", "make deploy", "rm -r build")


@dataclass
class Agent:
    """A runtime's process: its requests, and the commands it has run. Its requests end with it."""

    name: str
    number: int = 0
    count: int = 0
    asked: dict[str, Asked] = field(default_factory=dict)
    settled: list[str] = field(default_factory=list)  # said to be settled, and perhaps not heard
    runs: Counter[str] = field(default_factory=Counter)  # by the gate's reference
    cancelled: bool = False

    def ask(self, asked: Asked) -> GateOpened:
        ref = f"{self.name}:{self.number}:{self.count}"  # a number that begins anew with each process
        self.count += 1
        self.asked[ref] = asked
        return GateOpened(ref, asked)

    def answer(self, ref: str, answer: Answer) -> bool:
        if self.asked.pop(ref, None) is None:
            return False
        self.runs[ref] += answer.is_yes
        self.settled.append(ref)
        return True

    def die(self) -> None:
        self.number, self.count = self.number + 1, 0
        self.asked.clear()
        self.settled.clear()


class Story:
    """One turn and its continuations, from the first request until nothing is left to do."""

    def __init__(self, connection: SqliteConnection, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = VirtualClock(random.Random(f"clock {seed}"))
        self.clock.start = seed * 90_000.0  # another day for each, so that codes are free again
        self.tx = Tx(connection)
        self.agent = Agent(f"agent {seed}")
        self.core = self._daemon()
        self.thread = open_thread(self.tx, self.core, Opening("a story"))
        queued = queue_turn(self.tx, self.clock, self.thread.main_session, Origin.MESSAGE, (SAID,), None)
        self.turn = self._begin(queued.id)
        self.root: dict[str, str] = {}  # gate → the gate at which a person said the yes that counts for it
        self.said: dict[str, Answer] = {}  # gate → what a person answered first
        self.log: list[str] = []

    def _daemon(self) -> Core:
        store = Store(Inline(self.tx._connection), "s")  # type: ignore[arg-type]
        config = Config(threads=ThreadsConfig(runtime="scripted"))
        return Core(store, self.clock, config, "me", {}, {}, Live(), "/nowhere")

    def _begin(self, name: str) -> Turn:
        claimed = turns.claim(self.tx, self.thread.id, "me", self.clock.now())
        assert claimed is not None and claimed.id == name
        return claimed

    def tell(self) -> None:
        for _ in range(self.chance.randrange(6, 24)):
            if self.turn.state is not TurnState.RUNNING:
                break
            act = self.chance.choice(ACTS)
            self.log.append(act.__name__)
            act(self)
            self.check()
        self.stop()
        self.check()

    # What can happen

    def ask(self) -> None:
        if len(self.agent.asked) < 3:
            opened = self.agent.ask(self._request())
            if self.chance.random() < 0.9:  # else it dies before it was written down
                self._opened(opened)
            else:
                self.die()

    def ask_again(self) -> None:
        for ref, asked in list(self.agent.asked.items()):
            self._opened(GateOpened(ref, asked))

    def answer(self) -> None:
        known = gates.of_thread(self.tx, self.thread.id, 20)
        if not known:
            return
        gate = self.chance.choice([*known, *known[:2] * 3])  # mostly the newest
        answer = self._answer_to(gate)
        try:
            apply_choice(
                self.tx, self.core, gate, Choice(ChoiceKind.ACCEPT, "", answer), f"person {self.chance.randrange(3)}"
            )
        except Refused as refused:
            assert gate.state is not GateState.OPEN and gate.code in refused.message
            return
        assert gate.state is GateState.OPEN and gate.id not in self.said
        self.said[gate.id] = answer
        self.root[gate.id] = gate.id

    def give(self) -> None:
        """Send the answer to the runtime, with a possible crash at each step."""
        for gate in room.unsent_answers(self.tx, self.turn.id):
            if self._dies():
                return
            answer = room.answer_of(self.core, gate)
            if answer is None:
                room.reopen_gate(self.tx, self.core, gate, "lost")
                self.said.pop(gate.id, None)
                continue
            assert gates.mark_sending(self.tx, gate, self.clock.now())
            assert not gates.mark_sending(self.tx, gate, self.clock.now()), "it leaves once"
            if self._dies():
                return
            if not self.agent.answer(gate.ref, answer):
                room.void_gate(self.tx, self.core, gate, "gone")
            if self._dies():
                return

    def hear(self) -> None:
        while self.agent.settled:
            room.close_gate(self.tx, self.core, self.agent.settled.pop())

    def expire(self) -> None:
        for gate in gates.open_in(self.tx, self.thread.id):
            room.expire_gate(self.tx, self.core, gate)

    def stop(self) -> None:
        if self.turn.state is TurnState.RUNNING:
            room.stop_turn(self.tx, self.core, self.thread.id, self.turn.id, "a person")
            self.agent.asked.clear()
            self._end(TurnState.INTERRUPTED)

    def end(self) -> None:
        if not self.agent.asked:
            self.hear()
            self._end(TurnState.COMPLETED)

    def agent_dies(self) -> None:
        """Crash only the runtime: the daemon keeps its memory."""
        self.agent.die()
        self._cut()

    def die(self) -> None:
        """Crash the daemon, and with it the runtime and everything in memory."""
        self.agent.die()
        self.core = self._daemon()
        self._cut()

    def _dies(self) -> bool:
        if self.chance.random() > 0.15:
            return False
        self.die()
        return True

    def _cut(self) -> None:
        turn = turns.get(self.tx, self.turn.id)
        assert turn is not None
        if not end_and_continue(self.tx, self.core, turn, End(TurnState.INTERRUPTED), (SAID,)):
            return
        queued = turns.queued(self.tx, self.thread.id)
        self.turn = self._begin(queued[0].id) if queued else _ended(turn)

    def _end(self, state: TurnState) -> None:
        turn = turns.get(self.tx, self.turn.id)
        assert turn is not None and end_turn(self.tx, self.core, turn, End(state))
        self.turn = _ended(turn)

    def _opened(self, opened: GateOpened) -> None:
        before = {gate.id for gate in gates.of_turn(self.tx, self.turn.id)}
        carried = [gate for gate in gates.same_request(self.tx, self.turn.id, opened.asked) if gate.carried]
        item = Item(gate_item(opened.ref), GATE, Phase.STARTED, opened.asked.title)
        room.open_gate(self.tx, self.core, self.thread, self.turn, opened, item)
        new = [gate for gate in gates.of_turn(self.tx, self.turn.id) if gate.id not in before]
        for gate in new:
            if gate.state is GateState.ANSWERED:
                assert carried, "nobody had answered that"
                assert gate.asked.subject == carried[0].asked.subject and gate.answer == carried[0].answer
                self.root[gate.id] = self.root[carried[0].id]

    def _request(self) -> Asked:
        """Often the same request as before, like an agent whose work was cut off."""
        earlier = gates.of_thread(self.tx, self.thread.id, 3)
        if earlier and self.chance.random() < 0.6:
            return self.chance.choice(earlier).asked
        command = self.chance.choice(COMMANDS)
        if self.chance.random() < 0.15:
            secret = self.chance.random() < 0.5
            question = Question("q", f"how {command}?", ("well", "badly"), secret=secret)
            return Asked(GateKind.QUESTION, question.text, questions=(question,))
        return Asked(GateKind.COMMAND, command, folder=self.chance.choice(("/a", "/b")), item=f"item {command}")

    def _answer_to(self, gate: Gate) -> Answer:
        if gate.asked.kind is GateKind.QUESTION:
            return Answer(Decision.REPLY, replies=(("q", ("well",)),))
        return Answer(self.chance.choice((Decision.ACCEPT, Decision.ACCEPT, Decision.ACCEPT, Decision.DECLINE)))

    # What must hold after every step

    def check(self) -> None:
        known = gates.of_thread(self.tx, self.thread.id, 100)
        self._at_most_one_run_per_yes(known)
        self._a_waiting_turn_has_something_to_act_on(known)
        self._nothing_is_left_of_ended_turns(known)
        codes = Counter(gate.code for gate in known)
        assert not [code for code, count in codes.items() if count > 1], "a code was given twice in a day"
        for gate in known:
            assert gate.state is not GateState.VOID or (gate.why and gate.closed_at), "void without a word"
            assert not (gate.carried and gate.sent_at), "an answer that left is kept for another time"

    def _at_most_one_run_per_yes(self, known: list[Gate]) -> None:
        by_ref = {gate.ref: gate for gate in known}
        runs: Counter[str] = Counter()
        for ref, count in self.agent.runs.items():
            if count:
                runs[self.root[by_ref[ref].id]] += count
        for root, count in runs.items():
            assert count == 1, f"{count} runs for one yes: {self.log}"
            assert self.said[root].is_yes

    def _a_waiting_turn_has_something_to_act_on(self, known: list[Gate]) -> None:
        turn = turns.get(self.tx, self.turn.id)
        assert turn is not None
        waits = [gate for gate in known if gate.turn == turn.id and gate.state is GateState.OPEN]
        assert (turn.state is TurnState.WAITING) == bool(waits), self.log

    def _nothing_is_left_of_ended_turns(self, known: list[Gate]) -> None:
        over = self.turn.state is not TurnState.RUNNING
        for gate in known:
            if gate.turn != self.turn.id or over:
                assert gate.state not in (GateState.OPEN, GateState.ANSWERED), self.log


SAID = PromptMessage("m1", "you", "do it")
ACTS = (
    *(Story.ask,) * 8,
    Story.ask_again,
    *(Story.answer,) * 12,
    *(Story.give,) * 8,
    *(Story.hear,) * 3,
    Story.expire,
    Story.stop,
    Story.end,
    Story.agent_dies,
    *(Story.die,) * 2,
)


def _ended(turn: Turn) -> Turn:
    return replace(turn, state=TurnState.COMPLETED)


@pytest.fixture
def connection() -> SqliteConnection:
    connection = SqliteConnection(sqlite3.connect(":memory:", isolation_level=None, cached_statements=512))
    migrate(connection, VirtualClock(random.Random(0)))
    return connection


@pytest.mark.parametrize(
    "chunk", [*range(OFTEN), *(pytest.param(chunk, marks=pytest.mark.heavy) for chunk in range(OFTEN, CHUNKS))]
)
def test_each_yes_runs_at_most_once_in_any_interleaving(chunk: int, connection: SqliteConnection) -> None:
    for seed in range(chunk, INTERLEAVINGS, CHUNKS):
        Story(connection, seed).tell()


def _kept_although_sent(tx: Tx, gate: Gate, why: str, at: int, *, carried: bool) -> bool:
    tx.run("UPDATE gates SET sent_at = NULL WHERE id = ?", gate.id)
    return gates_void(tx, gate, why, at, carried=gate.answer is not None)


def _used_twice(tx: Tx, gate: Gate) -> bool:
    return True


def _sent_unrecorded(tx: Tx, gate: Gate, at: int) -> bool:
    return True


gates_void = gates.void
FAULTS: dict[str, Callable[..., bool]] = {
    "void": _kept_although_sent,
    "use_carried": _used_twice,
    "mark_sending": _sent_unrecorded,
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_interleavings_detect_planted_faults(
    name: str, connection: SqliteConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, name, FAULTS[name])
    with pytest.raises(AssertionError):
        for seed in range(2_000):
            Story(connection, seed).tell()
