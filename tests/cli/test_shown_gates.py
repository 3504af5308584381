"""A line that was typed before a gate appeared does not answer it, at `chat` and at `run`."""

from __future__ import annotations

import os
from typing import Any

import pytest

from clew.cli.keys import GatePrompt
from clew.cli.output import Out
from clew.cli.shown_gates import MIN_REACTION, ShownGates, name_gate
from clew.client.requests import Request, Sent
from clew.model.messages import Fate
from tests.helpers.views import gate_view


def test_a_line_entered_just_as_a_gate_appears_is_held_back() -> None:
    """Whether it replaces another one or not: the line was typed before."""
    now = [100.0]
    seen, first, second = ShownGates(lambda: now[0]), gate_view("K7Q2"), gate_view("B2B2")
    assert not seen.is_too_new_for("y")
    for shown in ((first,), (first, second), (second,), (first,)):
        is_new = shown != (second,)
        seen.show(shown)
        assert seen.is_too_new_for("y") is seen.is_too_new_for("rather not") is is_new
        assert not seen.is_too_new_for(f"{shown[-1].code.lower()} y") and not seen.is_too_new_for("/stop")
        assert not seen.is_too_new_for("／停止") and seen.is_too_new_for("/compact") is is_new
        now[0] += 2 * MIN_REACTION
        assert not seen.is_too_new_for("y")


class Recorder:
    """A client and a screen that note what they are given."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.said: list[str] = []

    def ask(self, request: Request[Sent]) -> Sent:
        self.sent.append(str((request.body or {})["text"]))
        return Sent(Fate.TURN, "T", "U", words="sent")

    def say(self, words: str) -> None:
        self.said.append(words)


@pytest.fixture
def pipe() -> Any:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_run_drops_a_line_entered_just_as_a_gate_appears(pipe: tuple[int, int]) -> None:
    now, recorder = [100.0], Recorder()
    shown = ShownGates(lambda: now[0])
    prompt = GatePrompt(Out(as_json=True), recorder, recorder, "T", shown)  # type: ignore[arg-type]
    shown.show((gate_view("K7Q2"),))

    def enter(line: str) -> None:
        os.write(pipe[1], f"{line}\n".encode())
        assert prompt._read_line(pipe[0])

    enter("y")
    assert recorder.sent == [] and "K7Q2 appeared just as you pressed Enter" in recorder.said[-1]
    enter("k7q2 n")
    now[0] += 2 * MIN_REACTION
    enter("y")
    assert recorder.sent == ["k7q2 n", "y"]


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("n use c.txt instead", "K7Q2 n use c.txt instead"),
        ("No, use c.txt", "K7Q2 n use c.txt"),
        ("no tests please", "K7Q2 n no tests please"),  # without its `no` it would say the opposite
        ("不 用 c.txt", "K7Q2 n 不 用 c.txt"),
        ("不，用 c.txt", "K7Q2 n 用 c.txt"),
        ("拒绝 太危险", "K7Q2 n 太危险"),
        *((line, line) for line in ("n", "y do it", "note this", "nothing else", "不用 c.txt", "1 2")),
    ],
)
def test_a_no_with_words_is_a_no_with_this_reason_to_the_only_gate_shown(line: str, sent: str) -> None:
    gate = gate_view("K7Q2")
    assert name_gate(line, [gate]) == sent
    for others in ([], [gate, gate_view("B2B2")], [gate_view("K7Q2", "question")]):
        assert name_gate(line, others) == line
