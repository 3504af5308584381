"""Streaming cards: their updates are in order, and no card streams for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clew.model.delivery import DeliveryKind
from clew.model.messages import Conversation
from clew.model.surface import InDoubt, Outgoing, Receipt, TryAgain
from clew.surfaces.feishu.surface import FeishuSurface
from clew.texts import chat_messages as said
from tests.surfaces.feishu.apps import ALONE, App, words
from tests.surfaces.feishu.test_engine import clew
from tests.surfaces.hearing import Quick

HERE = Conversation("feishu", ALONE)
TABLE = "\n| a | b |\n| - | - |\n| 1 | 2 |\n"


def working(text: str = said.WORKING, live: str = "", *, again: bool = False) -> Outgoing:
    return Outgoing("U1:placeholder", DeliveryKind.PLACEHOLDER, HERE, "T1", "U1", text, live=live, again=again)


def over(text: str = "✓ 3 s") -> Outgoing:
    return Outgoing("U1:placeholder:over", DeliveryKind.REDRAW, HERE, "T1", "U1", text)


@pytest.fixture
async def surface(app: App, tmp_path: Path) -> AsyncIterator[FeishuSurface]:
    surface = app.surface(tmp_path, Quick())
    yield surface
    await surface.close()


async def card(app: App) -> dict[str, Any]:
    [only] = (await app.state())["cards"].values()
    found: dict[str, Any] = only
    return found


async def shown(app: App) -> str:
    [message] = await app.shown(1)
    return words(message)


@pytest.mark.process
async def test_a_placeholder_streams_until_its_last_update(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(working())
    assert (await card(app))["streams"] and (await shown(app)).startswith(said.WORKING)
    await surface.edit(receipt, working("Working on it … 1 s", "one"))
    await surface.edit(receipt, working("Working on it … 2 s", "one two"))
    assert await shown(app) == "Working on it … 2 s\none two"
    assert (await card(app))["grew"] == 2
    await surface.edit(receipt, working("Working on it … 3 s"))  # it was given up, and begins again
    await surface.edit(receipt, over())
    assert await shown(app) == "✓ 3 s" and not (await card(app))["streams"]
    numbers = [call["sequence"] for name in ("card_content", "card_update") for call in await app.calls(name)]
    assert len(numbers) == 7 and numbers == sorted(set(numbers))


async def test_only_what_has_changed_is_sent(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(working())
    for live in ("one", "one two"):
        await surface.edit(receipt, working("Working on it … 1 s", live))
    assert [call["path2"] for call in await app.calls("card_content")] == ["head", "said", "said"]


async def test_a_streamed_text_fits_on_a_card(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(working())
    await surface.edit(receipt, working(live=TABLE * 7 + "\n![x](y.png)\n<at id=all></at>"))
    assert "<at" not in await shown(app) and "```" in await shown(app)


async def test_if_cardkit_refuses_cards_are_plain_for_a_while(surface: FeishuSurface, app: App) -> None:
    await app.refuse("card_create", 99991672, "Access denied.")
    receipt = await surface.send(working())
    await surface.edit(receipt, working("Working on it … 1 s", "one"))
    assert await shown(app) == "Working on it … 1 s\n\none"
    await surface.edit(receipt, over())
    assert await shown(app) == "✓ 3 s"
    await surface.send(Outgoing("U2:placeholder", DeliveryKind.PLACEHOLDER, HERE, "T1", "U2", said.WORKING))
    assert len(await app.calls("card_create")) == 1 and not (await app.state())["cards"]


async def test_without_cardkit_a_card_is_plain(surface: FeishuSurface, app: App) -> None:
    await app.fault("card_create", "odd", status=404, body="404 page not found")
    await surface.send(working())
    assert (await app.state())["cards"] == {} and (await shown(app)).startswith(said.WORKING)


async def test_a_card_that_cannot_be_sent_is_a_plain_one(surface: FeishuSurface, app: App) -> None:
    await app.refuse("send", 230099, "Failed to create card content")
    receipt = await surface.send(working())
    await surface.edit(receipt, over())
    assert await shown(app) == "✓ 3 s"


async def test_after_streaming_has_ended_the_card_is_replaced(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(working())
    await app.refuse("card_content", 300309, "streaming mode is closed")
    await surface.edit(receipt, working("Working on it … 11 min 1 s", "one"))
    await surface.edit(receipt, working("Working on it … 11 min 2 s", "one two"))
    assert await shown(app) == "Working on it … 11 min 2 s\n\none two"
    assert len(await app.calls("card_content")) == 1


async def test_a_rate_limited_update_is_retried(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(working())
    for method, edit in (("card_content", working("…")), ("card_update", over())):
        await app.refuse(method, 99991400, headers={"x-ogw-ratelimit-reset": "2"})
        with pytest.raises(TryAgain) as busy:
            await surface.edit(receipt, edit)
        assert busy.value.retry_after == 2
    await surface.edit(receipt, over())
    assert await shown(app) == "✓ 3 s"


async def test_the_next_daemon_ends_cards_that_still_stream(surface: FeishuSurface, app: App, tmp_path: Path) -> None:
    receipt = await surface.send(working())
    await surface.edit(receipt, working("Working on it … 1 s", "one"))
    other = app.surface(tmp_path, Quick())
    try:
        await other.edit(receipt, over())
    finally:
        await other.close()
    assert await shown(app) == "✓ 3 s" and not (await card(app))["streams"]


async def test_a_placeholder_with_a_lost_receipt_is_one_and_is_edited(surface: FeishuSurface, app: App) -> None:
    await app.fault("send", "cut_after")
    with pytest.raises(InDoubt):
        await surface.send(working())
    receipt: Receipt = await surface.send(working(again=True))
    await surface.edit(receipt, working("Working on it … 1 s", "one"))
    assert await shown(app) == "Working on it … 1 s\none"
    await surface.edit(receipt, over())
    assert await shown(app) == "✓ 3 s" and not (await card(app))["streams"]


async def test_people_see_the_answer_as_it_is_written(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!text one two\n!hold here\n!text done")
        await rig.held("here")
        await app.until_shown(lambda text: text.startswith(said.WORKING) and "one two" in text)
        rig.scripted.holds.release("here")
        await app.until(lambda state: not any(card["streams"] for card in state["cards"].values()))
        await app.until_shown(lambda text: text.startswith("done"))


async def test_killed_while_streaming_no_card_goes_on_streaming(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!text one two\n!hold here\n!text done")
        await rig.held("here")
        await app.until_shown(lambda text: text.startswith(said.WORKING) and "one two" in text)
    async with clew(app, tmp_path) as rig:
        await rig.held("here")
        rig.scripted.holds.release("here")
        await app.until_shown(lambda text: text.startswith("done"))
        await app.until(lambda state: not any(card["streams"] for card in state["cards"].values()))
