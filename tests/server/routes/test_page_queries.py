"""Queries of the page: windows of a long history, queued messages, choices and statistics."""

from __future__ import annotations

from typing import Any

import pytest

from clew.engine.services.figures import BUCKETS, STEP, summed
from clew.engine.services.transcript import BRIEF
from clew.model.messages import Conversation
from clew.store.metrics import Span
from clew.store.tables import bindings
from tests.server.conftest import Api


async def passages(api: Api, thread: str, **query: object) -> list[dict[str, Any]]:
    answer = await api.client.get(f"/api/threads/{thread}/transcript", params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def talked(api: Api, times: int) -> str:
    thread = ""
    for number in range(times):
        if not thread:
            accepted = await api.start(f"!text answer {number}")
            thread = accepted["thread"]
        else:
            body = {"message_id": f"m{number}", "text": f"!text answer {number}"}
            accepted = (await api.client.post(f"/api/threads/{thread}/messages", json=body)).json()
        await api.ended(accepted["turn"])
    return thread


async def test_a_long_history_is_paged_without_gap_or_repeat(api: Api) -> None:
    thread = await talked(api, 4)
    whole = await passages(api, thread)
    assert len(whole) == 8 and all(each["node"] for each in whole)
    assert [each["message"] for each in whole if each["role"] == "person"][1:] == ["m1", "m2", "m3"]
    seen: list[dict[str, Any]] = []
    window = await passages(api, thread, limit=3)
    while window:
        seen = window + seen
        window = await passages(api, thread, limit=3, before=window[0]["node"])
    assert seen == whole
    answers = [each for each in whole if each["role"] == "agent"]
    assert all(each["started_at"] <= each["at"] for each in answers)


async def test_a_window_before_an_unknown_node_is_refused(api: Api) -> None:
    thread = await talked(api, 1)
    assert (await api.client.get(f"/api/threads/{thread}/transcript?before=nothing")).status_code == 404


async def test_command_output_can_be_read_in_brief_or_completely(api: Api) -> None:
    accepted = await api.start(f"!patch a.txt {'x' * (BRIEF + 1)}\n!patch b.txt y\n!text done")
    await api.ended(accepted["turn"])
    whole = (await passages(api, accepted["thread"]))[-1]["items"]
    brief = (await passages(api, accepted["thread"], brief=True))[-1]["items"]
    turn = (await api.client.get(f"/api/turns/{accepted['turn']}")).json()["items"]
    assert [item["body"][:BRIEF] for item in whole] == [item["body"] for item in brief]
    assert [item["cut"] for item in brief] == [len(item["body"]) > BRIEF for item in whole]
    assert turn == whole and {item["cut"] for item in brief} == {True, False}


async def test_queued_messages_are_listed_and_can_be_withdrawn(api: Api) -> None:
    first = await api.start("!hold here\n!text one")
    await api.runtime.holds.held("here")
    path = f"/api/threads/{first['thread']}"
    said = {"message_id": "second", "text": "!text two", "queue": True}
    second = (await api.client.post(f"{path}/messages", json=said)).json()
    (waiting,) = (await api.client.get(f"{path}/queue")).json()
    assert (waiting["turn"], waiting["message"], waiting["text"]) == (second["turn"], "second", "!text two")
    refused = await api.client.delete(f"/api/turns/{first['turn']}")
    assert refused.status_code == 409 and "stop it" in refused.json()["detail"]
    taken = (await api.client.delete(f"/api/turns/{second['turn']}")).json()
    assert (taken["state"], taken["started_at"]) == ("interrupted", None)
    assert (await api.client.get(f"{path}/queue")).json() == []
    assert (await api.client.delete(f"/api/turns/{second['turn']}")).status_code == 409
    assert (await api.client.delete("/api/turns/none")).status_code == 404
    api.runtime.holds.release("here")
    assert (await api.ended(first["turn"])).json()["text"] == "one"
    assert len(await passages(api, first["thread"])) == 2


async def test_a_thread_names_its_binding(api: Api) -> None:
    thread = await talked(api, 1)
    for number, drives in ((1, False), (2, True)):
        where = Conversation("telegram", str(number))
        await api.store.write(lambda tx, where=where, d=drives: bindings.bind(tx, where, thread, 1, drives=d))  # type: ignore[misc]
    one = (await api.client.get(f"/api/threads/{thread}")).json()
    (listed,) = (await api.client.get("/api/threads")).json()["threads"]
    assert listed["bound"] == one["bound"]
    assert {(each["surface"], each["conversation"], each["drives"]) for each in one["bound"]} == {
        ("telegram", "telegram:1", False),
        ("telegram", "telegram:2", True),
    }


@pytest.mark.parametrize("wanted", ["ALPHA", "folder-b", "anSwer 0", "id"])
async def test_threads_are_found_by_id_title_folder_and_answer(api: Api, wanted: str) -> None:
    folder = api.home.root / "folder-b"
    folder.mkdir()
    accepted = await api.start("!text the answer 0 to it", title="alpha 100%", workspace=str(folder))
    await api.ended(accepted["turn"])
    other = await api.start("!text nothing of that", title="beta")
    await api.ended(other["turn"])
    text = accepted["thread"][:24].lower() if wanted == "id" else wanted
    both = accepted["thread"][:24] == other["thread"][:24] and wanted == "id"
    found = (await api.client.get("/api/threads", params={"text": text})).json()["threads"]
    assert [each["title"] for each in found] == (["beta"] if both else []) + ["alpha 100%"]
    assert (await api.client.get("/api/threads", params={"text": "a_p%"})).json()["threads"] == []


async def test_choices_lists_runtimes_policies_and_targets(api: Api) -> None:
    await talked(api, 1)
    choices = (await api.client.get("/api/choices")).json()
    assert [each["name"] for each in choices["runtimes"]] == ["scripted"] and choices["default_runtime"] == "scripted"
    assert (
        choices["policies"] == ["careful", "sandbox", "trusted", "read-only", "yolo"]
        and choices["default_policy"] == "careful"
    )
    assert choices["workspaces"] == [choices["default_workspace"]] and choices["targets"] == []


async def test_figures_of_a_new_home_count_its_turns_and_nothing_pends(api: Api) -> None:
    await talked(api, 2)
    figures = (await api.client.get("/api/figures")).json()
    assert len(figures["buckets"]) == BUCKETS and figures["step"] == STEP
    assert sum(each["ended"] for each in figures["buckets"]) == 2
    assert (await api.client.get("/api/outbox")).json() == []


async def test_processes_equal_those_of_clew_ps(api: Api) -> None:
    assert (await api.client.get("/api/processes")).json() == []  # no daemon runs on the home of this test


def test_figures_cover_the_last_day() -> None:
    begins, now = 0, BUCKETS * STEP - STEP // 2
    turns = [Span(STEP * 3 - 10, STEP * 3 + took, took == 70) for took in (10, 30, 70)]
    gates = [Span(STEP, STEP * 3 + 5), Span(now - 60_000, None), Span(STEP * 5, STEP * 5)]
    figures = summed(begins, now, turns, gates)
    third = figures.buckets[3]
    assert (third.ended, third.failed, third.median, third.p95) == (3, 1, 40, 80)
    assert [bucket.oldest_gate for bucket in figures.buckets[:6]] == [None, STEP, STEP * 2, STEP * 2 + 5, None, None]
    assert (figures.buckets[-1].oldest_gate, figures.buckets[-1].ended, figures.buckets[-1].median) == (60_000, 0, None)


async def test_a_denial_by_a_rule_gives_its_reason_once(api: Api) -> None:
    rule = {"effect": "deny", "pattern": "git push *"}
    assert (await api.client.post("/api/rules", json=rule)).status_code == 201
    accepted = await api.start("!approve git push now\n!text done")
    await api.ended(accepted["turn"])
    [gate] = (await api.client.get("/api/gates", params={"thread": accepted["thread"]})).json()
    assert gate["decision"] == "decline" and "git push *" in gate["answered_by"]
    assert gate["answer_reason"] == ""
    told = [item for item in (await passages(api, accepted["thread"]))[-1]["items"] if item["kind"] == "gate"]
    assert [item["reason"] for item in told] == [""] and "git push *" in told[0]["title"]
    assert told[0]["texts"]["title"]["code"] == "gates.line_no"
    [node] = await api.store.read(lambda tx: tx.all("SELECT content FROM nodes WHERE type = 'outcome'"))
    assert "gates.line_no" in str(node["content"])
