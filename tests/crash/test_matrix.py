"""The real daemon with the real Codex, killed by SIGKILL at every crash point, in every flow that passes it. The table
of points per flow is checked against recorded runs: a new point, or a flow that passes another one, fails here until it
is in the table and so is tested."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import System, open_system
from tests.crash.flows import FLOWS
from tests.crash.outside import check
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.process

TRIED = Path(__file__).parent

TURN = ("turn.claimed-not-sent", "turn.sent-not-recorded", "turn.text-not-stored", "turn.ended-not-owed")
EACH = (*TURN, "child.started-not-known", "store.written-not-committed", "store.committed-not-told")
SENDING = ("outbox.claimed-not-sent", "outbox.sent-not-recorded")
NEW = "session.opened-not-kept"
ACCEPTED = "inbox.accepted-not-acknowledged"
GATE = (
    "gate.asked-not-stored",
    "gate.stored-not-shown",
    "gate.answered-not-sent",
    "gate.sending-not-sent",
    "gate.sent-not-taken",
    "gate.taken-not-recorded",
)
PASSES: dict[str, tuple[str, ...]] = {
    "chat": (*EACH, *SENDING, NEW, ACCEPTED),
    "task": (*EACH, *SENDING, NEW),
    "steer": (*EACH, *SENDING, NEW, ACCEPTED, "steer.offered-not-sent", "steer.sent-not-recorded"),
    "queue": (*EACH, *SENDING, NEW, ACCEPTED),
    "gate": (*EACH, *SENDING, NEW, *GATE),
    "resume": (*EACH, *SENDING),
    "fork": (*EACH, NEW, ACCEPTED),
    "stop": (*EACH, *SENDING, NEW, "stop.asked-not-sent"),
    "recovery": (*EACH, *SENDING, "recovery.taken-over-not-looked-up", "recovery.looked-up-not-settled"),
}
# With a kept Codex, a turn of a dead daemon is joined and not started again. Timing decides whether it is joined
# before it ends.
JOINED = ("child.started-not-known", "store.written-not-committed", "store.committed-not-told")
KEPT = {
    **PASSES,
    "recovery": (*JOINED, *SENDING, "recovery.taken-over-not-looked-up", "recovery.looked-up-not-settled"),
}
MAYBE = {"recovery": {"turn.ended-not-owed"}}
ON = {"stdio": PASSES, "socket": KEPT}
MAKING = ("store.made-not-named", "store.migrated-not-committed")  # passed only without a file; see test_opening

# The pass at which to kill, if not the first: the first commits of a daemon belong to its start.
COMMITS = ("store.written-not-committed", "store.committed-not-told")
DEEPER = {
    "queue": (
        "turn.claimed-not-sent:2",
        "turn.sent-not-recorded:2",
        "turn.ended-not-owed:2",
        *(f"{point}:2" for point in SENDING),
    ),
    "gate": tuple(f"{point}:2" for point in SENDING),
}

# One flow for each point, and each flow at least once. Gates are in test_gates_killed.
SOME = (
    ("chat", ACCEPTED),
    ("chat", "turn.ended-not-owed"),
    ("task", "outbox.sent-not-recorded"),
    ("task", "store.committed-not-told:4"),
    ("steer", "steer.offered-not-sent"),
    ("steer", "steer.sent-not-recorded"),
    ("queue", "turn.text-not-stored"),
    ("queue", "turn.sent-not-recorded:2"),
    ("gate", "store.written-not-committed:8"),
    ("gate", "gate.sent-not-taken"),
    ("resume", "turn.claimed-not-sent"),
    ("resume", "outbox.claimed-not-sent"),
    ("fork", "session.opened-not-kept"),
    ("fork", "child.started-not-known"),
    ("stop", "stop.asked-not-sent"),
    ("recovery", "recovery.taken-over-not-looked-up"),
    ("recovery", "recovery.looked-up-not-settled"),
)


SOME_KEPT = (
    ("steer", "steer.sent-not-recorded"),
    ("recovery", "recovery.looked-up-not-settled"),
)
ALWAYS = {"stdio": SOME, "socket": SOME_KEPT}


def every_pair(transport: str = "stdio") -> Iterator[tuple[str, str]]:
    for flow, points in ON[transport].items():
        commits = (4, 6, 8) if ON[transport][flow] == PASSES[flow] else (2, 4)  # a joined turn writes less
        for point in points:
            yield from ((flow, f"{point}:{count}") for count in commits) if point in COMMITS else [(flow, point)]
        yield from ((flow, point) for point in DEEPER.get(flow, ()))


def known_points() -> set[str]:
    """Return every crash point in the source."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    return {name for text in texts for name in re.findall(r'crash\.point\("([^"]+)"\)', text)}


def armed(module: str) -> set[str]:
    """Return the crash points that the tests of a module use."""
    tests = vars(importlib.import_module(module)).values()
    marks = [mark for test in tests if inspect.isfunction(test) for mark in getattr(test, "pytestmark", ())]
    tables = [repr(mark.args[1]) for mark in marks if mark.name == "parametrize" and "point" in mark.args[0]]
    return {name for table in tables for name in re.findall(r"'([a-z]+\.[a-z-]+)", table)}


def play(system: System, folder: Path, name: str, armed: str, deaths: int) -> None:
    flow = FLOWS[name]
    if flow.prepare is not None:
        system.clew.up()
        flow.prepare(system, folder)
    system.clew.run("up", env={"CLEW_CRASH": armed})  # it may die before it reports that it is ready
    flow.act(system, folder)
    flow.finish(system)
    check(system, folder, flow, flow.deaths + deaths)


RECORDED = {"stdio": ("steer", "gate", "recovery"), "socket": ("recovery",)}  # in every check; nearly every point


@pytest.fixture
def table(tmp_path: Path, transport: str) -> Iterator[System]:
    with open_system(tmp_path, transport=transport) as made:
        yield made


@pytest.mark.parametrize(
    ("transport", "flow"),
    [
        pytest.param(transport, flow, marks=[] if flow in RECORDED[transport] else [pytest.mark.heavy])
        for transport in ON
        for flow in FLOWS
    ],
)
def test_a_flow_passes_the_crash_points_in_the_table(table: System, tmp_path: Path, transport: str, flow: str) -> None:
    passed = tmp_path / "passed"
    play(table, tmp_path, flow, f"record:{passed}", deaths=0)
    maybe = MAYBE.get(flow, set()) - {*ON[transport][flow]}
    assert sorted(set(passed.read_text().split()) - {*MAKING} - maybe) == sorted(ON[transport][flow])


def test_every_crash_point_is_tested() -> None:
    tried = {point for path in TRIED.glob("test_*.py") for point in armed(f"tests.crash.{path.stem}")}
    assert tried == known_points()


def test_the_default_part_has_every_crash_point_and_flow() -> None:
    assert {flow for flow, _ in SOME} == {*FLOWS}
    tried = {point.partition(":")[0] for _, point in SOME} | {*GATE}
    assert {point for points in PASSES.values() for point in points} - tried == set()
    assert {*SOME} <= {*every_pair()} and {*SOME_KEPT} <= {*every_pair("socket")}


@pytest.mark.parametrize(
    ("transport", "flow", "point"), [(transport, *pair) for transport, pairs in ALWAYS.items() for pair in pairs]
)
def test_killed_there_nothing_is_lost_doubled_or_stuck(table: System, tmp_path: Path, flow: str, point: str) -> None:
    play(table, tmp_path, flow, point, deaths=1)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("transport", "flow", "point"),
    [(transport, *pair) for transport in ON for pair in every_pair(transport) if pair not in ALWAYS[transport]],
)
def test_killed_anywhere_nothing_is_lost_doubled_or_stuck(table: System, tmp_path: Path, flow: str, point: str) -> None:
    play(table, tmp_path, flow, point, deaths=1)
