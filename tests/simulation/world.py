"""A world that outlives its daemons: the database, the runtime's record, the platform, the people. The seed decides
everything, so a seed can be replayed exactly."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from clew.config.settings import Budget, BudgetsConfig, Config, GatesConfig, InboxConfig, ThreadsConfig, TurnsConfig
from clew.engine.engine import Engine
from clew.model.delivery import DeliveryKind
from clew.model.events import ActivityKind, Outcome
from clew.model.messages import Conversation, Person, PromptMessage, Role
from clew.model.runtime import TurnRequest
from clew.model.turns import TurnState, without_refusals
from clew.store import Store, Tx
from clew.store.sqlite.driver import Inline
from clew.store.tables import log, places
from clew.store.tables import people as rows
from clew.support import crash
from clew.support.errors import RuntimeLost
from clew.testing.scripted_model.script import Step
from clew.testing.scripted_runtime import MemoryLedger, Played, ScriptedRuntime
from tests.simulation import answers, people, stores
from tests.simulation.account import Account
from tests.simulation.agent import steps
from tests.simulation.clock import VirtualClock, jumps
from tests.simulation.fake_platform import (
    CLASSES,
    EVERYBODY,
    GROUP,
    HOME,
    OWNER,
    POCKET,
    Letter,
    Platform,
    Post,
    SimulatedSurface,
)
from tests.simulation.late import Late
from tests.simulation.loop import VirtualLoop

EVENTS = 200  # that a story has at least
LETTERS = 3  # of a chapter
DEATHS = 3  # of a chapter, at most
OTHER = "claude"  # the second agent
SWITCHING = 5  # in one of so many stories people switch between two agents
LAST_TRIES = 30  # daemons, if the disk is full at their start
LONGEST = 50_000  # steps in which the last daemon must settle


class WatchedLedger(MemoryLedger):
    """A ledger that records how often each turn was started, its answer, and at which gates a command ran."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: dict[tuple[str, str], int] = {}  # (session, turn); a fork has its own copy
        self.tries: dict[tuple[str, str], int] = {}  # the same by the id under which it was sent
        self.ran: list[str] = []  # references of gates, once for each time
        self.said: dict[str, str] = {}  # the answer of each turn that has one
        self.acted: set[str] = set()  # turns that ran a command
        self.deaf = False

    def heard(self) -> Iterator[tuple[str, PromptMessage]]:
        """Return all messages to this agent, and their turns."""
        for played in self._sessions.values():
            for entry in played:
                yield from ((without_refusals(entry.turn), said) for said in (*entry.messages, *entry.steers))

    def save(self, session: str, played: list[Played]) -> None:
        if self.deaf:
            raise RuntimeLost("nobody is there any more")
        newest = played[-1]
        turn = without_refusals(newest.turn)
        if newest == Played(newest.turn, newest.messages, prelude=newest.prelude):
            self.begun[session, turn] = self.begun.get((session, turn), 0) + 1
            self.tries[session, newest.turn] = self.tries.get((session, newest.turn), 0) + 1
        known = {entry.turn: len(entry.executions) for entry in self.load(session)}
        if len(newest.executions) > known.get(newest.turn, len(newest.executions)):
            self.ran.append(newest.activities[-1].item)
        if any(act.kind is ActivityKind.COMMAND and act.outcome is Outcome.OK for act in newest.activities):
            self.acted.add(turn)
        if newest.state is TurnState.COMPLETED:
            self.said[turn] = newest.text
        super().save(session, played)


@dataclass(slots=True)
class Life:
    """The daemon's access to the world; after its end it has none."""

    executor: Inline
    surfaces: dict[str, SimulatedSurface]
    ledgers: Sequence[WatchedLedger]

    def __post_init__(self) -> None:
        for ledger in self.ledgers:
            ledger.deaf = False

    def end(self) -> None:
        self.executor.close()
        for surface in self.surfaces.values():
            surface.alive = False
        for ledger in self.ledgers:
            ledger.deaf = True


