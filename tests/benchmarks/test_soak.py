"""The verdict of a soak: each kind of error is planted in the counts, and must be found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from benchmarks.soak_count import Count, Counted, Received, Rows, Suspended, Weight, left_running, read, read_runs
from benchmarks.soak_figures import figures, memory
from benchmarks.soak_verdict import judge
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.gates import Answer, Asked, Decision, Gate, GateKind, GateState
from clew.model.messages import LOCAL_CLIENT, Conversation, Fate, PromptMessage
from clew.model.turns import Origin, Turn, TurnState
from clew.store.audit import ReceivedMessage
from clew.store.tables import inbox
from clew.store.tables.inbox import Arrival
from clew.support.home import Home
from clew.texts import chat_messages, gate_messages
from tests.helpers.rig import Rig

pytestmark = pytest.mark.process

ROOM = Conversation("webhook", "x/room-1")
NO_FATE = "lost (acknowledged, and without its one fate)"
NOT_THERE = "lost (sent, and not at the receiver)"
UNANSWERED = "lost (asked, and neither answered nor stopped)"
DOUBLED = "doubled (an answer once more, without a mark)"
RAN = "run without a yes, or again without a word"
FATES = "fates that do not add up"
FOREIGN = "answers to something else"
UNTAKEN = "lost (never taken)"


def heard(id: str, fate: Fate, turn: str | None, **more: object) -> ReceivedMessage:
    arrival = Arrival(fate, "thread", turn, str(more.pop("words", "")))
    return ReceivedMessage(id, more.pop("where", ROOM), arrival, 10)  # type: ignore[arg-type]


def turn(id: str, state: TurnState = TurnState.COMPLETED, **more: object) -> Turn:
    known = {"seq": 1, "asks": 1, "node": "node", "started_at": 1, "ended_at": 5, **more}
    seq, asks = known.pop("seq"), known.pop("asks")
    request = (PromptMessage(f"m{asks}", "ann", f"!text answer {asks}"),)
    return Turn(id, "thread", seq, state, Origin.MESSAGE, request, ROOM, 0, "scripted", **known)  # type: ignore[arg-type]


def final(of: str, state: DeliveryState = DeliveryState.SENT) -> Delivery:
    return Delivery(f"{of}:final", DeliveryKind.FINAL, "thread", of, ROOM, "", state, 0, part=1)


def gate(code: str, number: int, *, sent_at: int | None = 1, warning: str = "", yes: bool = True) -> Gate:
    asked = Asked(GateKind.COMMAND, f"bash -c 'echo {number} >> runs'")
    answer = Answer(Decision.ACCEPT if yes else Decision.DECLINE)
    return Gate(code, code, "thread", "a", code, asked, GateState.TAKEN, 0, warning, answer, sent_at=sent_at)


def told(text: str, kind: str = "final", note: str = "") -> list[Received]:
    return [Received(kind, text, note=note)]


def clean() -> Counted:
    """Counts without errors: two messages and a steer; the first ran a command after a yes, the second was
    continued."""
    count = Count(
        taken={"m1", "m2", "m3"},
        told={"a:final": told("answer 1"), "c:final": told("answer 2", note=chat_messages.CONTINUED)},
        yes={"K7Q2"},
    )
    rows = Rows(
        heard=[heard("m1", Fate.TURN, "a"), heard("m2", Fate.TURN, "b"), heard("m3", Fate.STEER, "b")],
        turns=[turn("a"), turn("b", TurnState.INTERRUPTED, seq=2, asks=2), turn("c", seq=3, asks=2, continues="b")],
        deliveries=[final("a"), final("b", DeliveryState.SUPERSEDED), final("c")],
        gates=[gate("K7Q2", 1)],
        suspended=[],
        unfinished=[],
        unowed=[],
    )
    return Counted(count, rows, {"turn": 2, "steer": 1, "refused": 0}, Counter({1: 1}), True, [])


def with_rows(**changes: object) -> Counted:
    before = clean()
    return replace(before, rows=msgspec.structs.replace(before.rows, **changes))


def with_count(**changes: object) -> Counted:
    before = clean()
    return replace(before, count=replace(before.count, **changes))  # type: ignore[arg-type]


def troubles(counted: Counted) -> dict[str, list[str]]:
    return {name: found for name, found in judge(counted).items() if found}


def test_a_clean_soak_has_no_findings() -> None:
    assert troubles(clean()) == {}


def test_a_message_that_was_acknowledged_and_has_no_row_is_lost() -> None:
    assert troubles(with_count(taken={"m1", "m2", "m3", "m4"})) == {NO_FATE: ["m4 has 0 fates"]}


def test_a_sent_delivery_missing_at_the_receiver_is_lost() -> None:
    assert troubles(with_count(told={"a:final": told("answer 1")})) == {NOT_THERE: ["c:final"]}


def test_a_message_or_steer_without_an_answer_is_lost() -> None:
    found = troubles(with_rows(deliveries=[final("a"), final("b", DeliveryState.SUPERSEDED)]))
    assert found == {UNANSWERED: ["m2 (turn of b)", "m3 (steer of b)"]}


def test_only_a_local_answer_may_have_no_receiver() -> None:
    owed = [final("a", DeliveryState.NO_TARGET), final("c")]
    assert troubles(with_rows(deliveries=owed)) == {UNANSWERED: ["m1 (turn of a)"]}
    at_the_desk = [heard("m1", Fate.TURN, "a", where=LOCAL_CLIENT), *clean().rows.heard[1:]]
    assert troubles(with_rows(deliveries=owed, heard=at_the_desk)) == {}


def test_an_answer_to_another_conversation_is_reported() -> None:
    swapped = {"a:final": told("answer 2"), "c:final": told("answer 9")}
    words_of = "{}:final is about [{}], and nobody asked that there"
    assert troubles(with_count(told=swapped)) == {FOREIGN: [words_of.format("a", 2), words_of.format("c", 9)]}
    steered = {**clean().count.told, "c:final": told("answer 3")}
    assert troubles(with_count(told=steered)) == {}, "what was said into a turn may be answered by it"


def test_an_answer_without_the_expected_text_is_reported() -> None:
    empty = {**clean().count.told, "a:final": told("well")}
    assert troubles(with_count(told=empty)) == {FOREIGN: ["a:final says nothing about [1]"]}
    shell = msgspec.structs.replace(turn("a"), request=(PromptMessage("m1", "ann", "!shell make\n!text answer 1"),))
    asked = with_rows(turns=[shell, *clean().rows.turns[1:]])
    assert troubles(replace(asked, count=replace(asked.count, told=empty))) == {}


def test_a_failed_turn_is_reported() -> None:
    failed = [turn("a", TurnState.FAILED), *clean().rows.turns[1:]]
    assert troubles(with_rows(turns=failed)) == {"failed": ["a"]}


def test_an_unaccepted_message_and_an_empty_soak_are_reported() -> None:
    assert troubles(with_count(untaken={"m9"})) == {UNTAKEN: ["m9 was never taken"]}
    silent = Counted(Count(), Rows([], [], [], [], [], [], []), {}, Counter(), True, [])
    assert troubles(silent) == {UNTAKEN: ["nobody said anything"]}


def test_a_stopped_message_is_not_lost() -> None:
    stopped = [turn("a"), turn("b", TurnState.INTERRUPTED, seq=2, stop_asked=True)]
    assert troubles(with_rows(turns=stopped)) == {}


def test_a_stop_at_the_resume_question_is_for_the_newest_turn_only() -> None:
    cut = [turn("a", TurnState.INTERRUPTED), turn("b", TurnState.INTERRUPTED, seq=2)]
    stop = heard("m4", Fate.ANSWER, None, words=chat_messages.STOPPED)
    counted = with_rows(turns=cut, deliveries=[], heard=[*clean().rows.heard, stop])
    assert troubles(replace(counted, fates={"turn": 2, "steer": 1, "answer": 1})) == {UNANSWERED: ["m1 (turn of a)"]}


def test_one_answer_with_two_keys_is_a_duplicate_unless_marked() -> None:
    once_more = {**clean().count.told, "d:final": told("answer 12\nanswer 1")}
    assert troubles(with_count(told=once_more)) == {DOUBLED: ["answer 1 came 2 times without a mark"]}
    marked = {**clean().count.told, "d:final": told("answer 1", note=chat_messages.POSSIBLE_REPEAT)}
    assert troubles(with_count(told=marked)) == {}


def test_two_bodies_with_one_key_are_a_duplicate() -> None:
    count = clean().count
    for text in ("hello", "hello", "hello again"):
        count.add_received("n:notice", msgspec.json.encode({"id": "n:notice", "kind": "notice", "text": text}))
    assert troubles(replace(clean(), count=count)) == {DOUBLED: ["n:notice came with 2 different bodies"]}
    assert count.seen["repeats with the same key"] == 2


def test_a_yes_to_one_command_does_not_hide_a_second_run_of_another() -> None:
    unused = with_rows(gates=[gate("K7Q2", 1), gate("B3C4", 2)])
    counted = replace(unused, count=replace(unused.count, yes={"K7Q2", "B3C4"}), runs=Counter({1: 2}))
    assert troubles(counted) == {RAN: ["command 1 ran 2 times, after 1 yes"]}


@pytest.mark.parametrize(
    "asked", [gate("K7Q2", 1, yes=False), gate("K7Q2", 1, sent_at=None), gate("B3C4", 1), gate("K7Q2", 2)]
)
def test_a_run_needs_a_yes_that_was_given_and_sent(asked: Gate) -> None:
    assert troubles(with_rows(gates=[asked])) == {RAN: ["command 1 ran 1 times, after 0 yes"]}


@pytest.mark.parametrize("where", ["row", "question", "nowhere"])
def test_a_second_run_was_announced(where: str) -> None:
    again = gate("B3C4", 1, warning=gate_messages.MAY_HAVE_RUN if where == "row" else "")
    question = {"B3C4:ask": told(f"(B3C4) echo 1\n{gate_messages.MAY_HAVE_RUN if where == 'question' else ''}", "ask")}
    before = with_rows(gates=[gate("K7Q2", 1), again])
    count = replace(before.count, yes={"K7Q2", "B3C4"}, told={**before.count.told, **question})
    found = troubles(replace(before, count=count, runs=Counter({1: 2})))
    silent = {RAN: ["command 1 ran 2 times, and 0 of its questions told of a run before"]}
    assert found == (silent if where == "nowhere" else {})


STUCK: Mapping[str, dict[str, object]] = {
    "gate K7Q2 is open": {"gates": [msgspec.structs.replace(gate("K7Q2", 1), state=GateState.OPEN)]},
    "thread t is suspended (cut)": {"suspended": [Suspended("t", "cut", True)]},
    "thread t is suspended (cut), and nobody is asked": {"suspended": [Suspended("t", "cut", False)]},
    "turn d is queued": {"unfinished": ["turn d is queued"]},
}


@pytest.mark.parametrize("name", STUCK)
def test_a_row_that_is_not_finished_is_stuck(name: str) -> None:
    assert troubles(with_rows(**STUCK[name])) == {"stuck": [name]}


def test_a_soak_that_does_not_settle_is_stuck() -> None:
    assert troubles(replace(clean(), rested=False)) == {"stuck": ["it did not come to rest"]}


def test_an_ended_turn_without_a_delivery_is_reported() -> None:
    assert troubles(with_rows(unowed=["a"])) == {"ended and not owed": ["a"]}


def test_counts_that_differ_from_the_rows_are_reported() -> None:
    counted = replace(clean(), fates={"turn": 3, "steer": 1})
    assert troubles(counted) == {FATES: ["turn: 3 by `clew status`, 2 rows"]}


def test_a_leftover_process_is_reported(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert left_running(home) == []
    waits = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "CLEW_HOME": str(home.root)}
    ) as left:
        assert left.stdout is not None
        left.stdout.readline()
        found = left_running(home)
        left.communicate(b"\n")
    assert [line.split()[0] for line in found] == [str(left.pid)]
    assert troubles(replace(clean(), left=found)) == {"left running": found}


async def test_the_rows_of_a_real_store_are_read_as_they_are(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text answer 1", id="m1")
        await rig.delivered(f"{accepted.turn}:final")
        rows, fates = await rig.store.read(read), await rig.store.read(inbox.fates)
    count = Count(taken={"m1"}, told={f"{accepted.turn}:final": told("answer 1")})
    counted = Counted(count, rows, fates, read_runs(tmp_path / "runs"), True, [])
    assert troubles(counted) == {}
    assert troubles(replace(counted, count=Count(taken={"m1", "m2"}))).keys() == {NO_FATE, NOT_THERE}


def test_memory_is_reported_of_a_daemon_that_lived_long_enough() -> None:
    short = {number: [Weight(number * 40 + at, 50 + at, 20) for at in range(0, 40, 5)] for number in range(10)}
    assert memory(short) == "too short to tell (5 s of one warm daemon, not 60)"
    long = {**short, 10: [Weight(400 + at, 50 + at / 60, 20) for at in range(0, 125, 5)]}
    assert memory(long) == "50 to 52 MB, +1.00 MB a minute over 90 s"
    assert memory({}).startswith("too short to tell")


def test_answers_are_distinguished_from_notices_and_gates() -> None:
    more = {
        "n:notice": told("", "notice"),
        "k:ask": told("", "ask"),
        "d:final": told("answer 1", note=chat_messages.RECOVERED),
    }
    lines = list(figures(with_count(told={**clean().count.told, **more})))
    assert "at the receiver: 3 answers, 1 notices, 1 asks" in lines
    assert "answered once more: 1 with a mark, 0 without" in lines
