"""The Telegram surface with a fake Bot API in a separate process."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.config import settings as config_settings
from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Conversation, Fate, Inbound
from clew.model.surface import Down, Gone, InDoubt, Never, NotSent, Outgoing, Receipt, Surface, TryAgain
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, StoreError
from clew.support.home import Home
from clew.surfaces import telegram
from clew.surfaces.telegram.settings import TelegramConfig
from clew.surfaces.telegram.surface import TelegramSurface
from tests.helpers.clocks import SteppedClock
from tests.helpers.rig import Rig
from tests.surfaces.fakes.process import Fake
from tests.surfaces.hearing import Heard, Quick, Standing, running
from tests.surfaces.telegram.bots import ANN, BOB, GROUP, Bot, file, mention, number_of

HERE = Conversation("telegram", "42")
KNOWN = config_settings.Config(
    threads=config_settings.ThreadsConfig(runtime="scripted"),
    surfaces={"telegram": TelegramConfig(token="7000:x", allow=("42",))},
)


@asynccontextmanager
async def listening(bot: Bot, folder: Path, inbox: Heard | None = None) -> AsyncIterator[Heard]:
    async with running(bot.surface(folder, Quick()), inbox or Heard()) as heard:
        yield heard


async def hear(bot: Bot, folder: Path) -> Inbound:
    """Wait for the next message that it receives."""
    async with listening(bot, folder) as heard:
        [inbound] = await heard.first()
        await bot.confirmed()
        return inbound


def words(text: str, kind: DeliveryKind = DeliveryKind.FINAL, **more: Any) -> Outgoing:
    return Outgoing("U1:final", kind, more.pop("conversation", HERE), "T1", "U1", text, **more)


async def failure(surface: TelegramSurface, outgoing: Outgoing | None = None) -> NotSent:
    with pytest.raises(NotSent) as caught:
        await surface.send(outgoing or words("hello"))
    return caught.value


@pytest.fixture
async def surface(bot: Bot, tmp_path: Path) -> AsyncIterator[TelegramSurface]:
    await bot.do("chat", id=42)
    surface = bot.surface(tmp_path)
    yield surface
    await surface.close()


# Receiving


async def test_a_private_message_is_direct(bot: Bot, tmp_path: Path) -> None:
    said = await bot.say("hello 你好 🧶")
    inbound = await hear(bot, tmp_path)
    assert (inbound.conversation, inbound.message_id) == (HERE, bot.named(said["message_id"]))
    assert (inbound.sender, inbound.sender_id, inbound.text) == ("Ann Lee", "42", "hello 你好 🧶")
    assert (
        inbound.direct
        and not inbound.in_group
        and not inbound.in_thread
        and inbound.quoted is None
        and not inbound.pressed
    )
    assert inbound.sent_at == said["date"] * 1000


@pytest.mark.parametrize(
    ("text", "more", "direct", "heard"),
    [
        ("what do you think?", {}, False, "what do you think?"),
        ("@clew_bot, look at this", mention("@clew_bot, look"), True, "look at this"),
        ("🧶 ask @clew_bot please", mention("🧶 ask @clew_bot please"), True, "🧶 ask @clew_bot please"),
        ("ask @other_bot", mention("ask @other_bot", "@other_bot"), False, "ask @other_bot"),
        ("/new@clew_bot now", {"entities": [{"type": "bot_command", "offset": 0, "length": 13}]}, True, "/new now"),
        ("/new now", {"entities": [{"type": "bot_command", "offset": 0, "length": 4}]}, True, "/new now"),
        (
            "Clew, hi",
            {"entities": [{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 7000}}]},
            True,
            "hi",
        ),
        ("odd", {"entities": [{"type": "mention", "offset": -5, "length": 999999}]}, False, "odd"),
    ],
)
async def test_in_a_group_a_name_or_command_makes_a_message_direct(
    bot: Bot, tmp_path: Path, text: str, more: dict[str, Any], direct: bool, heard: str
) -> None:
    await bot.say(text, chat=GROUP, more=more)
    inbound = await hear(bot, tmp_path)
    assert (inbound.direct, inbound.text) == (direct, heard)
    assert inbound.conversation == Conversation("telegram", str(GROUP)) and inbound.in_group


async def test_a_command_to_another_bot_is_skipped(bot: Bot, tmp_path: Path) -> None:
    other = {"entities": [{"type": "bot_command", "offset": 0, "length": 14}]}
    await bot.say("/new@other_bot", chat=GROUP, more=other)
    await bot.say("/new", chat=GROUP, more={"entities": [{"type": "bot_command", "offset": 0, "length": 4}]})
    assert (await hear(bot, tmp_path)).text == "/new"


async def test_a_reply_to_the_bot_is_direct_and_another_reply_only_quotes(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=GROUP)
    surface = bot.surface(tmp_path)
    receipt = await surface.send(words("an answer", conversation=Conversation("telegram", str(GROUP))))
    async with running(surface, Heard()) as heard:
        theirs = await bot.say("and this?", chat=GROUP, reply=number_of(receipt.message_id))
        await bot.say("I think so", chat=GROUP, user=BOB, reply=theirs["message_id"])
        first, second = await heard.first(2)
    assert (first.direct, first.quoted) == (True, receipt.message_id)
    assert (second.direct, second.quoted) == (False, str(theirs["message_id"]))


async def test_a_topic_is_a_conversation_and_its_first_message_no_quote(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=GROUP, is_forum=True)
    surface = bot.surface(tmp_path)
    topic = await surface.open_thread(Conversation("telegram", str(GROUP)), "  A\nthread " + "x" * 200)
    assert topic is not None and surface.resolve(topic.address) == topic
    [made] = await bot.calls("createForumTopic")
    assert made["name"].startswith("A thread xx") and len(made["name"]) == 128
    await surface.send(words("here we go on", conversation=topic))
    await bot.say("thanks", chat=GROUP, topic=int(topic.address.split("/")[1]))
    async with running(surface, Heard()) as heard:
        [inbound] = await heard.first()
    assert inbound.conversation == topic and inbound.in_thread and inbound.quoted is None and not inbound.direct


async def test_a_quote_from_another_topic_says_where_its_message_is(bot: Bot, tmp_path: Path) -> None:
    surface = bot.surface(tmp_path)
    for chat in (GROUP, 42):
        await bot.do("chat", id=chat, is_forum=True)
        parent = Conversation("telegram", str(chat))
        topic = await surface.open_thread(parent, "another")
        receipt = await surface.send(words("an answer", conversation=parent))
        assert topic is not None
        number = int(topic.address.split("/")[1])
        await bot.say("and this?", chat=chat, topic=number, reply=number_of(receipt.message_id))
    async with running(surface, Heard()) as heard:
        for inbound in await heard.first(2):
            assert inbound.in_thread and inbound.direct and inbound.quoted is not None
            assert inbound.quoted_in == Conversation("telegram", inbound.conversation.address.split("/")[0])


async def test_without_topics_no_thread_is_opened(surface: TelegramSurface, bot: Bot) -> None:
    assert await surface.open_thread(HERE, "a title") is None
    await bot.refuse("createForumTopic", 429, "Too Many Requests: retry after 7", retry_after=7)
    with pytest.raises(TryAgain) as caught:
        await surface.open_thread(HERE, "a title")
    assert caught.value.retry_after == 7


async def test_bot_and_service_messages_are_skipped_and_logged_once(
    bot: Bot, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "clew.surfaces.telegram")
    robot = {"id": 99, "is_bot": True, "first_name": "Robot"}
    await bot.say("I am a bot", user=robot)
    await bot.say("me too", user=robot)
    await bot.say(None, more={"new_chat_title": "x"})
    await bot.say("from a channel", more={"is_automatic_forward": True})
    stranger: tuple[dict[str, Any], ...] = (
        {"edited_message": {"message_id": 1}},
        {"something_new": {"deep": [[]]}},
        {"message": {"message_id": "seven", "chat": {}}},
        {"message": {"message_id": 1, "chat": {"id": 42, "type": "private"}, "from": None, "text": "forged"}},
        {"message": None},
        {"callback_query": {"id": "q", "from": BOB, "data": "y"}},
    )
    for strange in stranger:
        await bot.do("inject", **strange)
    await bot.say("at last")
    assert (await hear(bot, tmp_path)).text == "at last"
    told = [record.getMessage() for record in caplog.records if "are skipped" in record.getMessage()]
    assert len(told) == len(set(told)) and any("something_new" in line for line in told)


@pytest.mark.parametrize(
    ("kind", "about", "name", "media_type"),
    [
        ("document", {"file_name": "../../a b.txt", "mime_type": "text/plain"}, "../../a b.txt", "text/plain"),
        ("photo", {}, "image-1.jpg", "image/jpeg"),
        ("voice", {"mime_type": "application/pdf"}, "application-1.pdf", "application/pdf"),
    ],
)
async def test_a_file_is_downloaded_with_its_message(
    bot: Bot, tmp_path: Path, kind: str, about: dict[str, Any], name: str, media_type: str
) -> None:
    await bot.say(None, files={kind: file(b"what it holds", **about)}, more={"caption": "look"})
    inbound = await hear(bot, tmp_path)
    [attachment] = inbound.attachments
    assert inbound.text == "look"
    assert (attachment.name, attachment.media_type) == (name, media_type)
    path = Path(attachment.path)
    assert path.read_bytes() == b"what it holds" and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.parent == tmp_path


async def test_a_file_that_is_too_large_is_named_instead(bot: Bot, tmp_path: Path) -> None:
    await bot.say(None, files={"document": {"size": (20 << 20) + 1, "file_name": "big.zip"}}, more={"caption": "see"})
    inbound = await hear(bot, tmp_path)
    assert inbound.attachments == () and inbound.text == "see"
    assert inbound.missing == ("[big.zip did not come along: it is larger than 20 MiB]",)


async def test_a_lost_download_is_retried_and_given_up_in_the_end(bot: Bot, tmp_path: Path) -> None:
    await bot.fault("download", "cut_before", times=2)
    await bot.say(None, files={"document": file(b"x", file_name="a.txt")})
    assert len((await hear(bot, tmp_path)).attachments) == 1
    await bot.fault("download", "cut_before", times=100)
    await bot.say("and", files={"document": file(b"x", file_name="b.txt")})
    inbound = await hear(bot, tmp_path)
    assert inbound.attachments == () and "b.txt did not come along" in inbound.missing[0]


@pytest.mark.parametrize("folder", ["taken", "x" * 300])  # the second cannot be downloaded at all
async def test_a_file_that_cannot_be_stored_is_named_with_the_reason(bot: Bot, tmp_path: Path, folder: str) -> None:
    (tmp_path / "taken").write_text("no folder")
    await bot.say(None, files={"document": file(b"x", file_name="a.txt")}, more={"caption": "see"})
    inbound = await hear(bot, tmp_path / folder)
    assert inbound.attachments == ()
    assert inbound.missing[0].startswith("[a.txt did not come along: it cannot be kept here: ")


async def test_files_of_a_person_who_may_not_speak_are_not_fetched(bot: Bot, tmp_path: Path) -> None:
    async with listening(bot, tmp_path, Heard(fate=Fate.REFUSED, is_welcome=False)) as heard:
        await bot.say(None, files={"document": file(b"x", file_name="a.txt")})
        await bot.say("among us", chat=GROUP, files={"document": file(b"x", file_name="b.txt")})
        first, second = await heard.first(2)
        await bot.confirmed()
    assert (first.attachments, second.attachments, await bot.calls("getFile")) == ((), (), [])
    assert list(tmp_path.iterdir()) == []


async def test_the_files_of_a_message_that_is_refused_are_not_kept(bot: Bot, tmp_path: Path) -> None:
    async with listening(bot, tmp_path, Heard(fate=Fate.REFUSED)) as heard:
        await bot.say(None, files={"document": file(b"x", file_name="a.txt")})
        [inbound] = await heard.first()
        await bot.confirmed()
    assert len(inbound.attachments) == 1 and list(tmp_path.iterdir()) == []


# Commit, then acknowledge


async def test_an_update_is_confirmed_only_when_it_is_committed(bot: Bot, tmp_path: Path) -> None:
    inbox = Heard(hold=asyncio.Event())
    async with listening(bot, tmp_path, inbox):
        await bot.say("one")
        await inbox.entered.wait()
        assert len((await bot.state())["pending"]) == 1
        assert inbox.hold is not None
        inbox.hold.set()
        await bot.confirmed()
    assert [inbound.text for inbound in inbox.got] == ["one"]


async def test_killed_before_the_commit_the_message_comes_again(bot: Bot, tmp_path: Path) -> None:
    inbox = Heard(hold=asyncio.Event())
    async with listening(bot, tmp_path, inbox):
        await bot.say("one")
        await inbox.entered.wait()
    assert inbox.got == [] and (await hear(bot, tmp_path)).text == "one"


async def test_messages_that_cannot_be_stored_come_again_in_order(bot: Bot, tmp_path: Path) -> None:
    inbox = Heard(troubles=[StoreError("the disk is full"), StoreError("the disk is full")])
    surface = bot.surface(tmp_path, Quick())
    for text in ("one", "two", "three"):
        await bot.say(text)
    async with running(surface, inbox):
        assert [inbound.text for inbound in await inbox.first(3)] == ["one", "two", "three"]
        await bot.confirmed()
        assert surface.trouble == ""


async def test_while_nothing_moves_it_asks_ever_less_often(bot: Bot, tmp_path: Path) -> None:
    inbox, clock = Heard(hold=asyncio.Event()), Quick()
    await bot.say("one")
    async with running(bot.surface(tmp_path, clock), inbox):
        await bot.called("getUpdates", 68)
        assert clock.waited[:5] == [0.25, 0.5, 1, 1, 1] and sum(clock.waited[:62]) < 62
        assert clock.waited[62:67] == [2, 4, 8, 10, 10]
        assert len((await bot.state())["pending"]) == 1  # nothing is confirmed


async def test_a_press_during_a_long_download_waits_a_second_at_most(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=43)
    clock = SteppedClock()
    surface = bot.surface(tmp_path, clock)
    where = Conversation("telegram", "43")
    card = await surface.send(words("May I?", conversation=where, buttons=(Button("Yes", "y"),)))
    await bot.fault("download", "hold")
    async with running(surface, Heard(words="Noted.")):
        await bot.say("look", files={"document": file(b"slow")})
        await bot.called("download")
        for calls in range(2, 20):
            await clock.asleep()
            clock.move(1.0)
            await bot.called("getUpdates", calls)
        await clock.asleep()
        clock.move(0.5)  # in the middle of the pause
        pressed = asyncio.create_task(bot.press(number_of(card.message_id), "Yes", chat=43, user=BOB))
        await bot.until(lambda state: len(state["pending"]) == 2)
        clock.move(0.5)
        assert await pressed == "Noted."


async def test_as_soon_as_one_is_handled_it_asks_again(bot: Bot, tmp_path: Path) -> None:
    inbox, clock = Heard(hold=(hold := asyncio.Event())), Standing()
    await bot.say("one")
    async with running(bot.surface(tmp_path, clock), inbox):
        await clock.seen()
        hold.set()
        await bot.confirmed()
        await bot.say("two")
        assert [inbound.text for inbound in await inbox.first(2)] == ["one", "two"]


async def test_a_full_page_that_waits_is_said_and_then_the_rest_comes(bot: Bot, tmp_path: Path) -> None:
    inbox, clock = Heard(hold=(hold := asyncio.Event())), Standing()
    surface = bot.surface(tmp_path, clock)
    for count in range(101):
        await bot.say(str(count))
    async with running(surface, inbox):
        await clock.seen()
        assert "100 updates of Telegram are not handled yet" in surface.trouble
        hold.set()
        assert [inbound.text for inbound in await inbox.first(101)] == [str(count) for count in range(101)]
        await bot.confirmed()
        assert surface.trouble == ""


async def test_a_slow_download_holds_up_nobody_else_and_nothing_after_it_is_confirmed(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=43)
    surface = bot.surface(tmp_path)
    card = await surface.send(
        words("May I?", conversation=Conversation("telegram", "43"), buttons=(Button("Yes", "y"),))
    )
    await bot.fault("download", "hold")
    async with running(surface, Heard(words="Noted.")) as heard:
        slow = await bot.say("look", files={"document": file(b"slow")})
        await bot.say("and this")
        await bot.called("download")
        assert await bot.press(number_of(card.message_id), "Yes", chat=43, user=BOB) == "Noted."
        await bot.say("hello", chat=43, user=BOB)
        assert [inbound.sender for inbound in await heard.first(2)] == ["Bob", "Bob"]
        assert slow["message_id"] in (await bot.state())["waiting"] and len((await bot.state())["pending"]) == 4
        await bot.do("release")
        assert [inbound.text for inbound in await heard.first(4)] == ["y", "hello", "look", "and this"]
        await bot.confirmed()


async def test_dropped_during_a_slow_download_everything_after_it_comes_again_and_runs_once(
    bot: Bot, tmp_path: Path
) -> None:
    await bot.fault("download", "hold")
    config = dataclasses.replace(KNOWN, surfaces={"telegram": TelegramConfig(token="7000:x", allow=("42", "43"))})
    surface = bot.surface(tmp_path / "files")
    async with Rig(tmp_path, config=config, surfaces={"telegram": surface}):
        await bot.say("!text first", files={"document": file(b"slow")})
        await bot.say("!text second", chat=43, user=BOB)
        await bot.until(lambda state: len(_bot_texts(state, "second")) == 1)
        assert len((await bot.state())["pending"]) == 2
    await surface.close()
    surface = bot.surface(tmp_path / "files")
    async with Rig(tmp_path, config=config, surfaces={"telegram": surface}):
        await bot.confirmed()
        state = await bot.until(lambda state: _bot_texts(state, "first"))
        assert len(_bot_texts(state, "second")) == 1
    await surface.close()


def _bot_texts(state: dict[str, Any], text: str) -> list[str]:
    return [each["text"] for each in state["messages"] if each["from"]["is_bot"] and text in each["text"]]


async def test_an_update_that_fails_does_not_stop_the_others(bot: Bot, tmp_path: Path) -> None:
    await bot.say("one")
    await bot.say("two")
    async with listening(bot, tmp_path, Heard(troubles=[RuntimeError("a bug")])) as heard:
        assert [inbound.text for inbound in await heard.first()] == ["two"]
        await bot.confirmed()


# Buttons


async def test_a_button_press_sends_its_text_and_is_answered(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=42)
    surface = bot.surface(tmp_path)
    keys = (Button("Allow", "y K7"), Button("Deny", "n K7"), Button("Allow always and for ever", "a K7"))
    receipt = await surface.send(words("May I?", DeliveryKind.ASK, buttons=(*keys, Button("too long", "x" * 65))))
    [call] = await bot.calls("sendMessage")
    assert [[key["text"] for key in row] for row in call["reply_markup"]["inline_keyboard"]] == [
        ["Allow", "Deny"],
        ["Allow always and for ever"],
    ]
    async with running(surface, Heard(words="ok " * 100)) as heard:
        toast = await bot.press(number_of(receipt.message_id), "Deny", user=BOB)
        [inbound] = await heard.first()
    assert (inbound.text, inbound.pressed, inbound.direct) == ("n K7", True, True)
    assert (inbound.quoted, inbound.sender_id, inbound.conversation) == (receipt.message_id, "43", HERE)
    assert toast.startswith("ok ok") and len(toast) == 200


async def test_a_press_that_cannot_be_stored_is_answered_too(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=42)
    surface = bot.surface(tmp_path, Quick())
    receipt = await surface.send(words("May I?", buttons=(Button("Yes", "y"),)))
    inbox = Heard(troubles=[StoreError("the disk is full")])
    async with running(surface, inbox):
        assert "cannot store" in await bot.press(number_of(receipt.message_id), "Yes")
        await inbox.first()


async def test_a_press_of_somebody_who_reads_chinese_is_answered_in_chinese(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=42)
    surface = bot.surface(tmp_path, Quick())
    receipt = await surface.send(words("May I?", buttons=(Button("Yes", "y"),)))
    inbox = Heard(troubles=[StoreError("the disk is full")])
    async with running(surface, inbox):
        reader = {**BOB, "language_code": "zh-hans"}
        assert await bot.press(number_of(receipt.message_id), "Yes", user=reader) == "暂时无法保存，稍后重试。"
        await inbox.first()


# Sending


async def test_an_answer_is_markdown_with_a_sound_and_without_previews(surface: TelegramSurface, bot: Bot) -> None:
    receipt = await surface.send(words("**done**, see https://example.org", note="3 s"))
    [message] = await bot.shown(1)
    assert message["text"] == "done, see https://example.org\n\n3 s" and not message["silent"]
    assert [entity["type"] for entity in message["entities"]] == ["bold", "italic"] and not message["previews"]
    assert (receipt.conversation, receipt.message_id) == (HERE, bot.named(message["message_id"]))


@pytest.mark.parametrize("kind", [DeliveryKind.PLACEHOLDER, DeliveryKind.NOTICE])
async def test_only_answers_and_gates_make_a_sound(surface: TelegramSurface, bot: Bot, kind: DeliveryKind) -> None:
    await surface.send(words("working", kind))
    assert (await bot.shown(1))[0]["silent"]


async def test_what_only_sub_agents_ask_makes_no_sound(surface: TelegramSurface, bot: Bot) -> None:
    await surface.send(replace(words("May I?", DeliveryKind.ASK), silent=True))
    assert (await bot.shown(1))[0]["silent"]


@pytest.mark.process
@pytest.mark.parametrize("text", ["x" * 4096, "🧶" * 2048, "", "  \n", "a\x00b\ud800", "**", "\u202eabc\u200b"])
async def test_any_text_can_be_delivered(surface: TelegramSurface, bot: Bot, text: str) -> None:
    await surface.send(words(text))
    assert len(await bot.shown(1)) == 1


async def test_a_message_is_edited_and_editing_it_to_the_same_is_fine(surface: TelegramSurface, bot: Bot) -> None:
    receipt = await surface.send(words("May I?", buttons=(Button("Yes", "y"),)))
    for _ in range(2):
        await surface.edit(receipt, words("*allowed*"))
    [message] = await bot.shown(1)
    assert (message["text"], message["buttons"], message["edits"]) == ("allowed", [], 1)


async def placed(surface: TelegramSurface, address: str) -> tuple[Receipt, Outgoing]:
    where = Conversation("telegram", address)
    working = words("Working on it …", DeliveryKind.PLACEHOLDER, conversation=where, buttons=(Button("Stop", "/stop"),))
    return await surface.send(working), replace(working, text="Working on it … 3 s", live="**so far：**你好 🧶")


async def test_in_a_private_chat_live_text_is_a_draft(surface: TelegramSurface, bot: Bot) -> None:
    receipt, now = await placed(surface, "42")
    await surface.edit(receipt, now)
    await surface.edit(receipt, replace(now, text="Working on it … 6 s", live="**so far：**你好 🧶 and on"))
    first, second = await bot.calls("sendMessageDraft")
    assert first["draft_id"] == second["draft_id"] > 0 and second["text"] == "so far：你好 🧶 and on"
    assert first["entities"] == [{"type": "bold", "offset": 0, "length": 7}]
    [shown] = await bot.shown()
    assert shown["text"] == "Working on it … 6 s" and [button["text"] for button in shown["buttons"]] == ["Stop"]
    await surface.send(words("so far：你好 🧶 and on."))
    assert not (await bot.state())["drafts"]


@pytest.mark.parametrize("refused", [False, True])
async def test_without_drafts_live_text_is_edited_in(surface: TelegramSurface, bot: Bot, refused: bool) -> None:
    chat = 42 if refused else GROUP
    await bot.do("chat", id=chat)
    if refused:
        await bot.refuse("sendMessageDraft", 404, "Not Found: method not found", times=100)
    receipt, now = await placed(surface, str(chat))
    for live in ("so far", f"{'🧶' * 2000} the end"):
        await surface.edit(receipt, replace(now, live=live))
    assert len(await bot.calls("sendMessageDraft")) == refused  # it is not tried again
    [shown] = await bot.shown(chat=chat)
    assert shown["text"].startswith("Working on it … 3 s\n\n🧶") and shown["text"].endswith("the end")
    assert shown["buttons"]


async def test_a_busy_platform_delays_the_draft(surface: TelegramSurface, bot: Bot) -> None:
    receipt, now = await placed(surface, "42")
    await bot.refuse("sendMessageDraft", 429, "Too Many Requests", retry_after=7)
    with pytest.raises(TryAgain) as caught:
        await surface.edit(receipt, now)
    assert caught.value.retry_after == 7
    await surface.edit(receipt, now)
    assert (await bot.state())["drafts"]["42"]["text"] == "so far：你好 🧶"


async def test_it_shows_that_somebody_types(surface: TelegramSurface, bot: Bot) -> None:
    await surface.typing(HERE)
    assert await bot.calls("sendChatAction") == [{"chat_id": 42, "action": "typing"}]
    with pytest.raises(Never):
        await surface.typing(Conversation("telegram", "4711"))


async def test_entities_that_telegram_refuses_are_left_out(surface: TelegramSurface, bot: Bot) -> None:
    await bot.refuse("sendMessage", 400, "Bad Request: can't parse entities: unsupported")
    await surface.send(words("**done**"))
    [message] = await bot.shown(1)
    assert (message["text"], message["entities"]) == ("done", [])


async def test_a_group_that_became_a_supergroup_is_followed(surface: TelegramSurface, bot: Bot) -> None:
    await bot.do("chat", id=-7, moved=-1007)
    await bot.do("chat", id=-1007)
    receipt = await surface.send(words("hello", conversation=Conversation("telegram", "-7")))
    assert receipt.conversation == Conversation("telegram", "-1007") and len(await bot.shown(1, -1007)) == 1


async def test_a_refused_send_tells_that_the_group_moved(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=-7, type="group")
    surface = bot.surface(tmp_path)
    old = words("hello", conversation=Conversation("telegram", "-7"))
    receipt = await surface.send(old)
    await bot.do("chat", id=-7, moved=-1007)
    await bot.do("chat", id=-1007, is_forum=True)
    async with running(surface) as heard:
        await bot.until(lambda state: state["polling"])
        await surface.send(old)
        with pytest.raises(Never):
            await surface.edit(receipt, replace(old, text="changed"))
        opened = await surface.open_thread(old.conversation, "a topic")
    assert opened is not None and opened.address.startswith("-1007/") and heard.moves == [("-7", "-1007")] * 3


async def test_a_thread_goes_on_in_the_supergroup_with_its_open_question(bot: Bot, tmp_path: Path) -> None:
    await bot.do("chat", id=-7, type="group")
    surface = bot.surface(tmp_path / "files")
    async with Rig(tmp_path, config=KNOWN, surfaces={"telegram": surface}) as rig:
        text = "@clew_bot !approve make\n!text made it"
        await bot.say(text, chat=-7, more=mention(text))
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        await bot.do("upgrade", chat=-7, to=-1007, user=ANN)
        await bot.confirmed()
        await rig.hasten()
        state = await bot.until(lambda state: [m for m in _asked(state) if m["chat"]["id"] == -1007])
        [card] = [m for m in _asked(state) if m["chat"]["id"] == -1007]
        await bot.press(card["message_id"], "✅ Allow", chat=-1007)
        await bot.until(lambda state: [m for m in state["messages"] if m.get("text", "").startswith("made it")])
        [answer] = [m for m in (await bot.state())["messages"] if m.get("text", "").startswith("made it")]
        assert answer["chat"]["id"] == -1007
        again = "@clew_bot !text still the same"
        await bot.say(again, chat=-1007, more=mention(again))
        await bot.until(lambda state: _bot_texts(state, "still the same"))
        assert len({entry.thread for entry in rig._entries if entry.kind == "turn.ended"}) == 1
    await surface.close()


def _asked(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in state["messages"] if "✅ Allow" in [b["text"] for b in each.get("buttons", ())]]


# Another bot on the same home


@pytest.fixture
async def later(fake_telegram: Fake) -> AsyncIterator[Bot]:
    """Make another bot; its messages are numbered from 1 again."""
    bot = await Bot(fake_telegram, 7001).open()
    yield bot
    await bot.close()


async def answered(bot: Bot, text: str) -> None:
    await bot.until(lambda state: any(text in m["text"] and m["from"]["is_bot"] for m in state["messages"]))


async def test_a_message_to_a_new_bot_is_not_a_repeat_of_an_old_one(bot: Bot, later: Bot, tmp_path: Path) -> None:
    for each in (bot, later):
        surface = each.surface(tmp_path / "files")
        async with Rig(tmp_path, config=KNOWN, surfaces={"telegram": surface}):
            assert (await each.say(f"!text from {each.number}"))["message_id"] == 1
            await answered(each, f"from {each.number}")
        await surface.close()


async def test_a_reply_quotes_what_its_own_bot_has_sent(bot: Bot, later: Bot, tmp_path: Path) -> None:
    for each in (bot, later):
        await each.do("chat", id=42)
        async with running(surface := each.surface(tmp_path)) as heard:
            receipt = await surface.send(words("an answer"))
            await each.say("and this?", reply=number_of(receipt.message_id))
            [inbound] = await heard.first()
        assert inbound.quoted == receipt.message_id == each.named(1)


async def test_in_a_supergroup_a_message_is_the_same_for_every_bot(bot: Bot, later: Bot, tmp_path: Path) -> None:
    names = []
    for each in (bot, later):
        await each.say("@clew_bot hello", chat=GROUP, more=mention("@clew_bot hello"))
        names.append((await hear(each, tmp_path)).message_id)
    assert names == ["1", "1"]


async def test_a_message_of_another_bot_is_not_edited_and_one_without_a_bot_is(
    bot: Bot, later: Bot, tmp_path: Path
) -> None:
    surface = later.surface(tmp_path)
    await later.do("chat", id=42)
    await surface.send(words("hello"))
    with pytest.raises(Never, match="another bot"):
        await surface.edit(Receipt(HERE, bot.named(1)), words("of the other"))
    await surface.edit(Receipt(HERE, "1"), words("of an older clew"))
    assert [message["text"] for message in await later.shown(1)] == ["of an older clew"]
    await surface.close()


async def test_the_files_of_two_bots_are_kept_apart(bot: Bot, later: Bot, tmp_path: Path) -> None:
    kept = []
    for each in (bot, later):
        await each.say(None, files={"document": file(str(each.number).encode(), file_name="a.txt")})
        [attachment] = (await hear(each, tmp_path)).attachments
        kept.append(Path(attachment.path).read_bytes())
    assert kept == [b"7000", b"7001"]


# Errors


@pytest.mark.parametrize(
    ("code", "description", "kind", "parameters"),
    [
        (429, "Too Many Requests: retry after 9", TryAgain, {"retry_after": 9}),
        (400, "Bad Request: chat not found", Gone, {}),
        (400, "Bad Request: message thread not found", Gone, {}),
        (400, "Bad Request: TOPIC_CLOSED", Gone, {}),
        (400, "Bad Request: message is too long", Never, {}),
        (403, "Forbidden: bot was blocked by the user", Gone, {}),
        (401, "Unauthorized", Down, {}),
        (500, "Internal Server Error", InDoubt, {}),
        (502, "Bad Gateway", InDoubt, {}),
    ],
)
async def test_each_refusal_maps_to_a_delivery_error(
    surface: TelegramSurface, bot: Bot, code: int, description: str, kind: type, parameters: dict[str, Any]
) -> None:
    await bot.refuse("sendMessage", code, description, **parameters)
    trouble = await failure(surface)
    assert type(trouble) is kind and trouble.retry_after == parameters.get("retry_after")
    assert bot.token not in trouble.reason and (kind is Down or description.partition(": ")[2] in trouble.reason)
    await surface.send(words("hello"))


@pytest.mark.parametrize(("kind", "arrived"), [("cut_before", 0), ("cut_after", 1)])
async def test_a_lost_response_is_in_doubt(surface: TelegramSurface, bot: Bot, kind: str, arrived: int) -> None:
    await bot.fault("sendMessage", kind)
    assert type(await failure(surface)) is InDoubt
    assert len(await bot.shown()) == arrived


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, Down) for status in (302, 400, 403, 404, 407, 421)),
        *((408, InDoubt), (502, InDoubt), (429, TryAgain), (413, Never)),
    ],
)
async def test_a_proxy_page_before_telegram_is_not_a_refusal(
    surface: TelegramSurface, bot: Bot, status: int, kind: type
) -> None:
    await bot.fault("sendMessage", "odd", status=status, body="<html>gateway</html>")
    trouble = await failure(surface)
    assert isinstance(trouble, kind) and f"HTTP {status}" in trouble.reason
    assert kind is not Down or "base_url" in trouble.reason
    await surface.send(words("hello"))
    assert len(await bot.shown(1)) == 1


async def test_a_wrong_base_url_is_reported_while_it_lasts(bot: Bot, tmp_path: Path) -> None:
    surface = bot.surface(tmp_path, clock := Standing())
    await bot.fault("getMe", "odd", status=404, body="<html>nothing here</html>")
    async with running(surface, Heard()) as heard:
        await clock.seen()
        assert "HTTP 404" in surface.trouble and "check base_url of [surfaces.telegram]" in surface.trouble
        clock.go.set()
        await bot.say("hello")
        await heard.first()
        assert surface.trouble == ""


async def test_a_download_blocked_by_a_gateway_is_retried(bot: Bot, tmp_path: Path) -> None:
    await bot.fault("getFile", "odd", status=404, body="<html>gateway</html>")
    await bot.fault("download", "odd", status=404, body="<html>gateway</html>")
    await bot.say(None, files={"document": file(b"x", file_name="a.txt")})
    assert len((await hear(bot, tmp_path)).attachments) == 1


async def test_an_answer_blocked_by_a_gateway_waits_and_arrives(bot: Bot, tmp_path: Path) -> None:
    await bot.fault("sendMessage", "odd", status=403, body="<html>gateway</html>", times=1000)
    surface = bot.surface(tmp_path / "files")
    async with Rig(tmp_path, config=KNOWN, surfaces={"telegram": surface}) as rig:
        await bot.say("!text hello")
        await bot.called("sendMessage", 3)
        [seen] = await rig.engine.status.surfaces()
        assert seen.state == "down" and seen.reason.startswith("HTTP 403 to sendMessage")
        await bot.do("set", faults=[])
        ended = await rig.saw("turn.ended")
        await rig.delivered(f"{ended.turn}:final")
        [seen] = await rig.engine.status.surfaces()
        assert seen.state == "up" and any("hello" in message["text"] for message in await bot.shown(1))
    await surface.close()


async def test_an_unreachable_platform_is_down(surface: TelegramSurface, bot: Bot) -> None:
    await bot.do("cut")
    trouble = await failure(surface)
    assert type(trouble) is Down and "out of reach" in trouble.reason and bot.token not in trouble.reason
    await bot.do("mend")
    await surface.send(words("hello"))


async def test_a_chat_that_removed_the_bot_fails_permanently(surface: TelegramSurface, bot: Bot) -> None:
    await bot.do("chat", id=GROUP, kicked=True)
    trouble = await failure(surface, words("hello", conversation=Conversation("telegram", str(GROUP))))
    assert type(trouble) is Gone and "kicked" in trouble.reason


async def test_the_placeholders_of_a_group_share_its_pace_and_answers_do_not_wait(bot: Bot, tmp_path: Path) -> None:
    class Still(Quick):
        def monotonic(self) -> float:
            return 0.0

    clock = Still()
    surface = bot.surface(tmp_path, clock)
    for chat in (GROUP, 43):
        await bot.do("chat", id=chat)
    where = Conversation("telegram", str(GROUP))
    sent = [await surface.send(words(f"{name} …", conversation=where)) for name in "ab"]
    for number in range(4):
        for receipt in sent:
            change = words(f"{receipt.message_id} {number}", conversation=where)
            await surface.edit(receipt, replace(change, kind=DeliveryKind.PLACEHOLDER))
    await surface.send(words("the answer", conversation=where))
    assert clock.waited == [6, 9, 12, 15, 18, 21, 24, 27]
    direct = Conversation("telegram", "43")
    receipt = await surface.send(words("one", conversation=direct))
    await surface.edit(receipt, replace(words("two", conversation=direct), kind=DeliveryKind.PLACEHOLDER))
    assert len(clock.waited) == 8
    await surface.close()


async def test_a_message_that_is_gone_cannot_be_edited(surface: TelegramSurface, bot: Bot) -> None:
    receipt = await surface.send(words("hello"))
    await bot.refuse("editMessageText", 400, "Bad Request: message to edit not found")
    with pytest.raises(Never, match="not found"):
        await surface.edit(receipt, words("other"))
    with pytest.raises(Never, match="not a Telegram message"):
        await surface.edit(replace(receipt, message_id="terminal"), words("other"))


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ({"revoked": True}, "refuses the token"),
        ({"webhook": "https://example.org"}, "webhook is set"),
    ],
)
async def test_while_it_cannot_receive_it_says_why_and_then_recovers(
    bot: Bot, tmp_path: Path, arm: dict[str, Any], said: str
) -> None:
    surface = bot.surface(tmp_path, clock := Standing())
    await bot.do("set", **arm)
    async with running(surface, Heard()) as heard:
        await clock.seen()
        assert said in surface.trouble
        await bot.do("set", **dict.fromkeys(arm, ""))
        clock.go.set()
        await bot.say("hello")
        await heard.first()
        assert surface.trouble == ""


async def test_when_another_program_polls_it_says_so(bot: Bot, tmp_path: Path) -> None:
    clock, inbox = Quick(), Heard()
    surface = bot.surface(tmp_path, clock)
    await bot.refuse("getUpdates", 409, "Conflict: terminated by other getUpdates request")
    async with running(surface, inbox):
        await bot.called("getUpdates", 2)
        await bot.say("hello")
        await inbox.first()
    assert clock.waited[:1] == [0.5]


async def test_two_clews_of_one_person_do_not_share_a_bot(bot: Bot, tmp_path: Path) -> None:
    first, second = bot.surface(tmp_path), bot.surface(tmp_path, clock := Standing())
    async with running(first, Heard()):
        await bot.called("getUpdates")
        async with running(second, Heard()):
            await clock.seen()
            assert "another clew of yours" in second.trouble and first.trouble == ""
            assert len(await bot.calls("getUpdates")) == 1
    async with running(second, Heard()):
        await bot.called("getUpdates", 2)
        assert second.trouble == ""


async def test_it_waits_as_long_as_telegram_says(bot: Bot, tmp_path: Path) -> None:
    clock, inbox = Quick(), Heard()
    await bot.refuse("getUpdates", 429, "Too Many Requests: retry after 17", retry_after=17)
    await bot.say("hello")
    async with running(bot.surface(tmp_path, clock), inbox):
        await inbox.first()
    assert clock.waited[:1] == [17]


async def test_after_a_disconnect_it_continues_where_it_was(bot: Bot, tmp_path: Path) -> None:
    surface = bot.surface(tmp_path)
    async with running(surface, Heard()) as heard:
        await bot.say("one")
        await heard.first()
        await bot.do("cut")
        await bot.say("two")
        await bot.do("mend")
        assert [inbound.text for inbound in await heard.first(2)] == ["one", "two"]
        await bot.confirmed()


# Setup


async def test_the_command_menu_is_set_once_in_both_languages(bot: Bot, tmp_path: Path) -> None:
    async with listening(bot, tmp_path):
        english, chinese = await bot.called("setMyCommands", 2)
        assert ("language_code" in english, chinese["language_code"]) == (False, "zh")
        assert english["commands"][0] == {"command": "new", "description": "Start a new thread"}
        assert chinese["commands"][0] == {"command": "new", "description": "开启新会话"}
    async with listening(bot, tmp_path):
        await bot.called("getMyCommands", 4)
        await bot.say("hello")
        await bot.confirmed()
    assert len(await bot.calls("setMyCommands")) == 2


@pytest.mark.parametrize("method", ["getMyCommands", "setMyCommands"])
async def test_a_refused_command_menu_does_no_harm(bot: Bot, tmp_path: Path, method: str) -> None:
    await bot.refuse(method, 400, "Bad Request")
    async with listening(bot, tmp_path) as heard:
        await bot.called(method)
        await bot.say("hello")
        [inbound] = await heard.first()
        await bot.confirmed()
    assert inbound.text == "hello"


async def test_it_is_a_surface(surface: TelegramSurface) -> None:
    checked: Surface = surface
    assert checked.name == "telegram" and checked.can.edit and checked.can.threads and checked.can.chat
    assert checked.can.idempotency_window == 0 and not checked.can.read_back
    assert await checked.find(words("x")) is None


async def test_an_address_is_a_number_and_an_empty_one_is_the_home(bot: Bot, tmp_path: Path) -> None:
    surface = bot.surface(tmp_path, home="-100/7")
    assert surface.resolve("") == Conversation("telegram", "-100/7")
    assert surface.resolve("42") == HERE
    for wrong in ("ann", "@ann", "042", "1/", "1/2/3", "-0", "٤٢", "1 ", "1" * 30):
        with pytest.raises(BadInput, match="not a Telegram chat"):
            surface.resolve(wrong)
    with pytest.raises(BadInput, match="set `home`"):
        bot.surface(tmp_path).resolve("")


def made(text: str, folder: Path) -> TelegramSurface | None:
    settings = config_settings.parse(f"[surfaces.telegram]\n{text}", "config.toml")
    return telegram.make(settings.surfaces.get("telegram", TelegramConfig()), SystemClock(), Home(folder))


async def test_without_a_token_there_is_no_surface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("", tmp_path) is None and made('allow = ["42"]', tmp_path) is None
    assert made('token = "7:x"', tmp_path) is not None
    monkeypatch.setenv("BOT", "7:from the environment\n")
    assert made('token_env = "BOT"', tmp_path) is not None
    settings = config_settings.parse('[surfaces.telegram]\ntoken_env = "BOT"', "config.toml")
    assert settings.secrets() == {"7:from the environment"}


async def test_a_missing_token_is_reported_and_deliveries_wait(tmp_path: Path) -> None:
    surface = made('token_env = "NOWHERE"', tmp_path)
    assert surface is not None
    await surface.run(Heard())
    assert "NOWHERE" in surface.trouble
    assert type(await failure(surface)) is Down
    async with Rig(tmp_path, surfaces={"telegram": surface}) as rig:
        [seen] = await rig.engine.status.surfaces()
        assert (seen.name, seen.state, seen.reason) == ("telegram", "down", surface.trouble)
    await surface.close()


async def test_an_answer_replies_to_its_question_and_is_sent_plainly_if_that_is_gone(
    surface: TelegramSurface, bot: Bot
) -> None:
    asked = bot.named((await bot.say("hello"))["message_id"])
    for gone in (bot.named(999), "press-1", "8000:1"):  # deleted, a button, a message to another bot
        await surface.send(words("plain", reply_to=gone))
    await surface.send(words("answer", reply_to=asked))
    *plain, answer = await bot.shown(4)
    assert all("reply_to_message" not in each for each in plain)
    assert bot.named(answer["reply_to_message"]["message_id"]) == asked


async def test_a_message_is_marked_as_heard(surface: TelegramSurface, bot: Bot) -> None:
    asked = await bot.say("hello")
    await surface.react(HERE, bot.named(asked["message_id"]))
    [message] = [each for each in (await bot.state())["messages"] if "reactions" in each]
    assert (message["message_id"], message["reactions"]) == (asked["message_id"], ["👀"])


async def test_the_pictures_of_an_album_name_it(bot: Bot, tmp_path: Path) -> None:
    await bot.say(None, files={"photo": file(b"one")}, more={"media_group_id": "g1", "caption": "look"})
    assert (await hear(bot, tmp_path)).album == "g1"
