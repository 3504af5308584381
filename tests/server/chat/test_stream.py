"""The chat stream through the app and a real engine: golden transcripts, joining a turn, and errors."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clew.model.threads import SessionKey
from tests.server.chat.transcripts import Transcript, check_golden
from tests.server.conftest import Api

PATIENCE = 60.0


async def chat(api: Api, message: str, *, id: str = "m1", conversation: str | None = "c1", **more: Any) -> Transcript:
    body = {"message": message, "message_id": id, **({"conversation_id": conversation} if conversation else {}), **more}
    answer = await api.client.post("/api/conversations/chat/stream", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return Transcript.of(answer.content)


async def until(api: Api, kind: str) -> dict[str, Any]:
    """The data of the next log entry of this kind."""
    async with asyncio.timeout(PATIENCE):
        return await api.entries[kind].get()


async def test_golden_text(api: Api) -> None:
    check_golden("text", await chat(api, "!text Hello, world."))


async def test_golden_tools(api: Api) -> None:
    script = "!think about it\n!text I look first.\n!shell ls\n!tool files.read {}\n!text All is well."
    check_golden("tools", await chat(api, script))


async def test_golden_gate(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        talk = group.create_task(chat(api, "!approve make deploy\n!text It is out."))
        opened = await until(api, "gate.opened")
        await api.client.post(f"/api/gates/{opened['gate']}/answer", json={"decision": "accept"})
    check_golden("gate", talk.result())


async def test_golden_retry(api: Api) -> None:
    check_golden("retry", await chat(api, "!cut 2\n!text the whole answer"))


async def test_golden_steer(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(chat(api, "!text one\n!hold here"))
        await api.runtime.holds.held("here")
        second = group.create_task(chat(api, "and this too", id="m2"))
        await until(api, "steer.sent")
        api.runtime.holds.release("here")
    check_golden("steer", first.result(), second.result())


async def test_golden_interrupt(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        talk = group.create_task(chat(api, "!text so far\n!hold here"))
        await api.runtime.holds.held("here")
        thread = (await api.client.get("/api/conversations/c1")).json()["thread"]
        await api.client.post(f"/api/threads/{thread}/stop")
    check_golden("interrupt", talk.result())


async def test_golden_failure(api: Api) -> None:
    check_golden("failure", await chat(api, "!text half an answer\n!status 500"))
    messages = (await api.client.get("/api/conversations/c1")).json()["messages"]
    assert [(each["role"], each["state"]) for each in messages] == [("person", None), ("agent", "failed")]
    assert messages[0]["content"].startswith("!text half") and messages[1]["error"]["code"] == "model"


async def test_golden_unknown_runtime(api: Api) -> None:
    check_golden("unknown-runtime", await chat(api, "hello", runtime="nobody"))


async def test_golden_cut_off(api: Api) -> None:
    """The agent crashes twice: the first time the turn is continued, the second time a person is asked."""
    check_golden("cut-off", await chat(api, "!text half a\n!cut"))


async def test_a_queued_message_says_so(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(chat(api, "!hold here"))
        await api.runtime.holds.held("here")
        thread = (await api.client.get("/api/conversations/c1")).json()["thread"]
        queued = {"message_id": "q", "text": "!text two", "queue": True}
        await api.client.post(f"/api/threads/{thread}/messages", json=queued)
        messages = (await api.client.get("/api/conversations/c1")).json()["messages"]
        api.runtime.holds.release("here")
    assert [(each["role"], each["state"]) for each in messages] == [
        ("person", None),
        ("agent", "running"),
        ("person", "queued"),
    ]


async def test_the_same_message_again_joins_the_same_turn(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(chat(api, "!text one\n!hold here\n!text two"))
        await api.runtime.holds.held("here")
        second = group.create_task(chat(api, "!text one\n!hold here\n!text two"))
        api.runtime.holds.release("here")
    third = await chat(api, "!text one\n!hold here\n!text two")
    for transcript in (first.result(), second.result(), third):
        transcript.check()
        assert transcript.last.data["content"] == "two"
        assert transcript.events[0].data["turn"] == third.events[0].data["turn"]
    assert len((await api.client.get("/api/conversations/c1")).json()["messages"]) == 2


async def test_without_conversation_id_the_message_id_names_the_conversation(api: Api) -> None:
    first = await chat(api, "!text hello", id="first", conversation=None)
    again = await chat(api, "!text hello", id="first", conversation=None)
    assert first.events[0].data["conversation_id"] == again.events[0].data["conversation_id"] == "first"
    assert first.events[0].data["turn"] == again.events[0].data["turn"]


async def test_metadata_contains_the_continuity_of_the_session(api: Api) -> None:
    first = await chat(api, "!text one")
    second = await chat(api, "!text two", id="m2")
    await api.engine.conversations._sessions.drop(SessionKey(first.events[0].data["thread"], "scripted"))
    third = await chat(api, "!text three", id="m3")
    assert [each.events[0].data["continuity"] for each in (first, second, third)] == ["cold", "warm", "resumed"]


async def test_an_idempotency_key_without_message_id_identifies_the_message(api: Api) -> None:
    async def post(message: str) -> Any:
        headers = {"Idempotency-Key": "k"}
        body = {"message": message}
        return await api.client.post("/api/conversations/chat/stream", json=body, headers=headers)

    first, again, other = await post("!text hello"), await post("!text hello"), await post("!text other")
    turns = [Transcript.of(each.content).events[0].data["turn"] for each in (first, again)]
    assert turns[0] == turns[1] and other.status_code == 409


async def test_a_conversation_keeps_its_runtime(api: Api) -> None:
    await chat(api, "!text one", runtime="scripted")
    api.engine._core.runtimes["other"] = api.runtime  # type: ignore[index]
    refused = await chat(api, "!text two", id="m2", runtime="other")
    assert refused.last.data["code"] == "refused" and "is with scripted" in refused.last.data["message"]


async def test_a_conversation_works_in_the_folder_that_its_first_message_names(api: Api, tmp_path: Path) -> None:
    folder, other = tmp_path / "项目", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    first = await chat(api, "!text one", workspace=str(folder))
    thread = (await api.client.get(f"/api/threads/{first.events[0].data['thread']}")).json()
    assert thread["workspace"] == str(folder)
    assert (await chat(api, "!text two", id="m2", workspace=str(folder))).last.kind == "done"
    refused = (await chat(api, "!text three", id="m3", workspace=str(other))).last
    assert refused.data["code"] == "refused" and f"works in {folder}" in refused.data["message"]
    folder.rmdir()
    assert (await chat(api, "!text one", workspace=str(folder))).last.data["content"] == "one"  # the first fate counts


async def test_a_conversation_in_a_folder_that_does_not_exist_is_refused(api: Api) -> None:
    refused = (await chat(api, "!text one", workspace="/no/such/folder")).last
    assert refused.data["code"] == "refused" and "is not a folder" in refused.data["message"]
    assert (await api.client.get("/api/threads")).json()["threads"] == []


async def test_frames_contain_no_terminal_control_characters(api: Api) -> None:
    transcript = await chat(api, "!text red \x1b[31malert\x07 \x9b2J\n!shell printf '\x1b]0;x\x07'")
    view = await api.client.get("/api/conversations/c1")
    transcript.check()
    assert "\\x1b[31m" in transcript.last.data["content"]
    shown = [json_text for event in transcript.events for json_text in _strings(event.data)]
    for text in (*shown, *_strings(view.json())):
        assert not any((ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 for char in text), text


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _strings(each)]
    return [text for each in value for text in _strings(each)] if isinstance(value, list) else []


async def test_messages_have_role_author_and_diagnostics(api: Api) -> None:
    await chat(api, "!text look\n!shell ls\n!text done", sender="ann")
    view = (await api.client.get("/api/conversations/c1")).json()
    person, agent = view["messages"]
    assert (person["role"], person["author"], person["id"]) == ("person", "ann", "m1")
    assert (agent["role"], agent["author"], agent["content"], agent["state"]) == (
        "agent",
        "scripted",
        "done",
        "completed",
    )
    (diagnostics,) = agent["attachments"]
    assert (diagnostics["kind"], diagnostics["runtime"]) == ("diagnostics", "scripted")
    assert [deed["kind"] for deed in diagnostics["data"]["deeds"]] == ["text", "command"]
    assert view["status"] == "idle" and view["next"] is None


async def test_a_conversation_comes_in_pages(api: Api) -> None:
    for number in range(3):
        await chat(api, f"!text {number}", id=f"m{number}")
    newest = (await api.client.get("/api/conversations/c1?limit=2")).json()
    older = (await api.client.get(f"/api/conversations/c1?limit=100&before={newest['next']}")).json()
    said = [each["content"] for each in (*older["messages"], *newest["messages"])]
    assert said == ["!text 0", "0", "!text 1", "1", "!text 2", "2"]


@pytest.mark.parametrize("name", ["nobody", "..%2Fup", "%00"])
async def test_an_unknown_conversation_is_a_problem(api: Api, name: str) -> None:
    answer = await api.client.get(f"/api/conversations/{name}")
    assert answer.status_code in (404, 422) and answer.headers["content-type"] == "application/problem+json"


async def test_an_empty_message_is_refused(api: Api) -> None:
    refused = await chat(api, "  ")
    assert (refused.last.kind, refused.last.data["code"]) == ("error", "refused")


async def test_a_short_yes_in_the_conversation_answers_its_gate(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(chat(api, "!approve make deploy\n!text It is out."))
        await until(api, "gate.opened")
        second = group.create_task(chat(api, "y", id="m2"))
    for transcript in (first.result(), second.result()):
        transcript.check()
        assert transcript.last.data["content"] == "It is out."


async def test_a_short_yes_does_not_answer_a_gate_that_replaced_another(api: Api) -> None:
    """Somebody else answers the first gate; a `y` that may be meant for it must not approve the second."""
    async with asyncio.TaskGroup() as group:
        group.create_task(chat(api, "!approve make test\n!approve make deploy\n!text It is out."))
        first = await until(api, "gate.opened")
        await api.client.post(f"/api/gates/{first['gate']}/answer", json={"decision": "decline"})
        second = await until(api, "gate.opened")
        sees_former = await chat(api, "y", id="m2", sees=[first["gate"]])
        gate = (await api.client.get(f"/api/gates/{second['gate']}")).json()
        assert sees_former.last.kind == "error" and gate["state"] == "open"
        sees_it = group.create_task(chat(api, "y", id="m3", sees=[second["code"]]))
    assert sees_it.result().last.data["content"] == "It is out."


async def test_a_short_yes_without_sees_does_not_answer_a_replacing_gate(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(chat(api, "!approve make test\n!approve make deploy\n!text It is out."))
        first = await until(api, "gate.opened")
        await api.client.post(f"/api/gates/{first['gate']}/answer", json={"decision": "decline"})
        second = await until(api, "gate.opened")
        refused = await chat(api, "y", id="m2")
        assert refused.last.kind == "error" and f"`{second['code']} y`" in refused.last.data["message"]
        by_code = group.create_task(chat(api, f"{second['code']} y", id="m3"))
    assert by_code.result().last.data["content"] == "It is out."


async def test_stopping_the_daemon_ends_the_stream_and_keeps_the_turn(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        talk = group.create_task(chat(api, "!text one\n!hold here"))
        await api.runtime.holds.held("here")
        api.engine.live.close()
        cut = await talk
        cut.check()
        assert (cut.last.data["code"], cut.last.data["retryable"]) == ("stopping", True)
        again = group.create_task(chat(api, "!text one\n!hold here"))
        api.runtime.holds.release("here")
    assert again.result().last.data["content"] == "one"