class Stop(NamedTuple):
    """How a daemon is stopped."""

    after: float  # seconds
    grace: float
    restart: bool


@dataclass
class World:
    seed: int
    timeline: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = VirtualClock(random.Random(f"clock {self.seed}"), jumps(random.Random(f"jumps {self.seed}")))
        self.store_id, self.connection = stores.take()
        for surface in ("simulated", POCKET):
            role = Role.OWNER if self.seed % 13 == 4 else Role.DRIVER  # only an owner goes above a budget
            rows.add(Tx(self.connection), Person(surface, EVERYBODY, "everybody", role, 0, "the seed"))
        self.ledgers = {"codex": WatchedLedger(), OTHER: WatchedLedger()}
        self.switching = self.seed % SWITCHING == 0
        self.turning = random.Random(f"switches {self.seed}")
        kind = self.chance.choice(sorted(CLASSES))
        self.outlives = self.chance.random() < 0.3
        self.platform = Platform(random.Random(f"platform {self.seed}"), kind, self.chance.random() * 0.4, self.tell)
        self.platform.replies = self._reply
        self._close_a_room(random.Random(f"gone {self.seed}"))
        self.lives = 0
        self.late = Late(self.connection)
        self.rested = False
        self.fallen: list[str] = []  # daemons that ended by themselves
        self.time = 0.0
        self.doom = random.Random(f"doom {self.seed}")
        self.disk = random.Random(f"disk {self.seed}")
        self.full_disks = self.chance.choice((0, 0, 5, 20))
        self.unreadable = self.disk.choice((0, 0, 5, 20))
        self.people = random.Random(f"people {self.seed}")
        self.orders = random.Random(f"orders {self.seed}")
        self.acts: list[people.Act] = []
        self.patience = GatesConfig(self.chance.choice((0.0, 20.0, 1800.0)), self.chance.choice((0.0, 0.0, 15.0, 60.0)))
        self.inbox = InboxConfig(debounce=1.0 if self.seed % 9 == 1 else 0.0)  # by seed: it draws no chance
        has_budgets = self.seed % 13 == 4  # by seed: it draws no chance
        self.budgets = BudgetsConfig(thread=Budget(turns=1), day=Budget(turns=12)) if has_budgets else BudgetsConfig()
        self.turns = TurnsConfig(parallel=4, prelude=1_000_000, per_project=2 if has_budgets else 0)
        self.threads = _threads(self.seed)
        self.account = Account(self.seed, self.clock.monotonic, self.clock.now)
        self._answered: set[str] = set()

    @property
    def has_faults(self) -> bool:
        return self.platform.faults > 0

    @property
    def events(self) -> int:
        """Return all events: stored ones, and those of people and platforms."""
        newest, _ = log.newest(Tx(self.connection))
        return newest + len(self.timeline)

    @property
    def begun(self) -> Counter[tuple[str, str]]:
        """How often each turn was started, by session; a fork has its own copy."""
        return sum((Counter(ledger.begun) for ledger in self.ledgers.values()), Counter[tuple[str, str]]())

    @property
    def ran(self) -> list[str]:
        """References of gates whose command ran, once for each time."""
        return [ref for ledger in self.ledgers.values() for ref in ledger.ran]

    @property
    def said(self) -> dict[str, str]:
        """The answer of each turn that has one."""
        return {turn: text for ledger in self.ledgers.values() for turn, text in ledger.said.items()}

    def heard(self) -> Iterator[tuple[str, PromptMessage]]:
        """All messages to an agent, and their turns."""
        for ledger in self.ledgers.values():
            yield from ledger.heard()

    def chapter(self) -> None:
        """Let people act; kill some daemons at any step; the last one settles."""
        self._write_letters()
        self.acts += people.plan(self.people, self.people.randrange(8), self.time, len(self.acts))
        if self.switching:
            self.acts += people.switches(self.turning, self.time, len(self.acts))
        for _ in range(self.chance.randrange(DEATHS + 1)):
            steps, stop = self.chance.randrange(1, 600), self._stop()
            if self.live_once(LONGEST if stop else steps, stop=stop):
                break
            self.time += self.chance.expovariate(1 / 3)
        for _ in range(LAST_TRIES):
            self.rested = self.live_once(LONGEST, mortal=False)
            if self.rested:
                break

    def close(self) -> None:
        """Give the database back for the next story."""
        stores.give_back(self.connection)

    def tell(self, line: str) -> None:
        self.timeline.append(f"{self.clock.monotonic():9.3f}  {line}")

    def live_once(self, steps: int, *, mortal: bool = True, stop: Stop | None = None) -> bool:
        """Run one daemon until it settles (True), or is stopped or killed (False)."""
        self.lives += 1
        self.clock.start = self.time
        loop = VirtualLoop(self.time, steps)
        self.platform.listeners.clear()
        self.platform.leaving = self.late.receipt
        surfaces = {name: SimulatedSurface(self.platform, name) for name in ("simulated", POCKET)}
        life = Life(
            Inline(self.connection, self._disk_is_full, self._cannot_be_read), surfaces, [*self.ledgers.values()]
        )
        self.timeline.append(f"{self.time:9.3f}  daemon {self.lives} starts")
        crash.hook = partial(self._pass, loop, life) if mortal else None
        try:
            rested = loop.live(self._watched(life, stop), life.end)
        finally:
            crash.hook = None
        self.time = self.clock.start = loop.time()
        self.late = Late(self.connection)
        self.timeline.append(f"{self.time:9.3f}  daemon {self.lives} {'rests' if rested else 'is killed'}")
        return rested

    def _pass(self, loop: VirtualLoop, life: Life, point: str) -> None:
        """At a crash point, between two side effects, a daemon dies more often than elsewhere. Then it has no access to
        the world."""
        if life.executor.alive and self.doom.random() < (0.06 if point.startswith("gate.") else 0.01):
            self.tell(f"killed at {point}")
            life.end()
            loop.doom()

    async def _watched(self, life: Life, stop: Stop | None) -> None:
        """Assert that a started daemon ends only because somebody ends it."""
        awake = asyncio.Event()
        try:
            await self._daemon(life, stop, awake)
        except Exception as error:
            if life.executor.alive and awake.is_set():
                self.fallen.append(f"daemon {self.lives} fell over {error!r}")
            raise

    async def _daemon(self, life: Life, stop: Stop | None, awake: asyncio.Event) -> None:
        store = Store(life.executor, self.store_id)
        runtimes = {name: self._runtime(name, ledger) for name, ledger in self.ledgers.items()}
        engine = Engine(
            store=store,
            clock=self.clock,
            config=Config(
                threads=self.threads, turns=self.turns, gates=self.patience, inbox=self.inbox, budgets=self.budgets
            ),
            incarnation=f"daemon-{self.lives}",
            runtimes=runtimes if self.switching else {"codex": runtimes["codex"]},
            surfaces=life.surfaces,
            workspace="/nowhere",
        )

        def woken() -> None:
            awake.set()
            self.late.ends()

        async with asyncio.TaskGroup() as group:
            working = [
                group.create_task(engine.run(woken)),
                group.create_task(people.live(engine, self.acts, self.tell)),
            ]
            if stop is not None:
                await self._end_well(engine, stop)
                for task in working:
                    task.cancel()

    def _runtime(self, name: str, ledger: WatchedLedger) -> ScriptedRuntime:
        """The account that refuses turns is that of the first agent."""
        runtime = ScriptedRuntime(
            self.clock,
            ledger,
            play=partial(steps, self.seed) if name == OTHER else self._steps,
            outlives=self.outlives,
            pace=lambda: self.chance.random() * 0.3,
        )
        runtime.name = name
        if name != OTHER:
            self.runtime = runtime
        return runtime

    def _steps(self, request: TurnRequest) -> tuple[Step, ...]:
        times = sum(count for (_, turn), count in self.begun.items() if turn == without_refusals(request.turn))
        refused = self.account.refuses(request, times)
        self.runtime.free_at = self.account.says
        return steps(self.seed, request) if refused is None else refused

    async def _end_well(self, engine: Engine, stop: Stop) -> None:
        """Stop as `down` and `restart` do: running turns get some time, then everything is cancelled."""
        await asyncio.sleep(stop.after)
        self.tell(f"daemon {self.lives} is to end within {stop.grace} s")
        await engine.drain(stop.grace, restart=stop.restart)

    def _stop(self) -> Stop | None:
        """Whether the daemon is stopped normally, before it could be killed."""
        if self.orders.random() > 0.3:
            return None
        return Stop(self.orders.random() * 20, self.orders.choice((0.0, 1.0, 10.0)), self.orders.random() < 0.5)

    def _close_a_room(self, chance: random.Random) -> None:
        """In some stories a room disappears; then what was said there goes to the owner's direct chat, even if the home
        is a group."""
        if chance.random() >= 0.2:
            return
        self.platform.gone, self.platform.gone_at = f"room-{chance.randrange(4)}", chance.random() * 20
        is_group, tx = CLASSES[self.platform.kind].chat and chance.random() < 0.5, Tx(self.connection)
        places.set_home(tx, Conversation("simulated", GROUP if is_group else HOME))
        rows.add(tx, Person("simulated", OWNER, "owner", Role.OWNER, 0, "the seed"))
        places.set_owner_chat(tx, Conversation("simulated", HOME), OWNER)

    def _disk_is_full(self) -> bool:
        """Sometimes the disk is full for a while."""
        if self.full_disks <= 0 or self.disk.random() > 0.01:
            return False
        self.full_disks -= 1
        return True

    def _cannot_be_read(self) -> bool:
        if self.unreadable <= 0 or self.disk.random() > 0.03:
            return False
        self.unreadable -= 1
        return True

    def _write_letters(self) -> None:
        at, said = self.time, len(self.platform.letters)
        for number in range(said, said + LETTERS):
            at += self.chance.expovariate(0.8)
            where = f"room-{self.chance.randrange(4)}"
            copies = 1 if self.chance.random() < 0.7 else self.chance.randrange(2, 4)
            text = answers.opening(self.chance, number)
            late = answers.delay(self.chance)
            letter = Letter(at, where, f"m{number}", text, copies, self.chance.random() < 0.3, late)
            self.platform.letters.append(letter)

    def _reply(self, post: Post) -> None:
        """Let people answer: a card perhaps, a question about the work once. They may continue what was handed off to
        them."""
        if post.key in self._answered:
            return
        if post.kind is DeliveryKind.HANDOFF:
            said = answers.to_handoff
        elif answers.codes(post):
            said = answers.to_card
        elif post.kind is DeliveryKind.ASK:
            said = answers.to_question
        else:
            return
        self._answered.add(post.key)
        now = self.clock.monotonic()
        self.platform.letters.extend(said(self.chance, post, now))


def _threads(seed: int) -> ThreadsConfig:
    """What happens at a usage limit, which stories have whose seed is a multiple of ten."""
    return ThreadsConfig(
        fallback=("codex", OTHER) if seed % 30 == 10 else (),
        on_limit="ask" if seed % 40 == 20 else "never" if seed % 40 == 30 else "auto",
        quiet_hours="03:00-05:00" if seed % 70 == 0 else None,
    )


def play(seed: int) -> World:
    """Run a complete story, chapter by chapter."""
    world = World(seed)
    while True:
        world.chapter()
        if not world.rested or world.events >= EVENTS:
            return world
