"""The translation alone: what a newer, older or odd Codex might send."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clew.model.events import (
    MISSED,
    Activity,
    ActivityKind,
    Event,
    Limits,
    LimitStatus,
    LimitWindow,
    Notice,
    NoticeKind,
    Outcome,
    Phase,
    TextDelta,
    TextDone,
    TurnEnded,
    Usage,
)
from clew.model.runtime import RecordState
from clew.model.turns import TurnState
from clew.runtimes.codex import record, wire
from clew.runtimes.codex.approvals import answers, requests
from clew.runtimes.codex.server import limits
from clew.runtimes.codex.translate import Translation
from tests.runtimes.codex.raw import ended, only


def raw(**params: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(params).encode())


class Turn:
    """A translation that takes notifications by name."""

    def __init__(self, joined: str | None = None) -> None:
        self.translation = Translation(joined)
        self.events: list[Event] = []
        if joined is None:
            self.say("turn/started", turn={"id": "T"})

    def say(self, method: str, turn_id: str = "T", **params: Any) -> list[Event]:
        extra = {} if method.startswith("turn/st") or method == "turn/completed" else {"turnId": turn_id}
        events = self.translation.feed(method, raw(threadId="X", **extra, **params))
        self.events += events
        return events

    def item(self, what: str, type: str, id: str = "i", /, **fields: Any) -> list[Event]:
        return self.say(f"item/{what}", item={"type": type, "id": id, **fields})

    def end(self, status: str = "completed", **fields: Any) -> list[Event]:
        return self.say("turn/completed", turn={"id": "T", "status": status, **fields})


@pytest.fixture
def turn() -> Turn:
    return Turn()


def test_a_joined_turn_sends_missed_events_once_and_in_order() -> None:
    turn = Turn(joined="T")
    said = {"type": "agentMessage", "phase": "final_answer"}
    late = {"id": "c", **said, "text": "the answer"}
    turn.item("completed", "agentMessage", "c", **{**said, "text": "the answer"})  # before the record was read
    items = [{"type": "userMessage", "id": "u", "clientId": "m"}, {"id": "a", **said, "text": "first"}, late]
    caught = turn.translation.catch_up("X", wire.Turn("T", items=tuple(raw(**item) for item in items)))
    assert caught == [TextDone("a", "first")]
    assert turn.item("completed", "agentMessage", "a", **{**said, "text": "first"}) == [], "its notice came late"
    assert ended(turn.end()).text == "the answer" and ended(turn.events).messages == frozenset({"m"})


def test_text_with_a_missed_start_has_no_offset_until_complete() -> None:
    turn = Turn(joined="T")
    delta = "item/agentMessage/delta"
    assert turn.say(delta, itemId="a", delta="…end") == [TextDelta("a", MISSED, "…end")]
    assert turn.item("completed", "agentMessage", "a", text="begin…end") == [TextDone("a", "begin…end")]
    turn.item("started", "agentMessage", "b")
    assert turn.say(delta, itemId="b", delta="whole") == [TextDelta("b", 0, "whole")]


def test_an_unknown_kind_of_item_is_kept_by_its_name(turn: Turn) -> None:
    (event,) = turn.item("completed", "timeTravel", status="completed", when="1985")
    assert event == Activity("i", ActivityKind.OTHER, Phase.DONE, "timeTravel", outcome=Outcome.OK)


@pytest.mark.parametrize("flag", ["-c", "-lc"])
def test_a_command_is_shown_without_the_shell_around_it(turn: Turn, flag: str) -> None:
    (event,) = turn.item("started", "commandExecution", command=f"/bin/bash {flag} 'ls | wc'")
    assert isinstance(event, Activity) and event.title == "ls | wc"


def test_the_paths_of_changes_are_shown_as_the_workspace_has_them() -> None:
    here = Turn()
    here.translation = Translation("T", workspace="/w")
    new, moved = {"path": "/w/a.txt", "diff": "x\n"}, {"path": "/w/b", "diff": "", "kind": {"type": "update"}}
    changes = [{**new, "kind": {"type": "add"}}, {**moved, "kind": {"type": "update", "move_path": "/else/b"}}]
    (event,) = here.item("completed", "fileChange", changes=changes)
    assert isinstance(event, Activity)
    assert (event.title, event.detail) == ("a.txt, b", "--- /dev/null\n+++ a.txt\n+x\n--- b\n+++ /else/b\n\n")


def test_an_item_of_unknown_shape_still_has_its_type_and_id(turn: Turn) -> None:
    (event,) = turn.item("completed", "commandExecution", command=["a", "list"], exitCode="three")
    assert isinstance(event, Activity)
    assert (event.item, event.kind) == ("i", ActivityKind.COMMAND)


@pytest.mark.parametrize("method", ["item/started", "item/completed", "turn/completed", "error", "warning"])
def test_notifications_without_their_fields_do_no_harm(turn: Turn, method: str) -> None:
    turn.translation.feed(method, raw(threadId="X"))
    turn.translation.feed(method, msgspec.Raw(b"[]"))
    assert turn.end()


def test_unknown_notifications_are_dropped(turn: Turn) -> None:
    assert turn.say("turn/daydreamed", about="sheep") == []


def test_notifications_of_other_turns_are_dropped(turn: Turn) -> None:
    assert turn.say("item/agentMessage/delta", "OTHER", itemId="i", delta="a") == []
    assert turn.say("turn/completed", turn={"id": "OTHER", "status": "completed"}) == []
    assert not turn.translation.is_ended


def test_events_after_the_end_are_dropped(turn: Turn) -> None:
    turn.end()
    end = ended(turn.events)
    assert turn.item("completed", "commandExecution", command="late") == []
    assert turn.events[-1] == end


@pytest.mark.parametrize(
    ("kind", "state"), [("reasoning", TurnState.FAILED), ("commandExecution", TurnState.COMPLETED)]
)
def test_a_turn_that_says_and_does_nothing_has_failed(turn: Turn, kind: str, state: TurnState) -> None:
    turn.item("started", kind)
    turn.end()
    assert ended(turn.events).state is state


def test_commentary_is_not_the_answer_unless_there_is_no_other(turn: Turn) -> None:
    turn.item("completed", "agentMessage", "a", text="the answer", phase="final_answer")
    turn.item("completed", "agentMessage", "b", text="by the way", phase="commentary")
    turn.end()
    assert ended(turn.events).text == "the answer"
    only_commentary = Turn()
    only_commentary.item("completed", "agentMessage", "a", text="one", phase="commentary")
    only_commentary.item("completed", "agentMessage", "b", text="two", phase="commentary")
    only_commentary.end()
    assert ended(only_commentary.events).text == "two"


def test_an_end_that_comes_alone_brings_its_text(turn: Turn) -> None:
    turn.end(items=[{"type": "agentMessage", "id": "a", "text": "missed"}])
    assert ended(turn.events).text == "missed"


def test_a_message_joined_late_is_completed_at_its_end(turn: Turn) -> None:
    turn.say("item/agentMessage/delta", itemId="m", delta="ond half")
    turn.item("completed", "agentMessage", "m", text="second half")
    assert turn.events[1:] == [TextDelta("m", 0, "ond half"), TextDone("m", "second half")]


def test_only_an_error_that_is_retried_cuts_the_text(turn: Turn) -> None:
    turn.say("item/agentMessage/delta", itemId="m", delta="abc")
    turn.say("error", error={"message": "Reconnecting... 1/5", "additionalDetails": "reset"}, willRetry=True)
    assert turn.say("error", error={"message": "final"}, willRetry=False) == []
    assert turn.events[2:] == [
        TextDone("m", "abc", cut=True),
        Notice(NoticeKind.RETRYING, "Reconnecting... 1/5 (reset)"),
    ]


def test_a_failed_turn_without_a_reason_still_has_words(turn: Turn) -> None:
    turn.end("failed")
    problem = ended(turn.events).problem
    assert problem is not None and problem.message


def test_an_unknown_state_of_a_turn_is_a_failure(turn: Turn) -> None:
    turn.end("abducted")
    assert ended(turn.events).state is TurnState.FAILED


def test_usage_is_added_up_and_a_repetition_counts_once(turn: Turn) -> None:
    for total, last in ((110, 10), (110, 10), (130, 20)):
        counts = {"total": {"totalTokens": total}, "last": {"totalTokens": last, "outputTokens": last}}
        turn.say("thread/tokenUsage/updated", tokenUsage=counts)
    assert [usage.tokens.total_tokens for usage in only(turn.events, Usage)] == [10, 30]


def test_tools_show_their_name_and_output(turn: Turn) -> None:
    turn.item("started", "mcpToolCall", server="docs", tool="search", status="inProgress")
    (event,) = turn.item(
        "completed",
        "mcpToolCall",
        server="docs",
        tool="search",
        status="failed",
        error={"message": "no such page"},
    )
    assert isinstance(event, Activity)
    assert (event.title, event.detail, event.outcome) == ("docs.search", "no such page", Outcome.FAILED)
    result = {"content": [{"type": "text", "text": "found"}]}
    (event,) = turn.item("completed", "mcpToolCall", server="docs", tool="search", status="completed", result=result)
    assert isinstance(event, Activity) and event.detail == "found"
    content = [{"type": "inputText", "text": "mine"}]
    (event,) = turn.item("completed", "dynamicToolCall", tool="own", status="completed", contentItems=content)
    assert isinstance(event, Activity) and (event.title, event.detail) == ("own", "mine")


def test_a_search_shows_its_query_and_a_picture_its_path(turn: Turn) -> None:
    (search,) = turn.item("completed", "webSearch", query="ariadne")
    (picture,) = turn.item("completed", "imageView", path="/a.png")
    assert isinstance(search, Activity) and (search.kind, search.title) == (ActivityKind.SEARCH, "ariadne")
    assert isinstance(picture, Activity) and picture.title == "imageView /a.png"


def test_a_picture_that_was_made_says_where_it_is(turn: Turn) -> None:
    (begun,) = turn.item("started", "imageGeneration", status="inProgress", result="")
    (made,) = turn.item("completed", "imageGeneration", status="completed", result="iVBOR", savedPath="/ig/1.png")
    assert isinstance(begun, Activity) and begun.image is None
    assert isinstance(made, Activity) and (made.image, made.title, made.detail) == ("/ig/1.png", "imageGeneration", "")


def test_a_running_commands_update_carries_only_the_tail(turn: Turn) -> None:
    turn.item("started", "commandExecution", command="make", status="inProgress")
    turn.say("item/commandExecution/outputDelta", itemId="i", delta="x" * 10_000)
    (event,) = turn.say("item/commandExecution/outputDelta", itemId="i", delta="end")
    assert isinstance(event, Activity)
    assert event.detail.endswith("xend") and len(event.detail) == 4000


def test_warnings_and_another_model_are_noticed(turn: Turn) -> None:
    turn.say("warning", message="careful")
    turn.say("model/rerouted", fromModel="a", toModel="b", reason="x")
    assert [notice.text for notice in only(turn.events, Notice)] == ["careful", "Codex went from the model a to b."]


def test_a_record_in_progress_is_alive_and_an_unknown_one_is_cut() -> None:
    assert record.as_record(wire.Turn(id="T")).state is RecordState.ALIVE
    assert record.as_record(wire.Turn(id="T", status="abducted")).state is RecordState.CUT


@pytest.mark.parametrize(
    ("method", "params", "result", "about"),
    [
        ("item/commandExecution/requestApproval", {"command": "rm x"}, {"decision": "decline"}, "rm x"),
        ("item/fileChange/requestApproval", {"itemId": "i"}, {"decision": "decline"}, ""),
        ("item/permissions/requestApproval", {"reason": "net"}, {"permissions": {}, "scope": "turn"}, "net"),
        ("mcpServer/elicitation/request", {"message": "Name?"}, {"action": "decline"}, "Name?"),
        (
            "item/tool/requestUserInput",
            {"questions": [{"id": "q", "question": "Which?"}]},
            {"answers": {"q": {"answers": []}}},
            "Which?",
        ),
        (
            "execCommandApproval",
            {"command": ["rm", "x"]},
            {"decision": {"denied": {"rejection": "the person declined"}}},
            "rm x",
        ),
        (
            "item/tool/call",
            {"tool": "look"},
            {"success": False, "contentItems": [{"type": "inputText", "text": "unknown tool"}]},
            "look",
        ),
    ],
)
def test_each_request_is_declined_in_its_own_shape(
    method: str, params: dict[str, Any], result: object, about: str
) -> None:
    request = wire.read(raw(**params), wire.Request)
    assert request is not None
    assert (answers.to_response(method, request, answers.NO), requests.summary(request)) == (result, about)


def test_an_unknown_request_is_not_answered_by_guessing() -> None:
    assert not answers.is_known("item/teleport/request")


def say_limits(turn: Turn, **bucket: Any) -> list[Event]:
    events = turn.translation.feed("account/rateLimits/updated", raw(rateLimits=bucket))
    turn.events += events
    return events


def test_limits_of_each_bucket_are_told_apart_and_in_milliseconds(turn: Turn) -> None:
    window = {"usedPercent": 92, "windowDurationMins": 300, "resetsAt": 1_800_000_000}
    five = LimitWindow("primary", LimitStatus.WARNING, 0.92, 1_800_000_000_000, 300)
    assert say_limits(turn, limitId="codex", primary=window, secondary=None) == [Limits((five,))]
    week = {"usedPercent": 100, "resetsAt": 1_800_000_000_500}
    (event,) = say_limits(turn, limitId="other", secondary=week)
    assert event == Limits((LimitWindow("other secondary", LimitStatus.REACHED, 1.0, 1_800_000_000_500),))
    assert say_limits(turn, limitId="codex") == [], "nothing to tell"


def test_a_refused_turn_says_when_all_used_up_windows_are_free(turn: Turn) -> None:
    say_limits(turn, primary={"usedPercent": 100, "resetsAt": 1000}, secondary={"usedPercent": 100, "resetsAt": 2000})
    error = {"message": "You are out. Try again at 5:44 PM.", "codexErrorInfo": "usageLimitExceeded"}
    ended = turn.end("failed", error=error)[-1]
    assert isinstance(ended, TurnEnded) and ended.problem is not None
    assert (ended.problem.code, ended.problem.until) == ("usage_limit", 2_000_000)


def test_an_answer_about_limits_has_the_windows_of_every_bucket() -> None:
    window, name = {"usedPercent": 25, "resetsAt": 1000}, {"limitId": "spark", "limitName": "Spark"}
    whole = {"rateLimits": {"primary": window}, "rateLimitsByLimitId": {"codex": {"primary": window}, "spark": name}}
    spark = {**whole, "rateLimitsByLimitId": {"spark": {**name, "primary": window}, "gone": None}}
    old = {"rateLimits": {"primary": window}, "rateLimitsByLimitId": None}
    for answer, names in ((whole, ["primary"]), (spark, ["Spark primary"]), (old, ["primary"]), ({}, [])):
        read = wire.read(raw(**answer), wire.AllLimits)
        assert read is not None and [each.name for each in limits.all_windows(read)] == names


FULL = {"usedPercent": 100, "resetsAt": 9000}


@pytest.mark.parametrize(
    ("buckets", "until"),
    [
        ([("spark", FULL), ("codex", {"usedPercent": 100, "resetsAt": 1000})], 1_000_000),
        ([("codex", {"usedPercent": 100, "resetsAt": 1000}), ("spark", FULL)], 9_000_000),
        ([("spark", FULL), ("codex", {"usedPercent": 100})], None),
        ([("spark", FULL), ("codex", {"usedPercent": 40, "resetsAt": 1000})], 9_000_000),
    ],
)
def test_only_the_bucket_that_refused_sets_the_wait(
    turn: Turn, buckets: list[tuple[str, dict[str, int]]], until: int | None
) -> None:
    """Codex reports it just before the error; a full one of another model was reported earlier."""
    for name, window in buckets:
        say_limits(turn, limitId=name, primary=window)
    ended = turn.end("failed", error={"message": "You are out.", "codexErrorInfo": "usageLimitExceeded"})[-1]
    assert isinstance(ended, TurnEnded) and ended.problem is not None and ended.problem.until == until


@pytest.mark.parametrize(
    "bucket", [{}, {"primary": {"usedPercent": 40, "resetsAt": 1000}}, {"primary": {"usedPercent": 100}}]
)
def test_words_of_a_refusal_are_no_time(turn: Turn, bucket: dict[str, Any]) -> None:
    say_limits(turn, **bucket)
    error = {"message": "Try again at 5:44 PM.", "codexErrorInfo": "usageLimitExceeded"}
    ended = turn.end("failed", error=error)[-1]
    assert isinstance(ended, TurnEnded) and ended.problem is not None and ended.problem.until is None
