"""The fake of Telegram, checked with python-telegram-bot."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.testing.surface_stage import PICTURE
from tests.surfaces.fakes.process import PATIENCE
from tests.surfaces.telegram.bots import GROUP, Bot, file


@pytest.mark.process
async def test_an_independent_client_takes_the_fake_for_telegram(bot: Bot, tmp_path: Path) -> None:
    import telegram
    from telegram.ext import Updater

    await bot.do("chat", id=42, is_forum=True)
    theirs = telegram.Bot(bot.token, base_url=f"{bot.base_url}/bot", base_file_url=f"{bot.base_url}/file/bot")
    got: asyncio.Queue[Any] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), Updater(theirs, got) as updater:
        assert theirs.username == "clew_bot"
        await updater.start_polling(timeout=5)
        await bot.say("hello 🧶", files={"document": file(b"data", file_name="a.txt")})
        message = (await got.get()).message
        assert (message.text, message.from_user.full_name, message.chat.type) == ("hello 🧶", "Ann Lee", "private")
        assert bytes(await (await message.document.get_file()).download_as_bytearray()) == b"data"

        topic = await theirs.create_forum_topic(42, "a topic")
        keys = telegram.InlineKeyboardMarkup([[telegram.InlineKeyboardButton("Yes", callback_data="y")]])
        bold = [telegram.MessageEntity("bold", 0, 4)]
        there = topic.message_thread_id
        sent = await theirs.send_message(42, "done", entities=bold, reply_markup=keys, message_thread_id=there)
        assert sent.is_topic_message and sent.entities == tuple(bold)
        pressing = asyncio.create_task(bot.press(sent.message_id, "Yes"))
        query = (await got.get()).callback_query
        await query.answer("noted")
        assert await pressing == "noted" and query.data == "y" and query.message.message_id == sent.message_id
        await sent.edit_text("all done")
        with pytest.raises(telegram.error.BadRequest, match="not modified"):
            await sent.edit_text("all done")
        assert [shown["text"] for shown in await bot.shown()] == ["all done"]

        await theirs.send_document(42, b"some bytes", filename="b.txt")
        photo = await theirs.send_photo(42, PICTURE, caption="a knot")
        assert photo.caption == "a knot" and photo.photo[0].file_size == len(PICTURE)
        await theirs.set_my_commands([telegram.BotCommand("new", "begin anew")])
        assert [each.command for each in await theirs.get_my_commands()] == ["new"]
        assert (await theirs.get_chat(42)).id == 42
        await updater.stop()
    await bot.confirmed()


async def test_an_independent_client_understands_how_the_fake_refuses(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")  # otherwise the library issues a deprecation warning
    import telegram

    await bot.do("chat", id=GROUP, kicked=True)
    address = f"{bot.base_url}/bot"
    async with telegram.Bot(bot.token, base_url=address) as theirs, telegram.Bot(bot.token, base_url=address) as other:
        await bot.refuse("sendMessage", 429, "Too Many Requests: retry after 7", retry_after=7)
        with pytest.raises(telegram.error.RetryAfter) as caught:
            await theirs.send_message(42, "x")
        assert caught.value.retry_after == timedelta(seconds=7)
        with pytest.raises(telegram.error.BadRequest, match="not found"):
            await theirs.send_message(42, "x")
        with pytest.raises(telegram.error.Forbidden, match="kicked"):
            await theirs.send_message(GROUP, "x")
        first = asyncio.create_task(theirs.get_updates(timeout=30))
        await bot.until(lambda state: state["polling"])
        assert await other.get_updates(timeout=0) == ()
        with pytest.raises(telegram.error.Conflict):
            await first
        await bot.do("set", revoked=True)
        with pytest.raises(telegram.error.InvalidToken):
            await theirs.get_me()
        await bot.do("set", revoked=False)
