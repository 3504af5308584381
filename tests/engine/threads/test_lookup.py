"""Which thread is meant by what people type for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.engine.threads.lookup import find_thread
from clew.support.errors import Ambiguous, BadInput, NotFound
from tests.helpers.rig import Rig


async def started(rig: Rig, title: str) -> str:
    accepted = await rig.start("!text x", title=title)
    await rig.ended(accepted.turn)
    return accepted.thread or ""


async def test_an_id_a_handle_last_and_a_part_of_the_title_name_a_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        find = rig.engine.threads.find
        first, second = await started(rig, "Fix the flaky retry"), await started(rig, "修复登录测试")
        handle = (await rig.engine.threads.get(second)).handle or ""
        assert handle == f"t-{second[-4:].lower()}"
        for name in (first, first.lower(), "fix-flaky-retry", "Fix-Flaky", "flaky ret", "LAKY"):
            assert await find(name) == first
        for name in (handle, "登录测试", "修复", "last", second[-6:]):
            assert await find(name) == second
        for nothing in ("nothing-like-it", "la", "复"):
            with pytest.raises(NotFound):
                await find(nothing)
        with pytest.raises(BadInput):
            await find("  ")


async def test_a_name_that_fits_several_threads_lists_them(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        one, two = await started(rig, "Fix the flaky retry"), await started(rig, "Fix the flaky retry")
        with pytest.raises(Ambiguous) as refused:
            await rig.engine.threads.find("flaky")
        assert "fix-flaky-retry (Fix the flaky retry)" in refused.value.message
        assert "fix-flaky-retry-2" in refused.value.message and refused.value.exit == 2
        assert await rig.engine.threads.find("fix-flaky-retry") == one  # wins over a beginning
        assert await rig.engine.threads.find("fix-flaky-retry-2") == two


async def test_only_threads_that_are_known_to_the_one_who_asks_are_found(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        known, other = await started(rig, "Fix the flaky retry"), await started(rig, "Fix the flaky retry")
        for name in (other, other[-6:], "fix-flaky-retry-2"):
            with pytest.raises(NotFound):
                await rig.store.read(lambda tx, name=name: find_thread(tx, name, among=(known,)))  # type: ignore[misc]
        for name in (known[:24], known[-6:], "last", "fix-fl", "flaky"):
            found = await rig.store.read(lambda tx, name=name: find_thread(tx, name, among=(known,)))  # type: ignore[misc]
            assert found == known


async def test_a_handle_stays_after_a_rename(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await started(rig, "Fix the flaky retry")
        view = await rig.engine.threads.retitle(thread, "Something else")
        assert view.handle == "fix-flaky-retry" and await rig.engine.threads.find("fix-flaky-retry") == thread


async def test_a_title_cannot_take_the_word_last(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread, newer = await started(rig, "Last"), await started(rig, "other")
        assert (await rig.engine.threads.get(thread)).handle == "last-2"
        assert await rig.engine.threads.find("last") == newer


async def test_wildcards_in_a_part_of_a_title_are_letters(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await started(rig, "up by 100% of it")
        assert await rig.engine.threads.find("100%") == thread
        with pytest.raises(NotFound):
            await rig.engine.threads.find("up%it")


async def test_what_cannot_be_undone_takes_no_part_of_a_name(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        thread = await started(rig, "Fix issue 1234")
        for name in ("1234", "fix-iss"):
            assert await rig.engine.threads.find(name) == thread
            with pytest.raises(NotFound):
                await rig.engine.threads.find(name, exact=True)
        for name in ("fix-issue-1234", "last", thread[:20]):
            assert await rig.engine.threads.find(name, exact=True) == thread
