"""The verdict of a soak: a pure function of its counts. Everything that it returns is an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from benchmarks.soak_count import Counted, Received, Rows
from clew.model.delivery import DeliveryKind, DeliveryState
from clew.model.gates import Gate, GateState
from clew.model.messages import LOCAL_CLIENT, Fate
from clew.model.turns import Turn, TurnState
from clew.store.audit import ReceivedMessage
from clew.texts import chat_messages, gate_messages

ANSWER = re.compile(r"\banswer (\d+)\b")
MESSAGE = re.compile(r"m(\d+)")
COMMAND = re.compile(r"\becho (\d+) >>")
ARRIVED = frozenset({DeliveryState.SENT})
COMPLETED = TurnState.COMPLETED
READ = ARRIVED | {DeliveryState.NO_TARGET}  # a local answer is read in its thread


def judge(counted: Counted) -> dict[str, list[str]]:
    """Return the errors by name, each with where it was found."""
    return {name: list(check(counted)) for name, check in CHECKS.items()}


def _without_its_fate(counted: Counted) -> Iterator[str]:
    fates = Counter(heard.id for heard in counted.rows.heard)
    yield from (f"{name} has {fates[name]} fates" for name in sorted(counted.count.taken) if fates[name] != 1)


def _not_there(counted: Counted) -> Iterator[str]:
    for delivery in counted.rows.deliveries:
        if delivery.state is DeliveryState.SENT and delivery.id not in counted.count.told:
            yield delivery.id


def _never_answered(counted: Counted) -> Iterator[str]:
    """Find messages without an answer of their turn or its continuation, unless somebody stopped it."""
    rows = counted.rows
    continued = {turn.continues: turn.id for turn in rows.turns if turn.continues is not None}
    stopped = _stopped(rows)
    settled, at_the_desk = stopped | _answered(rows, ARRIVED), stopped | _answered(rows, READ)
    for heard in rows.heard:
        if heard.arrival.fate not in (Fate.TURN, Fate.STEER):
            continue
        turn, over = heard.arrival.turn, at_the_desk if heard.where == LOCAL_CLIENT else settled
        while turn is not None and turn not in over:
            turn = continued.get(turn)
        if turn is None:
            yield f"{heard.id} ({heard.arrival.fate} of {heard.arrival.turn})"


def _answered(rows: Rows, states: frozenset[DeliveryState]) -> set[str]:
    finals = (each for each in rows.deliveries if each.kind is DeliveryKind.FINAL and each.state in states)
    return {each.turn for each in finals if each.turn is not None}


def _stopped(rows: Rows) -> set[str]:
    """Return the turns that somebody stopped: running, queued, or suspended."""
    stops = [
        each for each in rows.heard if each.arrival.fate is Fate.ANSWER and each.arrival.words == chat_messages.STOPPED
    ]
    cut = (_newest_before(stop, rows.turns) for stop in stops)
    return {turn.id for turn in rows.turns if turn.stop_asked} | {turn.id for turn in cut if turn is not None}


def _newest_before(stop: ReceivedMessage, turns: list[Turn]) -> Turn | None:
    ended = [turn for turn in turns if turn.thread == stop.arrival.thread and turn.node is not None]
    before = [turn for turn in ended if turn.ended_at is not None and turn.ended_at <= stop.at]
    return max(before, key=lambda turn: turn.seq, default=None)


def _doubled(counted: Counted) -> Iterator[str]:
    for key, bodies in counted.count.told.items():
        if len(bodies) > 1:
            yield f"{key} came with {len(bodies)} different bodies"
    for number, times in sorted(answers(counted, marked=False).items()):
        if times > 1:
            yield f"answer {number} came {times} times without a mark"


def _of_another(counted: Counted) -> Iterator[str]:
    """Find answers without the number of a message of their turn, or with another number."""
    turns = {turn.id: turn for turn in counted.rows.turns}
    steered = _steered(counted.rows)
    for delivery in counted.rows.deliveries:
        turn = turns.get(delivery.turn or "")
        bodies = counted.count.told.get(delivery.id, [])
        if turn is None or not bodies or delivery.kind is not DeliveryKind.FINAL or turn.state is not COMPLETED:
            continue
        said, asked = _numbers(bodies[0].text), _asked(turn, turns)
        may = asked.union(*(steered.get(name, set()) for name in _line(turn, turns)))
        if said - may:
            yield f"{delivery.id} is about {sorted(said - may)}, and nobody asked that there"
        elif asked == may and asked and not said and not _can_be_declined(turn):
            yield f"{delivery.id} says nothing about {sorted(asked)}"


def _numbers(text: str) -> set[int]:
    return {int(each) for each in ANSWER.findall(text)}


def _asked(turn: Turn, turns: dict[str, Turn]) -> set[int]:
    return {number for name in _line(turn, turns) for said in turns[name].request for number in _numbers(said.text)}


def _line(turn: Turn, turns: dict[str, Turn]) -> Iterator[str]:
    """Return a turn and those that it continues."""
    line: Turn | None = turn
    while line is not None:
        yield line.id
        line = turns.get(line.continues or "")


def _can_be_declined(turn: Turn) -> bool:
    return any("!shell" in said.text for said in turn.request)


def _steered(rows: Rows) -> dict[str, set[int]]:
    """Return the numbers of the steers of each turn; a message id contains its number."""
    found: dict[str, set[int]] = {}
    for heard in rows.heard:
        if heard.arrival.fate is Fate.STEER and (name := MESSAGE.fullmatch(heard.id)):
            found.setdefault(heard.arrival.turn or "", set()).add(int(name[1]))
    return found


def _failed(counted: Counted) -> Iterator[str]:
    """Find failed turns: only crashes happen here, and no crash may fail a turn."""
    yield from (turn.id for turn in counted.rows.turns if turn.state is TurnState.FAILED)


def _nothing_happened(counted: Counted) -> Iterator[str]:
    if not counted.rows.heard:
        yield "nobody said anything"
    yield from (f"{name} was never taken" for name in sorted(counted.count.untaken))


def finals(counted: Counted) -> list[Received]:
    """Return the answers, each key once, as a receiver sees them."""
    return [bodies[0] for bodies in counted.count.told.values() if bodies[0].kind == DeliveryKind.FINAL]


def answers(counted: Counted, *, marked: bool) -> Counter[int]:
    """Count the answers that contain each number, among the marked or the unmarked ones."""
    told = (final for final in finals(counted) if final.is_marked is marked)
    return Counter(number for final in told for number in _numbers(final.text))


def _ran_unasked(counted: Counted) -> Iterator[str]:
    """Find runs without a yes. A second yes allows a second run only if its gate said that the command may have run."""
    asked = _gates_by_number(counted.rows.gates)
    for number, times in sorted(counted.runs.items()):
        gates = asked.get(number, [])
        yes = min(_said_yes(counted, gates), len(_went_as_yes(gates)))
        warned = sum(_is_warned(counted, gate) for gate in _went_as_yes(gates))
        if times > yes:
            yield f"command {number} ran {times} times, after {yes} yes"
        elif times > 1 + warned:
            yield f"command {number} ran {times} times, and {warned} of its questions told of a run before"


def _gates_by_number(gates: list[Gate]) -> dict[int, list[Gate]]:
    found: dict[int, list[Gate]] = {}
    for gate in gates:
        if command := COMMAND.search(gate.asked.title):
            found.setdefault(int(command[1]), []).append(gate)
    return found


def _said_yes(counted: Counted, gates: list[Gate]) -> int:
    """Whether a person accepted it, whatever clew stored."""
    return sum(gate.code in counted.count.yes for gate in gates)


def _went_as_yes(gates: list[Gate]) -> list[Gate]:
    """Whether clew stored that a yes was sent to the agent."""
    return [gate for gate in gates if gate.answer is not None and gate.answer.is_yes and gate.sent_at is not None]


def _is_warned(counted: Counted, gate: Gate) -> bool:
    """Whether a warning is in its row, or in a card that was read before the row changed."""
    asks = (told.text for bodies in counted.count.told.values() for told in bodies if told.kind == DeliveryKind.ASK)
    shown = any(f"({gate.code})" in text and gate_messages.MAY_HAVE_RUN in text for text in asks)
    return shown or gate.warning == gate_messages.MAY_HAVE_RUN


def _stuck(counted: Counted) -> Iterator[str]:
    if not counted.rested:
        yield "it did not come to rest"
    for gate in counted.rows.gates:
        if gate.state in (GateState.OPEN, GateState.ANSWERED):
            yield f"gate {gate.code} is {gate.state}"
    for each in counted.rows.suspended:
        yield f"thread {each.thread} is suspended ({each.by}){'' if each.asked else ', and nobody is asked'}"
    yield from counted.rows.unfinished


def _not_owed(counted: Counted) -> Iterator[str]:
    yield from counted.rows.unowed


def _do_not_add_up(counted: Counted) -> Iterator[str]:
    rows = Counter(str(heard.arrival.fate) for heard in counted.rows.heard)
    told = Counter(counted.fates)
    for fate in sorted(rows.keys() | told.keys()):
        if rows[fate] != told[fate]:
            yield f"{fate}: {told[fate]} by `clew status`, {rows[fate]} rows"


def _left(counted: Counted) -> Iterator[str]:
    yield from counted.left


CHECKS: dict[str, Callable[[Counted], Iterator[str]]] = {
    "lost (acknowledged, and without its one fate)": _without_its_fate,
    "lost (sent, and not at the receiver)": _not_there,
    "lost (asked, and neither answered nor stopped)": _never_answered,
    "lost (never taken)": _nothing_happened,
    "answers to something else": _of_another,
    "failed": _failed,
    "doubled (an answer once more, without a mark)": _doubled,
    "run without a yes, or again without a word": _ran_unasked,
    "stuck": _stuck,
    "ended and not owed": _not_owed,
    "fates that do not add up": _do_not_add_up,
    "left running": _left,
}
