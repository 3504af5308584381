"""The API over a real engine: what it accepts, and the messages of its refusals."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest

from clew.client.wire import problem_of
from clew.model.runtime import Health, HealthState
from clew.support.errors import StoreError
from clew.texts.bilingual import zh
from clew.texts.catalogue import say
from tests.server.conftest import Api


async def test_a_thread_is_started_and_its_answer_is_fetched(api: Api) -> None:
    accepted = await api.start("!text hello")
    turn = (await api.ended(accepted["turn"])).json()
    assert (turn["state"], turn["text"], turn["thread"]) == ("completed", "hello", accepted["thread"])
    thread = (await api.client.get(f"/api/threads/{accepted['thread'][:20].lower()}")).json()
    assert (thread["id"], thread["kind"]) == (accepted["thread"], "chat")


async def test_a_repeated_message_id_gets_the_first_response(api: Api) -> None:
    body = {"message_id": "mine", "text": "!text hello"}
    first = await api.client.post("/api/threads", json=body)
    again = await api.client.post("/api/threads", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["turn"] == first.json()["turn"]
    assert again.json()["repeated"]


async def test_each_message_has_a_fate(api: Api) -> None:
    started = await api.start()
    thread = (await api.ended(started["turn"])).json()["thread"]
    said = await api.client.post(f"/api/threads/{thread}/messages", json={"message_id": "a", "text": "", "queue": True})
    assert said.json()["fate"] == "refused"
    assert said.json()["words"]
    said = await api.client.post(f"/api/threads/{thread}/messages", json={"message_id": "b", "text": "!text two"})
    assert (await api.ended(said.json()["turn"])).json()["text"] == "two"


async def test_a_thread_goes_through_its_lifecycle(api: Api) -> None:
    accepted = await api.start()
    await api.ended(accepted["turn"])
    path = f"/api/threads/{accepted['thread']}"
    assert (await api.client.patch(path, json={"title": "new"})).json()["title"] == "new"
    chosen = {"fallback": ["scripted"], "on_limit": "never", "limit_waits": 4, "quiet_hours": "22:00-06:30"}
    view = (await api.client.patch(path, json=chosen)).json()
    assert {name: view[name] for name in chosen} == chosen
    assert (await api.client.patch(path, json={"fallback": []})).json()["fallback"] == []
    assert (await api.client.patch(path, json={"limit_waits": "default"})).json()["limit_waits"] is None
    assert (await api.client.patch(path, json={"quiet_hours": "night"})).status_code == 422
    assert (await api.client.post(f"{path}/done")).json()["status"] == "completed"
    resumed = await api.client.post(f"{path}/resume", json={"message_id": "r", "supplement": "!text again"})
    assert (await api.ended(resumed.json()["turn"])).json()["text"] == "again"
    fork = await api.client.post(f"{path}/fork", json={})
    assert (fork.status_code, fork.json()["forked_from"]) == (201, accepted["thread"])
    assert (await api.client.post(f"{path}/cancel")).json()["status"] == "cancelled"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "words"),
    [
        ("GET", "/api/threads/0000", None, 404, "not_found", "There is no thread 0000"),
        ("GET", "/api/turns/0000", None, 404, "not_found", "There is no turn 0000"),
        ("GET", "/api/nothing", None, 404, "not_found", "/api/nothing does not exist"),
        ("DELETE", "/api/threads", None, 405, "http", "DELETE /api/threads"),
        ("GET", "/api/threads?limit=0", None, 422, "bad_input", "limit: "),
        ("GET", "/api/threads?status=asleep", None, 422, "bad_input", "status: "),
        ("POST", "/api/threads", {"text": "hi"}, 422, "bad_input", "message_id: "),
        ("POST", "/api/threads", {"message_id": "../up", "text": "hi"}, 422, "bad_input", "message_id: "),
        ("POST", "/api/threads", {"message_id": "a", "text": 1}, 422, "bad_input", "text: "),
        ("POST", "/api/threads", {"message_id": "a", "text": "x" * (1 << 20 | 1)}, 422, "bad_input", "text: "),
        ("POST", "/api/threads", {"message_id": "a", "text": "x", "mood": "good"}, 422, "bad_input", "mood: "),
        ("POST", "/api/threads", {"message_id": "a", "text": "x", "runtime": "no"}, 422, "bad_input", "no runtime"),
        ("POST", "/api/threads", {"message_id": "a", "text": " "}, 422, "bad_input", "empty"),
        ("POST", "/api/threads", {"message_id": "a", "text": "x" * (9 << 20)}, 413, "too_large", "larger than 8 MiB"),
    ],
)
async def test_an_error_is_a_problem_response(
    api: Api, method: str, path: str, body: object, status: int, code: str, words: str
) -> None:
    answer = await api.client.request(method, path, json=body)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert words in problem["detail"]


async def test_a_problem_names_the_code_of_its_sentence(api: Api) -> None:
    problem = (await api.client.get("/api/threads?limit=0")).json()
    rule = {"code": "daemon.at_least", "args": {"bound": "1"}}
    assert problem["texts"] == {"detail": {"code": "daemon.field", "args": {"field": "limit", "rule": rule}}}
    error = problem_of(422, json.dumps(problem).encode())
    assert (error.code, error.message, zh(error.words)) == ("bad_input", problem["detail"], "字段 limit：不能小于 1")


async def test_the_reason_of_a_health_keeps_its_code(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def health() -> Health:
        return Health(HealthState.STOPPED, say("runtimes.idle"))

    monkeypatch.setattr(api.runtime, "health", health)
    [runtime] = (await api.client.get("/api/status")).json()["runtimes"]
    assert runtime["reason"] == "not needed now; it starts by itself"
    assert runtime["texts"] == {"reason": {"code": "runtimes.idle"}}


async def test_healthz_names_the_codes_of_its_reasons(api: Api) -> None:
    api.app_state.not_ready_reason = "starting"
    answer = (await api.client.get("/healthz")).json()
    assert answer["texts"] == {"reasons.0": {"code": "daemon.is_starting"}}


async def test_an_invalid_json_body_is_a_problem(api: Api) -> None:
    answer = await api.client.post("/api/threads", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")


async def test_invalid_unicode_is_a_problem(api: Api) -> None:
    body = b'{"message_id": "a", "text": "\\ud800"}'
    answer = await api.client.post("/api/threads", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")


async def test_a_refused_operation_returns_the_engines_message(api: Api) -> None:
    accepted = await api.start()
    await api.ended(accepted["turn"])
    answer = await api.client.post(f"/api/threads/{accepted['thread']}/stop")
    assert (answer.status_code, answer.json()["code"]) == (409, "refused")
    assert answer.json()["detail"].startswith("Nothing runs in thread")


async def test_an_unexpected_error_is_a_problem_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(prefix: str) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(api.engine.threads, "find", broken)
    answer = await api.client.get("/api/threads/0000")
    assert (answer.status_code, answer.json()["code"]) == (500, "error")
    assert "ZeroDivisionError" in answer.json()["detail"]


async def test_threads_come_in_pages(api: Api) -> None:
    made = [(await api.start())["thread"] for _ in range(3)]
    first = (await api.client.get("/api/threads", params={"limit": 2})).json()
    rest = (await api.client.get("/api/threads", params={"limit": 2, "before": first["next"]})).json()
    assert [thread["id"] for thread in (*first["threads"], *rest["threads"])] == made[::-1]
    assert rest["next"] is None


async def test_history_is_verified_line_by_line(api: Api) -> None:
    threads = {(await api.start())["thread"] for _ in range(2)}
    answer = await api.client.post("/api/verify", json={})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(answer.text.splitlines()) == len(threads)


async def test_shutdown_asks_the_daemon_to_stop(api: Api) -> None:
    assert (await api.client.post("/api/shutdown", json={"grace": 3.0})).status_code == 202
    await api.client.post("/api/shutdown", json={"restart": True})
    assert api.stopped == [(3.0, False), (10.0, True)]


async def test_status_shows_runtimes_and_surfaces(api: Api) -> None:
    await api.start()
    status = (await api.client.get("/api/status")).json()
    assert status["daemon"]["pid"] == 1
    assert [runtime["name"] for runtime in status["runtimes"]] == ["scripted"]
    assert [surface["name"] for surface in status["surfaces"]] == ["local"]
    assert status["fates"]["turn"] == 1


async def test_files_are_copied_under_safe_names(api: Api, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a picture;.png").write_text(folder)
    paths = [str(tmp_path / folder / "a picture;.png") for folder in ("one", "two")]
    await api.start(message_id="with-files", attachments=paths)
    kept = api.home.files / "with-files"
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "a_picture_.png": "one",
        "a_picture_-2.png": "two",
    }


async def test_a_retried_message_keeps_the_files_of_the_first_try(api: Api, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("as it was said")
    body = {"message_id": "twice", "text": "read", "attachments": [str(file)]}
    await api.client.post("/api/threads", json=body)
    file.write_text("changed since")
    await api.client.post("/api/threads", json=body)
    assert (api.home.files / "twice" / "notes.txt").read_text() == "as it was said"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("relative.txt", "absolute path"),
        ("/nowhere/x", "No such file"),
        ("PIPE", "not a regular file"),
        ("BIG", "larger than 20"),
    ],
)
async def test_an_invalid_attachment_is_refused_and_nothing_is_stored(
    api: Api, tmp_path: Path, name: str, words: str
) -> None:
    os.mkfifo(tmp_path / "PIPE")
    with (tmp_path / "BIG").open("wb") as file:
        file.truncate((20 << 20) + 1)
    good = tmp_path / "good.txt"
    good.write_text("good")
    path = str(tmp_path / name) if name.isupper() else name
    body = {"message_id": "bad-files", "text": "read", "attachments": [str(good), path]}
    answer = await api.client.post("/api/threads", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")
    assert words in answer.json()["detail"]
    assert not (api.home.files / "bad-files").exists()


async def test_non_files_are_refused_without_leaking_descriptors(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        paths = [
            *(str(tmp_path / name) for name in ("pipe", "loop", "socket")),
            "/etc",
            "/dev/zero",
            "/a\0b",
            "/\ud800",
        ]
        paths += ["/proc/self/mem"] if Path("/proc/self/mem").exists() else []
        before = None
        for number in range(200):
            path = paths[number % len(paths)]
            body = {"message_id": f"m{number}", "text": "read", "attachments": [path]}
            answer = await api.client.post(
                "/api/threads", content=json.dumps(body), headers={"content-type": "application/json"}
            )
            assert answer.status_code == 422 and answer.json()["detail"], (path, answer.text)
            before = before or (len(list(Path("/dev/fd").iterdir())) if number >= len(paths) else None)
        assert len(list(Path("/dev/fd").iterdir())) == before
    assert not list(api.home.files.glob("*"))


async def test_files_of_a_rejected_message_are_not_stored(api: Api, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    body = {"message_id": "m", "text": "read", "runtime": "no", "attachments": [str(tmp_path / "notes.txt")]}
    assert (await api.client.post("/api/threads", json=body)).status_code == 422
    assert not (api.home.files / "m").exists()


async def test_the_description_of_the_api_names_every_resource(api: Api) -> None:
    paths = (await api.client.get("/openapi.json")).json()["paths"]
    assert {"/api/threads", "/api/threads/{thread}/events", "/api/events", "/api/status", "/healthz"} <= set(paths)


async def test_healthz_is_ready_or_says_why_not(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    state = api.app_state

    async def health() -> tuple[int, list[str]]:
        answer = await api.client.get("/healthz")
        assert answer.json()["ready"] == (answer.status_code == 200)
        return answer.status_code, answer.json()["reasons"]

    assert await health() == (200, [])
    state.not_ready_reason = "starting"
    assert await health() == (503, ["clew is starting"])
    state.not_ready_reason, state.stop_reason = None, "stopping"
    assert await health() == (503, ["clew is stopping"])
    state.stop_reason = None

    def full(tx: object) -> None:
        raise StoreError("no room left for the database")

    status = 200
    while status == 200:  # until no other write happens in between
        with pytest.raises(StoreError):
            await api.store.write(full)
        status, reasons = await health()
    assert status == 503 and reasons == ["the database cannot be written; `clew doctor` tells more"]
    await api.start()
    assert await health() == (200, [])


@pytest.mark.parametrize(("first", "second"), [("stop", "continue"), ("continue", "stop"), ("continue", "continue")])
async def test_of_two_answers_to_a_suspended_thread_the_first_counts(api: Api, first: str, second: str) -> None:
    """Two pages show the same question, and both answer it."""
    thread = (await api.start("!shell make\n!cut", kind="chat"))["thread"]
    async with asyncio.timeout(60):
        while (await api.entries["thread.status"].get())["status"] != "suspended":
            pass
    asks = (await api.client.get(f"/api/threads/{thread}")).json()["asks"]
    path, answers = f"/api/threads/{thread}/messages", []
    for number, text in enumerate((first, second)):
        body = {"message_id": f"a{number}", "text": text, "answers": asks}
        answers.append((await api.client.post(path, json=body)).json())
    assert answers[0]["fate"] == ("answer" if first == "stop" else "turn")
    assert answers[1]["fate"] == "refused" and "settled already" in answers[1]["words"]
    other = {"message_id": "b", "text": "look at the tests", "answers": asks}
    assert (await api.client.post(path, json=other)).json()["fate"] != "refused"
