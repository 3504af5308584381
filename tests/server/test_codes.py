"""Sentences of clew come with their codes, so that a client can show them in another language."""

from __future__ import annotations

import msgspec

from clew.support.coded import Coded
from clew.texts.catalogue import chinese
from tests.server.conftest import Api


async def test_an_error_has_the_code_of_its_detail(api: Api) -> None:
    problem = (await api.client.get("/api/threads/0000")).json()
    detail = {"code": "threads.no_thread_found", "args": {"prefix": "0000"}}
    assert problem["texts"] == {"detail": detail} and "There is no thread 0000" in problem["detail"]


async def test_a_reply_has_the_code_of_its_words_the_second_time_too(api: Api) -> None:
    begun = await api.start()
    await api.ended(begun["turn"])
    await api.client.post(f"/api/threads/{begun['thread']}/cancel", json={})
    body = {"message_id": "m", "text": "more"}
    first, again = [
        (await api.client.post(f"/api/threads/{begun['thread']}/messages", json=body)).json() for _ in range(2)
    ]
    assert first["words"].endswith("begins a new one from it.") and first["words"] == again["words"]
    assert first["texts"] == again["texts"]
    said = msgspec.convert(again["texts"]["words"], Coded)
    assert chinese(said).startswith("会话 text-hello 已取消")


async def test_a_refused_resume_keeps_its_code(api: Api) -> None:
    begun = await api.start()
    await api.ended(begun["turn"])
    body = {"message_id": "m", "supplement": "more"}
    problem = (await api.client.post(f"/api/threads/{begun['thread']}/resume", json=body)).json()
    said = msgspec.convert(problem["texts"]["detail"], Coded)
    assert said.code == "threads.cannot_resume" and "它是空闲的" in chinese(said)


async def test_a_damaged_history_is_reported_with_a_code(api: Api) -> None:
    begun = await api.start()
    await api.ended(begun["turn"])
    await api.store.write(lambda tx: tx.run("UPDATE nodes SET content = replace(content, 'hello', 'hullo')"))
    verdict = (await api.client.post("/api/verify", json={})).json()
    assert verdict["sound"] is False and verdict["texts"] == {"reason": {"code": "threads.hash_differs"}}


async def test_the_last_line_of_a_turn_without_an_answer_has_a_code(api: Api) -> None:
    lines = {}
    for asked in ("!error server_error", "!shell true"):
        begun = await api.start(asked)
        await api.ended(begun["turn"])
        view = (await api.client.get(f"/api/threads/{begun['thread']}")).json()
        lines[asked] = view["last_line"], chinese(msgspec.convert(view["texts"]["last_line"], Coded))
    assert lines == {
        "!error server_error": ("⚠ The model said server_error.", "⚠ The model said server_error."),
        "!shell true": ("(Done, without words.)", "（已完成，没有文字答复。）"),
    }


async def test_the_last_line_of_a_stopped_turn_has_a_code(api: Api) -> None:
    begun = await api.start("!hold for-ever")
    while (await api.client.get(f"/api/threads/{begun['thread']}")).json()["status"] != "running":
        pass  # a turn that has not begun would be dropped, and have no answer
    await api.client.post(f"/api/threads/{begun['thread']}/stop", json={})
    await api.ended(begun["turn"])
    view = (await api.client.get(f"/api/threads/{begun['thread']}")).json()
    assert (view["last_line"], view["texts"]["last_line"]) == (
        "(Stopped at the computer.)",
        {"code": "turns.stopped_here_mark"},
    )
