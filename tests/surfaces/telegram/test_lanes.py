"""Handling updates side by side: what may be confirmed."""

from __future__ import annotations

import asyncio

from clew.surfaces.telegram.lanes import Lanes


async def test_only_what_is_handled_with_all_before_it_is_confirmed() -> None:
    done = {name: asyncio.Event() for name in ("a1", "b1", "a2", "c1")}
    handled: list[str] = []
    news = asyncio.Condition()

    async def handle(name: str) -> None:
        await done[name].wait()
        async with news:
            handled.append(name)
            news.notify_all()

    async def settle(name: str) -> int | None:
        done[name].set()
        async with news:
            await news.wait_for(lambda: name in handled)
        return lanes.offset

    async with asyncio.TaskGroup() as group:
        lanes = Lanes(group, handle)
        assert lanes.offset is None and not lanes.is_busy
        for number, name in enumerate(done, 10):
            lanes.add(number, name[0], name)
        assert lanes.unconfirmed == {10, 11, 12, 13}
        assert await settle("b1") == 10
        done["a2"].set()
        assert await settle("c1") == 10 and handled == ["b1", "c1"]
        await settle("a1")
        assert await settle("a2") == 14 and handled[2:] == ["a1", "a2"] and not lanes.is_busy
        lanes.add(3, "a", "a1")  # after a quiet week Telegram begins with another number
        while lanes.is_busy:
            await lanes.advance(lanes.confirmed, asyncio.Event().wait())
        assert lanes.offset == 4
