"""Search of threads: it does not block other reads, and it has a time limit. On a real store."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from clew.model.threads import Thread, ThreadFilter, ThreadKind, ThreadStatus
from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.sqlite import driver
from clew.store.tables import threads
from clew.store.tables.threads import ThreadSummary
from clew.support.clock import SystemClock
from clew.support.errors import SearchTooLong
from tests.server.conftest import Api

TIMEOUT = 60.0  # seconds for any step of a test
THREADS = 1200


def name(number: int) -> str:
    return f"01{number:024}"


async def fill(api: Api) -> None:
    """Insert threads with ascending ids; every hundredth has its own title."""

    def insert(tx: Tx) -> None:
        for number in range(THREADS):
            title = f"rare {number}" if number % 100 == 0 else "plain"
            threads.insert(
                tx,
                Thread(
                    id=name(number),
                    kind=ThreadKind.TASK,
                    status=ThreadStatus.COMPLETED,
                    title=title,
                    runtime="scripted",
                    workspace="/w",
                    created_at=number,
                ),
            )

    await api.store.write(insert)


async def found(api: Api, **query: str | int) -> list[str]:
    answer = await api.client.get("/api/threads", params={"history": "true", "text": "rare", **query})
    assert answer.status_code == 200, answer.text
    return [thread["id"] for thread in answer.json()["threads"]]


async def test_a_paged_search_finds_the_same_however_far_apart_the_hits(api: Api) -> None:
    await fill(api)
    all_of_them = [name(number) for number in reversed(range(0, THREADS, 100))]
    assert await found(api) == all_of_them
    first = await found(api, limit=7)
    assert first + await found(api, before=first[-1]) == all_of_them
    assert await found(api, text="no such words") == []


async def test_searches_do_not_block_other_reads(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(api)
    page, go_on = threads.page, threading.Event()

    def slow(tx: Tx, wanted: ThreadFilter) -> list[ThreadSummary]:
        assert not wanted.text or go_on.wait(TIMEOUT)
        return page(tx, wanted)

    monkeypatch.setattr(threads, "page", slow)
    searches = [asyncio.ensure_future(found(api)) for _ in range(6)]
    try:
        for _ in range(10):
            answer = await asyncio.wait_for(api.client.get("/api/threads"), TIMEOUT / 2)
            assert answer.status_code == 200
            assert (await asyncio.wait_for(api.client.get("/api/status"), TIMEOUT / 2)).status_code == 200
        assert not any(search.done() for search in searches)
    finally:
        go_on.set()
    assert [len(each) for each in await asyncio.gather(*searches)] == [12] * 6


async def test_a_search_that_takes_too_long_says_what_was_not_searched(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(api)
    page, parts, now = threads.page, list[ThreadFilter](), [0.0]

    def slower_and_slower(tx: Tx, wanted: ThreadFilter) -> list[ThreadSummary]:
        parts.append(wanted)
        now[0] = 100.0 if len(parts) == 3 else 0.0
        return page(tx, wanted)

    monkeypatch.setattr(driver, "_STEPS", 1)
    monkeypatch.setattr(api.store._executor, "_now", lambda: now[0])
    monkeypatch.setattr(threads, "page", slower_and_slower)
    answer = await api.client.get("/api/threads", params={"history": "true", "text": "rare"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (503, "search_too_long")
    oldest = f"{name(THREADS - 1000)}@{THREADS - 1000}"  # two parts of 500
    assert problem["detail"].startswith(
        f"The search took longer than 5 s. Threads last active before {oldest} were not searched;"
    )
    assert "; among the others 10 match. " in problem["detail"]
    monkeypatch.setattr(threads, "page", page)
    now[0] = 0.0
    assert await found(api, before=oldest) == [name(100), name(0)]  # as the message advises


async def test_an_endless_search_is_given_up_even_in_its_first_part(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(api)
    times = iter([0.0])
    monkeypatch.setattr(driver, "_STEPS", 1)
    monkeypatch.setattr(api.store._executor, "_now", lambda: next(times, 100.0))
    answer = await api.client.get("/api/threads", params={"history": "true", "text": "rare"})
    assert answer.status_code == 503 and "Nothing was searched to its end" in answer.json()["detail"]
    assert (await api.client.get("/api/threads", params={"history": "true"})).status_code == 200


async def test_searches_beyond_the_queue_limit_are_refused_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    page, go_on = threads.page, threading.Event()

    def slow(tx: Tx, wanted: ThreadFilter) -> list[ThreadSummary]:
        assert go_on.wait(TIMEOUT)
        return page(tx, wanted)

    monkeypatch.setattr(threads, "page", slow)
    searches = [asyncio.ensure_future(api.engine.threads.page(ThreadFilter(text="x"))) for _ in range(driver._SEARCHES)]
    try:
        await api.store.read(lambda tx: None)  # by then all requests have arrived
        answer = await api.client.get("/api/threads", params={"text": "x"})
        assert (answer.status_code, answer.json()["code"]) == (503, "search_busy")
    finally:
        go_on.set()
    await asyncio.gather(*searches)


async def test_a_store_that_closes_does_not_wait_for_a_search(tmp_path: Path) -> None:
    open_store(tmp_path / "clew.db", SystemClock()).close()
    executor, began = driver.WriterThread(tmp_path / "clew.db", search=86_400), threading.Event()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS n FROM n"

    def search(tx: Tx) -> None:
        began.set()
        tx.one(endless)

    searching = asyncio.ensure_future(executor.search(search))
    await asyncio.to_thread(began.wait, TIMEOUT)
    await asyncio.wait_for(asyncio.to_thread(executor.close), TIMEOUT)
    with pytest.raises(SearchTooLong):
        await searching
