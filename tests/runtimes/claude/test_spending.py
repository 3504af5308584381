"""What a turn of Claude has used: sub-agents and helpers count, and the cost is what Claude reports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from clew.model.events import Usage
from clew.model.runtime import Seat
from clew.model.threads import ForkPoint
from clew.model.turns import Usage as Tokens
from clew.runtimes.claude import spending
from clew.runtimes.claude.runtime import ClaudeRuntime
from clew.runtimes.claude.spending import Meter
from clew.runtimes.claude.wire import Frame
from tests.runtimes.claude.turns import only, play


def result(read: int, written: int, cost: object = 0.0, own: int = 0) -> Frame:
    models = {"big": {"inputTokens": read, "cacheReadInputTokens": 1}, "small": {"outputTokens": written}, "odd": 7}
    return Frame("result", usage={"input_tokens": own}, model_usage=models, total_cost_usd=cost)


def test_each_result_counts_what_came_after_the_one_before() -> None:
    meter = Meter(Tokens(10, 1, 0, 0, 10, 500_000))
    assert meter.spent(result(20, 5, 0.75)) == Tokens(11, 0, 5, 0, 16, 250_000)
    assert meter.spent(result(20, 5, 0.75)) == Tokens()
    assert meter.spent(result(21, 6, 1.75)) == Tokens(1, 0, 1, 0, 2, 1_000_000)


def test_totals_that_make_no_sense_leave_the_usage_of_the_main_loop() -> None:
    meter = Meter(Tokens(100, 0, 0, 0, 100))
    assert meter.spent(result(20, 5, own=7)) == Tokens(7, 0, 0, 0, 7), "they have begun anew"
    assert meter.spent(result(21, 5, own=1)) == Tokens(1, 0, 0, 0, 1)
    assert meter.spent(Frame("result", usage={"input_tokens": 3}, model_usage=[1])) == Tokens(3, 0, 0, 0, 3)


@pytest.mark.parametrize("cost", [None, True, "1", -1, float("nan"), float("inf"), 1e9])
def test_a_cost_that_is_none_is_not_reported(cost: Any) -> None:
    found = spending.totals({}, cost)
    assert found == Tokens()


AGENT = {"description": "look", "subagent_type": "general-purpose", "run_in_background": False}
CALL = f"!tool Agent {json.dumps({**AGENT, 'prompt': 'w ' * 500})}\n!text ok"


@pytest.mark.process
async def test_sub_agents_and_their_cost_are_counted_also_in_the_record(runtime: ClaudeRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    await play(session, "!text before", "before")
    (used,) = only(await play(session, CALL, "one"), Usage)
    record = await session.record("one")
    assert used.tokens.input_tokens > 1500, "the call is read by the main loop twice, and once by the sub-agent"
    assert used.tokens.reported_cost > 0
    assert record is not None and record.usage == used.tokens.costing(0), "the transcript has no cost"


@pytest.mark.heavy
@pytest.mark.process
async def test_a_resumed_session_counts_only_what_is_new(runtime: ClaudeRuntime, seat: Seat) -> None:
    session = await runtime.open(seat)
    (one,) = only(await play(session, CALL, "one"), Usage)
    kept = session.continuity()
    await session.close()
    again = await runtime.open(replace(seat, continuity=kept))
    (two,) = only(await play(again, "!text two", "two"), Usage)
    fork = await runtime.open(replace(seat, thread="fork", fork=ForkPoint(kept, "one")))
    (three,) = only(await play(fork, "!text two", "three"), Usage)
    assert two.tokens == three.tokens and two.tokens.total_tokens == 3
    assert 0 < two.tokens.reported_cost < one.tokens.reported_cost
