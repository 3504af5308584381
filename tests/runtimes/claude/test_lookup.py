"""What became of a turn, by the rows that Claude wrote."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clew.model.runtime import RecordState, TurnRecord
from clew.model.turns import Problem
from clew.runtimes.claude import wire
from clew.runtimes.claude.record import lookup, transcript
from clew.runtimes.claude.record.transcript import Said
from clew.runtimes.claude.wire import Row

RESET = 4_102_444_800
LIMITS = {"status": "rejected", "resetsAt": RESET, "rateLimitType": "five_hour"}
PROMPT = {"type": "user", "uuid": "turn", "message": {"role": "user", "content": "hello"}}


def record(*given: dict[str, Any]) -> TurnRecord:
    rows = [msgspec.json.decode(msgspec.json.encode(each), type=Row) for each in (PROMPT, *given)]
    (turn,) = transcript.turns([Said(row, wire.message(row.message)) for row in rows])
    return lookup.as_record(turn)


def says(*blocks: dict[str, Any], reason: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": "m", "content": list(blocks), "stop_reason": reason}
    return {"type": "assistant", "uuid": "said", "message": message, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def refused(**more: Any) -> Problem:
    row = says(
        text("You've hit your limit"), reason="stop_sequence", isApiErrorMessage=True, error="rate_limit", **more
    )
    problem = record({**row, "apiErrorStatus": 429}).problem
    assert problem is not None
    return problem


@pytest.mark.parametrize(
    "more",
    [
        {"apiError": "usage_limit_reached", "apiErrorParams": {"rate_limit_info": LIMITS}},
        {"apiError": "usage_limit_reached", "quotaLimits": LIMITS},
        {"quotaLimits": LIMITS},
    ],
)
def test_a_used_up_window_has_its_reset(more: dict[str, Any]) -> None:
    assert (refused(**more).code, refused(**more).until) == ("usage_limit", RESET * 1000)


def test_a_used_up_window_without_a_known_reset_is_one_all_the_same() -> None:
    problem = refused(apiError="usage_limit_reached", apiErrorParams=7, quotaLimits=[])
    assert (problem.code, problem.until) == ("usage_limit", None)
    assert refused().code == "rate_limit"


def test_a_turn_that_answers_nothing_has_failed() -> None:
    nothing = record(says(text("")))
    assert (nothing.state, nothing.problem and nothing.problem.code) == (RecordState.FAILED, "no_answer")
    assert record(says({"type": "thinking", "thinking": "hm"})).state is RecordState.FAILED
    assert record(says(text(""), text("well"))).state is RecordState.COMPLETED


def test_a_turn_that_only_uses_a_tool_has_answered() -> None:
    call = says({"type": "tool_use", "id": "c", "name": "Bash", "input": {}}, reason="tool_use")
    result = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    done = {"type": "user", "uuid": "done", "message": {"role": "user", "content": [result]}}
    assert record(call, done, says(text(""))).state is RecordState.COMPLETED
