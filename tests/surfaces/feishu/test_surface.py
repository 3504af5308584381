"""The Feishu surface with a fake platform in a separate process."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clew.config import settings as config_settings
from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Conversation, Fate, Inbound
from clew.model.surface import Down, Gone, InDoubt, Never, NotSent, Outgoing, Surface, TryAgain, Units
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, ClewError, ConfigError, StoreError
from clew.support.home import Home
from clew.surfaces import feishu
from clew.surfaces.feishu import receiving
from clew.surfaces.feishu.frames import DATA, Frame, encode
from clew.surfaces.feishu.settings import FeishuConfig
from clew.surfaces.feishu.surface import FeishuSurface
from clew.texts.bilingual import zh
from tests.surfaces.fakes.process import PATIENCE
from tests.surfaces.feishu.apps import ALONE, ANN, BOB, BOT, GROUP, App, labels, mention, words
from tests.surfaces.hearing import Heard, Quick, Standing, running

HERE = Conversation("feishu", ALONE)
ASK = (Button("Allow", "K7 y"), Button("Always", "K7 thread"), Button("Deny", "K7 n"))


async def hear(app: App, folder: Path) -> Inbound:
    """Wait for the next message that it receives."""
    async with running(app.surface(folder, Quick())) as heard:
        [inbound] = await heard.first()
        await app.confirmed()
        return inbound


def owed(text: str, kind: DeliveryKind = DeliveryKind.FINAL, **more: Any) -> Outgoing:
    name, where = more.pop("id", "U1:final"), more.pop("conversation", HERE)
    return Outgoing(name, kind, where, "T1", "U1", text, **more)


async def failure(surface: FeishuSurface, outgoing: Outgoing | None = None) -> NotSent:
    with pytest.raises(NotSent) as caught:
        await surface.send(outgoing or owed("hello"))
    return caught.value


@pytest.fixture
async def surface(app: App, tmp_path: Path) -> AsyncIterator[FeishuSurface]:
    surface = app.surface(tmp_path, Quick())
    yield surface
    await surface.close()


# Receiving


async def test_a_private_message_is_direct(app: App, tmp_path: Path) -> None:
    await app.do("set", names={ANN: "Ann Lee"})
    said = await app.say("hello 你好 🧶")
    inbound = await hear(app, tmp_path)
    assert (inbound.conversation, inbound.message_id) == (HERE, said["message_id"])
    assert (inbound.sender, inbound.sender_id, inbound.text) == ("Ann Lee", ANN, "hello 你好 🧶")
    assert inbound.sent_at == int(said["create_time"])
    assert inbound.direct and not inbound.in_group and not inbound.in_thread and not inbound.pressed
    assert inbound.quoted is None


async def test_an_unreadable_name_is_the_id_until_a_mention_has_it(app: App, tmp_path: Path) -> None:
    async with running(app.surface(tmp_path)) as heard:
        await app.say("one", user=BOB)
        await heard.first(1)
        await app.say("@_user_1 hi", mentions=[mention("@_user_1", BOB, "Bob")])
        await app.say("two", user=BOB)
        first, second, third = await heard.first(3)
    assert (first.sender, second.text, third.sender) == (BOB, "@Bob hi", "Bob")
    assert [call["path1"] for call in await app.calls("user")] == [BOB, ANN]


@pytest.mark.parametrize(
    ("text", "mentions", "direct", "heard"),
    [
        ("what do you think?", None, False, "what do you think?"),
        ("@_user_1 look", [mention("@_user_1", BOT, "clew")], True, "look"),
        (
            "@_user_1 /new @_user_2",
            [mention("@_user_1", BOT, "clew"), mention("@_user_2", BOB, "Bob")],
            True,
            "/new @Bob",
        ),
        ("@_user_1 you?", [mention("@_user_1", BOB, "Bob")], False, "@Bob you?"),
        ("@_all hi", [], False, "@_all hi"),
    ],
)
async def test_in_a_group_a_mention_makes_a_message_direct(
    app: App, tmp_path: Path, text: str, mentions: Any, direct: bool, heard: str
) -> None:
    await app.say(text, chat=GROUP, mentions=mentions)
    inbound = await hear(app, tmp_path)
    assert (inbound.direct, inbound.text) == (direct, heard)
    assert inbound.conversation == Conversation("feishu", GROUP) and inbound.in_group


async def test_a_reply_quotes_and_in_a_thread_each_message_replies_to_the_first(app: App, tmp_path: Path) -> None:
    async with running(app.surface(tmp_path)) as heard:
        await app.say("a", chat=GROUP, parent_id="om_1", root_id="om_0")
        await app.say("b", chat=GROUP, parent_id="om_0", root_id="om_0", thread_id="omt_1")
        await app.say("c", chat=GROUP, parent_id="om_1", root_id="om_0", thread_id="omt_1")
        a, b, c = await heard.first(3)
    assert (a.quoted, b.quoted, c.quoted) == ("om_1", "om_0", "om_1")
    assert (a.hangs, b.hangs, c.hangs) == (False, True, False)
    assert (a.quoted_in, b.quoted_in, c.quoted_in) == (None, Conversation("feishu", GROUP), None)
    assert (a.in_thread, b.in_thread) == (False, True)
    assert b.conversation == c.conversation == Conversation("feishu", f"{GROUP}/omt_1")


async def test_bot_and_service_messages_are_skipped_and_logged_once(
    app: App, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "clew.surfaces.feishu")
    for _ in range(2):
        await app.post("text", {"text": "I am a bot"}, sender_type="app")
    await app.do("event", kind="im.chat.member.bot.added_v1", content={"chat_id": GROUP})
    await app.do("event", kind="im.message.receive_v1", content={"message": 7})
    await app.do("event", kind="im.message.receive_v1", content={}, header={"app_id": "cli_forged"})
    await app.do("event", kind="card.action.trigger", content={"operator": {}, "context": {}})
    value = {"operator": {"open_id": ANN}, "context": {"open_chat_id": ALONE}, "action": {"value": {"other": 1}}}
    await app.do("event", kind="card.action.trigger", content=value)
    await app.say("at last")
    assert (await hear(app, tmp_path)).text == "at last"
    told = [record.getMessage() for record in caplog.records if "are skipped" in record.getMessage()]
    assert len(told) == len(set(told)) and any("bot.added" in line for line in told)


async def test_invalid_frames_are_skipped(app: App, tmp_path: Path) -> None:
    deep = b'{"header": {"event_id": "1", "event_type": "im.message.receive_v1"}, "event": ' + b"[" * 20_000
    odd = [b"\xff\xff\xff", b"", b"\x0b", encode(Frame(DATA, headers=(("sum", "9999"),)))]
    odd += [encode(Frame(DATA, payload=payload)) for payload in (b"", b"{}", b"\xff", b"null", deep, bytes(1 << 20))]
    async with running(app.surface(tmp_path)) as heard:
        await app.connected()
        for data in odd:
            await app.do("set", pings=0)
            await app.do("raw", data=base64.b64encode(data).decode())
        await app.say("still here")
        [inbound] = await heard.first()
        assert inbound.text == "still here" and (await app.state())["lines"] == 1


async def test_an_event_in_several_frames_is_one(app: App, tmp_path: Path) -> None:
    await app.do("set", parts=5)
    await app.say("字" * 3000)
    assert (await hear(app, tmp_path)).text == "字" * 3000


@pytest.mark.parametrize(
    ("kind", "content", "name", "media_type"),
    [
        ("file", {"file_key": "k", "file_name": "../../a b.txt"}, "../../a b.txt", "text/plain"),
        ("image", {"image_key": "k"}, "image-1.png", "image/png"),
        ("post", {"content": [[{"tag": "img", "image_key": "k"}]]}, "image-1.png", "image/png"),
    ],
)
async def test_a_file_is_downloaded_with_its_message(
    app: App, tmp_path: Path, kind: str, content: object, name: str, media_type: str
) -> None:
    await app.keep("k", b"what it holds")
    await app.post(kind, content)
    [attachment] = (await hear(app, tmp_path)).attachments
    assert (attachment.name, attachment.media_type) == (name, media_type)
    path = Path(attachment.path)
    assert path.read_bytes() == b"what it holds" and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.parent == tmp_path


async def test_a_file_that_cannot_be_fetched_is_named_instead(app: App, tmp_path: Path) -> None:
    await app.do("file", key="big", size=(20 << 20) + 1)
    async with running(app.surface(tmp_path, Quick())) as heard:
        await app.post("file", {"file_key": "big", "file_name": "big.zip"})
        await app.post("file", {"file_key": "gone", "file_name": "gone.zip"})
        await app.keep("k", b"x")
        await app.fault("resource", "cut_before", times=2)
        await app.post("file", {"file_key": "k", "file_name": "late.txt"})
        await heard.first(3)
        await app.fault("resource", "error", code=0, status=502, times=100)
        await app.post("file", {"file_key": "k", "file_name": "never.txt"})
        big, gone, late, never = await heard.first(4)
    assert big.missing[0].startswith("[big.zip did not come along: it is larger than 20 MiB") and big.attachments == ()
    assert "[gone.zip did not come along: File not in msg." in gone.missing[0]
    assert len(late.attachments) == 1 and late.text == ""
    assert "Feishu does not give it out" in never.missing[0]


@pytest.mark.parametrize("folder", ["taken", "x" * 300])  # the second cannot be downloaded at all
async def test_a_file_that_cannot_be_stored_is_named_with_the_reason(app: App, tmp_path: Path, folder: str) -> None:
    (tmp_path / "taken").write_text("no folder")
    await app.keep("k", b"x")
    async with running(app.surface(tmp_path / folder, Quick())) as heard:
        said = await app.post("file", {"file_key": "k", "file_name": "a.txt"})
        assert (await app.answer(said["event"]))["code"] == 200
    [inbound] = heard.got
    assert inbound.attachments == ()
    assert inbound.missing[0].startswith("[a.txt did not come along: it cannot be kept here: ")


async def test_files_of_refused_or_indirect_messages_are_not_kept(app: App, tmp_path: Path) -> None:
    await app.keep("k", b"x")
    async with running(app.surface(tmp_path), Heard(fate=Fate.REFUSED)) as heard:
        await app.post("file", {"file_key": "k", "file_name": "a.txt"})
        await app.post("file", {"file_key": "k", "file_name": "b.txt"}, chat=GROUP)
        await heard.first(2)
        await app.confirmed()
    assert {len(inbound.attachments) for inbound in heard.got} == {0, 1} and list(tmp_path.iterdir()) == []


# Commit, then acknowledge


async def test_an_event_is_acknowledged_only_when_it_is_committed(app: App, tmp_path: Path) -> None:
    inbox = Heard(hold=asyncio.Event())
    async with running(app.surface(tmp_path), inbox):
        said = await app.say("one")
        await inbox.entered.wait()
        assert said["event"] in (await app.state())["pending"]
        assert inbox.hold is not None
        inbox.hold.set()
        assert (await app.answer(said["event"]))["code"] == 200
    assert [inbound.text for inbound in inbox.got] == ["one"]


async def test_killed_before_the_commit_the_message_comes_again(app: App, tmp_path: Path) -> None:
    inbox = Heard(hold=asyncio.Event())
    async with running(app.surface(tmp_path), inbox):
        await app.say("one")
        await inbox.entered.wait()
    assert inbox.got == [] and (await hear(app, tmp_path)).text == "one"


async def test_messages_are_retried_in_order_until_stored(app: App, tmp_path: Path) -> None:
    inbox = Heard(troubles=[StoreError("the disk is full"), StoreError("the disk is full")])
    surface = app.surface(tmp_path, clock := Standing())
    async with running(surface, inbox):
        for text in ("one", "two", "three"):
            await app.say(text)
        await clock.seen()
        assert "the disk is full" in surface.trouble
        clock.go.set()
        assert [inbound.text for inbound in await inbox.first(3)] == ["one", "two", "three"]
        await app.confirmed()
        assert surface.trouble == ""


async def test_while_the_store_fails_a_file_waits_and_keeps_its_place(app: App, tmp_path: Path) -> None:
    await app.keep("k", b"x")
    surface = app.surface(tmp_path, clock := Standing())
    async with running(surface, Heard(unsure=[StoreError("the disk is full")])) as heard:
        await app.post("file", {"file_key": "k", "file_name": "a.txt"})
        await clock.seen()
        await app.say("behind it")
        assert "the disk is full" in surface.trouble
        clock.go.set()
        first, second = await heard.first(2)
        await app.confirmed()
        assert (len(first.attachments), second.text, surface.trouble) == (1, "behind it", "")


async def test_an_event_that_fails_does_not_stop_others_and_comes_again(app: App, tmp_path: Path) -> None:
    async with running(app.surface(tmp_path), Heard(troubles=[RuntimeError("a bug")])) as heard:
        first = await app.say("one")
        assert (await app.answer(first["event"]))["code"] == 500
        await app.say("two")
        await heard.first()
        await app.do("redeliver")
        await app.confirmed()
    assert [inbound.text for inbound in heard.got] == ["two", "one"]


async def test_a_waiting_chat_does_not_delay_others(app: App, tmp_path: Path) -> None:
    await app.keep("k", b"x")
    await app.fault("resource", "cut_before")
    clock = Standing()
    async with running(app.surface(tmp_path, clock)) as heard:
        await app.post("file", {"file_key": "k", "file_name": "a.txt"})
        await clock.seen()
        await app.say("behind it")
        await app.say("elsewhere", chat=GROUP)
        assert [inbound.text for inbound in await heard.first()] == ["elsewhere"]
        clock.go.set()
        assert [inbound.text for inbound in (await heard.first(3))[1:]] == ["", "behind it"]


# Buttons and reactions


async def test_a_button_press_sends_its_text_and_is_answered(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path)
    receipt = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK))
    assert labels((await app.shown(1))[0]) == ["Allow", "Always", "Deny"]
    async with running(surface, Heard(words="ok " * 100)) as heard:
        told = await app.press(receipt.message_id, "Deny", user=BOB)
        [inbound] = await heard.first()
    assert (inbound.text, inbound.pressed, inbound.direct) == ("K7 n", True, True)
    assert (inbound.quoted, inbound.sender_id, inbound.conversation) == (receipt.message_id, BOB, HERE)
    assert told["toast"]["type"] == "info" and len(told["toast"]["content"]) == 200


async def test_a_slow_download_holds_up_no_press_and_no_other_conversation(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path)
    card = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK))
    await app.keep("k", b"slow")
    await app.fault("resource", "hold")
    async with running(surface, Heard(words="Noted.")) as heard:
        await app.post("file", {"file_key": "k", "file_name": "slow.txt"}, thread_id="omt_slow")
        await app.say("after it", thread_id="omt_slow")
        await app.until(lambda state: [call for call in state["calls"] if call["method"] == "resource"])
        assert (await app.press(card.message_id, "Deny", user=BOB))["toast"]["content"] == "Noted."
        await app.say("elsewhere", thread_id="omt_other")
        assert [inbound.text for inbound in await heard.first(2)] == ["K7 n", "elsewhere"]
        assert len((await app.state())["pending"]) == 2
        await app.do("release")
        assert [inbound.text for inbound in await heard.first(4)][2:] == ["", "after it"]
        await app.confirmed()


async def test_a_press_that_is_stored_late_warns_and_still_counts(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "QUICK", 0.01)
    surface, inbox = app.surface(tmp_path), Heard(hold=asyncio.Event())
    receipt = await surface.send(owed("May I?", buttons=ASK))
    async with running(surface, inbox):
        told = await app.press(receipt.message_id, "Allow")
        toast = {"content": receiving.UNSTORED, "i18n": {"en_us": receiving.UNSTORED, "zh_cn": zh(receiving.UNSTORED)}}
        assert told["toast"] == {"type": "warning", **toast} and inbox.got == []
        assert inbox.hold is not None
        inbox.hold.set()
        assert [inbound.text for inbound in await inbox.first()] == ["K7 y"]


async def test_a_press_that_fails_is_answered_too(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path)
    receipt = await surface.send(owed("May I?", buttons=ASK))
    async with running(surface, Heard(troubles=[RuntimeError("a bug")])):
        assert (await app.press(receipt.message_id, "Allow"))["toast"]["type"] == "error"


@pytest.mark.parametrize(("emoji", "says"), [("THUMBSUP", "y"), ("OK", "y"), ("ThumbsDown", "n"), ("No", "n")])
async def test_a_reaction_is_a_yes_or_a_no_to_its_card(app: App, tmp_path: Path, emoji: str, says: str) -> None:
    surface = app.surface(tmp_path)
    receipt = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK))
    async with running(surface) as heard:
        assert (await app.react(receipt.message_id, emoji))["code"] == 200
        [inbound] = await heard.first()
    assert (inbound.text, inbound.pressed, inbound.quoted) == (says, True, receipt.message_id)
    assert (inbound.sender_id, inbound.conversation) == (ANN, HERE)


async def test_a_reaction_on_a_message_without_a_gate_is_ignored(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path)
    answer = await surface.send(owed("an answer"))
    card = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK, id="K7:ask"))
    theirs = await app.say("mine", sender_type="user")
    async with running(surface) as heard:
        await heard.first()
        for message, emoji in ((answer.message_id, "OK"), (theirs["message_id"], "OK"), (card.message_id, "SMILE")):
            assert (await app.react(message, emoji))["code"] == 200
        await surface.edit(card, owed("allowed"))
        assert (await app.react(card.message_id, "OK"))["code"] == 200
        assert (await app.react("om_gone", "OK"))["code"] == 200
    assert len(heard.got) == 1


async def test_a_refused_reaction_gets_a_reply_below_the_card(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path)
    receipt = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK))
    async with running(surface, Heard(fate=Fate.REFUSED, words="Not you.")) as heard:
        await app.react(receipt.message_id, "OK", user=BOB)
        assert words((await app.shown(2))[1]) == "Not you." and heard.got[0].in_group


# Sending


async def test_an_answer_is_a_post_and_with_a_table_a_card(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(owed("**done**", note="3 s"))
    await surface.send(owed("| a | b |\n|---|---|\n| 1 | 2 |", id="U2:final"))
    first, second = await app.shown(2)
    assert (first["msg_type"], words(first)) == ("post", "**done**\n*3 s*")
    assert (receipt.conversation, receipt.message_id) == (HERE, first["message_id"])
    assert second["msg_type"] == "interactive" and len(first["uuid"]) == 40


@pytest.mark.parametrize("text", ["x" * 20_000, "🧶" * 5_000, "", "  \n", "a\x00b\ud800", "**", "\u202eabc\u200b"])
async def test_any_text_can_be_delivered(surface: FeishuSurface, app: App, text: str) -> None:
    await surface.send(owed(text))
    assert len(await app.shown(1)) == 1


@pytest.mark.parametrize("text", ['"' * 20_000, "\n\t" * 9_999 + "x"])
async def test_a_text_that_is_too_long_formatted_is_sent_as_plain_text(
    surface: FeishuSurface, app: App, text: str
) -> None:
    await surface.send(owed(text))
    [message] = await app.shown(1)
    assert message["msg_type"] == "text" and words(message) == text


async def test_a_card_and_a_post_can_be_edited(surface: FeishuSurface, app: App) -> None:
    card = await surface.send(owed("May I?", DeliveryKind.ASK, buttons=ASK))
    post = await surface.send(owed("hello", id="U2:final"))
    for receipt in (card, card, post):
        await surface.edit(receipt, owed("*allowed*", DeliveryKind.REDRAW))
    first, second = await app.shown(2)
    assert (words(first), labels(first), first["edits"]) == ("*allowed*", [], 2)
    assert (second["msg_type"], words(second)) == ("post", "*allowed*")


async def test_the_same_key_again_is_one_message(surface: FeishuSurface, app: App) -> None:
    await app.fault("send", "cut_after")
    assert type(await failure(surface)) is InDoubt
    receipt = await surface.send(owed("hello"))
    [message] = await app.shown(1)
    assert receipt.message_id == message["message_id"]
    await surface.send(owed("hello", id="U2:final"))
    assert len(await app.shown(2)) == 2


async def test_one_chat_gets_five_messages_in_a_second(app: App, tmp_path: Path) -> None:
    class Still(Quick):
        def monotonic(self) -> float:
            return 1000.0

    surface = app.surface(tmp_path, clock := Still())
    await asyncio.gather(*(surface.send(owed("x", id=str(number))) for number in range(6)))
    assert [round(wait, 1) for wait in clock.waited] == [0.2, 0.4, 0.6, 0.8, 1.0]
    await surface.send(owed("y", conversation=Conversation("feishu", GROUP), id="other"))
    assert len(clock.waited) == 5
    await surface.close()


# Threads


async def test_a_thread_is_opened_and_the_first_reply_is_there(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path, Quick())
    thread = await surface.open_thread(Conversation("feishu", GROUP), "  A\nthread " + "x" * 200)
    assert thread is not None and surface.resolve(thread.address) == thread
    receipt = await surface.send(owed("here we go on", DeliveryKind.ASK, conversation=thread, buttons=ASK))
    root, opened, card = await app.shown(3, GROUP)
    opening = json.loads(opened["content"])
    assert (opening["en_us"]["content"][0][0]["text"], opening["zh_cn"]["content"][0][0]["text"]) == (
        "Reply here, in this thread.",
        "请在本话题中回复。",
    )
    assert words(root).startswith("**A thread xx") and card["thread_id"] == thread.address.split("/")[1]
    async with running(surface) as heard:
        reply = {"root_id": root["message_id"], "parent_id": root["message_id"], "thread_id": card["thread_id"]}
        await app.say("thanks", chat=GROUP, **reply)
        await app.press(receipt.message_id, "Allow")
        await app.react(receipt.message_id, "OK")
        for inbound in await heard.first(3):
            assert inbound.conversation == thread and inbound.in_thread


async def test_a_thread_is_found_again_after_a_restart_and_after_its_message_was_deleted(
    app: App, tmp_path: Path
) -> None:
    first = app.surface(tmp_path, Quick())
    thread = await first.open_thread(HERE, "a title")
    await first.close()
    assert thread is not None
    surface = app.surface(tmp_path, Quick())
    await surface.send(owed("one", conversation=thread))
    await app.do("delete", message=(await app.shown(1))[0]["message_id"])
    await surface.send(owed("two", conversation=thread, id="U2:final"))
    shown = await app.shown(4)
    assert [words(message) for message in shown[2:]] == ["one", "two"]
    assert {message["thread_id"] for message in shown[1:]} == {thread.address.split("/")[1]}
    await surface.close()


async def test_in_a_group_of_topics_a_message_is_a_thread(surface: FeishuSurface, app: App) -> None:
    await app.do("chat", id=GROUP, topics=True)
    thread = await surface.open_thread(Conversation("feishu", GROUP), "a title")
    [root] = await app.shown(1, GROUP)
    assert thread == Conversation("feishu", f"{GROUP}/{root['thread_id']}")


async def test_without_threads_none_is_opened(surface: FeishuSurface, app: App) -> None:
    await app.do("chat", id=ALONE, no_threads=True)
    assert await surface.open_thread(HERE, "a title") is None
    await app.refuse("send", 99991400, status=400, headers={"x-ogw-ratelimit-reset": "7"})
    with pytest.raises(TryAgain) as caught:
        await surface.open_thread(HERE, "a title")
    assert caught.value.retry_after == 7


# Errors


@pytest.mark.parametrize(
    ("code", "more", "kind", "said"),
    [
        (99991400, {"headers": {"x-ogw-ratelimit-reset": "9"}}, TryAgain, "too many calls"),
        (0, {"status": 429, "headers": {"Retry-After": "9"}}, TryAgain, "too many calls"),
        (230020, {}, TryAgain, "too many calls"),
        (230002, {"msg": "Bot/User can NOT be out of the chat."}, Gone, "out of the chat"),
        (232009, {"msg": "Your request specifies a chat which has already been dissolved."}, Gone, "dissolved"),
        (230013, {"msg": "Bot has NO availability to this user."}, Gone, "NO availability"),
        (230019, {"msg": "The topic does NOT exist."}, Gone, "NOT exist"),
        (230029, {"msg": "User has resigned."}, Gone, "resigned"),
        (230053, {"msg": "The user has stopped the bot from sending messages."}, Gone, "stopped the bot"),
        (230035, {"msg": "Send Message Permission deny."}, Never, "Permission deny"),
        (99991672, {"msg": "Access denied. im:message:send_as_bot"}, Down, "give the app that permission"),
        (230049, {}, InDoubt, "refuses"),
        (1663, {"status": 500}, InDoubt, "HTTP 500"),
        (0, {"status": 502}, InDoubt, "HTTP 502"),
    ],
)
async def test_each_refusal_maps_to_a_delivery_error(
    surface: FeishuSurface, app: App, code: int, more: dict[str, Any], kind: type, said: str
) -> None:
    await app.refuse("send", code, **more)
    trouble = await failure(surface)
    assert type(trouble) is kind and said in trouble.reason and app.secret not in trouble.reason
    assert trouble.retry_after == (9 if "headers" in more else 1 if code == 230049 else None)
    await surface.send(owed("hello"))


@pytest.mark.parametrize("body", ["<html>busy</html>", "[]", '{"code": "zero"}', "", "[" * 9999])
async def test_an_unreadable_response_is_in_doubt(surface: FeishuSurface, app: App, body: str) -> None:
    await app.fault("send", "odd", body=body)
    assert type(await failure(surface)) is InDoubt


@pytest.mark.parametrize("body", ["<html>gateway</html>", '{"error": "forbidden"}'])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, Down) for status in (302, 400, 403, 404, 407, 421)),
        *((408, InDoubt), (502, InDoubt), (429, TryAgain), (413, Never)),
    ],
)
async def test_a_proxy_page_before_feishu_is_not_a_refusal(
    surface: FeishuSurface, app: App, status: int, kind: type, body: str
) -> None:
    await app.fault("send", "odd", status=status, body=body)
    trouble = await failure(surface)
    assert isinstance(trouble, kind) and (f"HTTP {status}" in trouble.reason or kind is TryAgain)
    assert kind is not Down or "base_url" in trouble.reason
    await surface.send(owed("hello"))
    assert len(await app.shown(1)) == 1


@pytest.mark.parametrize("method", ["token", "endpoint"])
async def test_a_wrong_base_url_is_reported_while_it_lasts(app: App, tmp_path: Path, method: str) -> None:
    surface = app.surface(tmp_path, clock := Standing())
    await app.fault(method, "odd", status=404, body="<html>nothing here</html>")
    async with running(surface) as heard:
        await clock.seen()
        assert "HTTP 404" in surface.trouble and "check base_url of [surfaces.feishu]" in surface.trouble
        clock.go.set()
        await app.say("hello")
        await heard.first()
        assert surface.trouble == ""


@pytest.mark.parametrize(("kind", "arrived"), [("cut_before", 0), ("cut_after", 1)])
async def test_a_lost_response_is_in_doubt(surface: FeishuSurface, app: App, kind: str, arrived: int) -> None:
    await app.fault("send", kind)
    assert type(await failure(surface)) is InDoubt
    assert len(await app.shown()) == arrived


async def test_an_unreachable_platform_is_down(surface: FeishuSurface, app: App) -> None:
    await app.do("cut")
    trouble = await failure(surface)
    assert type(trouble) is Down and "out of reach" in trouble.reason
    await app.do("mend")
    await surface.send(owed("hello"))


async def test_a_left_chat_and_a_deleted_message_fail_permanently(surface: FeishuSurface, app: App) -> None:
    receipt = await surface.send(owed("May I?", DeliveryKind.ASK))
    await app.do("delete", message=receipt.message_id)
    with pytest.raises(Never, match="recalled"):
        await surface.edit(receipt, owed("other"))
    await app.do("chat", id=ALONE, removed=True)
    trouble = await failure(surface, owed("hello", id="U2:final"))
    assert type(trouble) is Gone and "out of the chat" in trouble.reason


# The token


async def test_a_token_is_fetched_once_and_renewed_in_time(app: App, tmp_path: Path) -> None:
    class Later(Quick):
        ahead = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.ahead

    surface = app.surface(tmp_path, clock := Later())
    await asyncio.gather(*(surface.send(owed("x", id=str(number))) for number in range(3)))
    assert (await app.state())["tokens"] == 1
    clock.ahead = 7200 - 1300
    await surface.send(owed("x", id="4"))
    assert (await app.state())["tokens"] == 1
    clock.ahead = 7200 - 1100
    await surface.send(owed("x", id="5"))
    assert (await app.state())["tokens"] == 2
    await surface.close()


async def test_a_token_that_the_platform_rejects_is_fetched_again(surface: FeishuSurface, app: App) -> None:
    await surface.send(owed("one"))
    await app.do("set", tokens=["other"])
    await surface.send(owed("two", id="U2:final"))
    assert len(await app.shown(2)) == 2
    await app.refuse("send", 99991663, times=5)
    trouble = await failure(surface, owed("three", id="U3:final"))
    assert type(trouble) is Down and len(await app.calls("send")) == 5  # it was tried only twice


@pytest.mark.parametrize("kind", ["cut_before", "odd"])
async def test_without_a_token_nothing_is_sent(surface: FeishuSurface, app: App, kind: str) -> None:
    await app.fault("token", kind, body="{}")
    assert type(await failure(surface)) is Down and await app.calls("send") == []


# The connection


async def test_wrong_credentials_are_reported_until_corrected(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path, clock := Standing())
    await app.do("set", secret="another")
    async with running(surface) as heard:
        await clock.seen()
        assert "refuses the app" in surface.trouble and app.secret not in surface.trouble
        assert type(await failure(surface)) is Down
        await app.do("set", secret=app.secret)
        clock.go.set()
        await app.say("hello")
        await heard.first()
        assert surface.trouble == ""


@pytest.mark.parametrize(
    ("arm", "said"), [({"refused": True}, "too many connections"), ({"ping_interval": "soon"}, "address to connect")]
)
async def test_while_it_cannot_receive_it_says_why(app: App, tmp_path: Path, arm: dict[str, Any], said: str) -> None:
    surface = app.surface(tmp_path, clock := Standing())
    await app.do("set", **arm)
    async with running(surface) as heard:
        await clock.seen()
        assert said in surface.trouble
        await app.do("set", refused=False, ping_interval=120)
        clock.go.set()
        await app.say("hello")
        await heard.first()
        assert surface.trouble == ""


async def test_after_a_disconnect_it_continues_where_it_was(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path, Quick())
    async with running(surface) as heard:
        await app.say("one")
        await heard.first()
        await app.do("cut")
        await app.say("two")
        await app.do("mend")
        assert [inbound.text for inbound in await heard.first(2)] == ["one", "two"]
        await app.do("drop")
        await app.say("three")
        assert [inbound.text for inbound in await heard.first(3)][2] == "three"
        await app.confirmed()


async def test_an_event_in_progress_at_a_disconnect_is_handled(app: App, tmp_path: Path) -> None:
    inbox = Heard(hold=asyncio.Event())
    async with running(app.surface(tmp_path, Quick()), inbox):
        await app.say("one")
        await inbox.entered.wait()
        await app.do("drop")
        await app.connected()
        assert inbox.hold is not None
        inbox.hold.set()
        await app.confirmed()
    assert {inbound.text for inbound in inbox.got} == {"one"}


async def test_it_pings_at_the_interval_of_the_platform(app: App, tmp_path: Path) -> None:
    class Counting(Quick):
        async def sleep(self, seconds: float) -> None:
            self.waited.append(seconds)
            await (asyncio.Event().wait() if len(self.waited) > 3 else asyncio.sleep(0))

    await app.do("set", ping_interval=77)
    async with running(app.surface(tmp_path, clock := Counting())):
        await app.until(lambda state: state["pings"] >= 3)
    assert clock.waited[:3] == [77.0] * 3


@pytest.mark.parametrize("trouble", [("cut", {}), ("set", {"curt": True})])
async def test_the_wait_between_two_attempts_grows(app: App, tmp_path: Path, trouble: tuple[str, Any]) -> None:
    class Ninth(Quick):
        def __init__(self) -> None:
            super().__init__()
            self.came = asyncio.Event()

        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if len(self.waited) == 9:
                self.came.set()

    await app.do(trouble[0], **trouble[1])
    async with running(app.surface(tmp_path, clock := Ninth())), asyncio.timeout(PATIENCE):
        await clock.came.wait()
    assert 0.25 <= clock.waited[0] <= 0.5 and 15 <= max(clock.waited) <= 30


# Setup


async def test_it_is_a_surface(surface: FeishuSurface) -> None:
    checked: Surface = surface
    assert checked.name == "feishu" and checked.can.edit and checked.can.threads and checked.can.chat
    assert checked.can.idempotency_window == 3600 and not checked.can.read_back and checked.can.units is Units.BYTES
    assert await checked.find(owed("x")) is None


async def test_an_address_is_a_chat_and_an_empty_one_is_the_home(app: App, tmp_path: Path) -> None:
    surface = app.surface(tmp_path, home="oc_1/omt_2")
    assert surface.resolve("") == Conversation("feishu", "oc_1/omt_2")
    assert surface.resolve(ALONE) == HERE
    for wrong in ("ann", "ou_ann", "oc_", "oc_1/", "oc_1/oc_2", "oc_1 ", "oc_é", "oc_1/omt_2/x", "oc_" + "1" * 200):
        with pytest.raises(BadInput, match="not a Feishu chat"):
            surface.resolve(wrong)
    with pytest.raises(BadInput, match="set `home`"):
        app.surface(tmp_path).resolve("")
    with pytest.raises(Never):
        await surface.send(owed("x", conversation=Conversation("feishu", "nowhere")))


def made(text: str, folder: Path) -> FeishuSurface | None:
    settings = config_settings.parse(f"[surfaces.feishu]\n{text}", "config.toml")
    return feishu.make(settings.surfaces.get("feishu", FeishuConfig()), SystemClock(), Home(folder))


async def test_without_an_app_there_is_no_surface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("", tmp_path) is None and made('allow = ["ou_1"]', tmp_path) is None
    assert made('app_id = "cli_1"\napp_secret = "s"', tmp_path) is not None
    with pytest.raises(ConfigError, match="no secret"):
        made('app_id = "cli_1"\napp_secret_env = "NOWHERE"', tmp_path)
    monkeypatch.setenv("APP", "from the environment\n")
    assert made('app_id = "cli_1"\napp_secret_env = "APP"', tmp_path) is not None
    settings = config_settings.parse('[surfaces.feishu]\napp_secret_env = "APP"', "config.toml")
    assert settings.secrets() == {"from the environment"}
    monkeypatch.setattr(feishu, "find_spec", lambda name: None)
    with pytest.raises(ClewError, match=r"clew\[feishu\]"):
        made('app_id = "cli_1"\napp_secret = "s"', tmp_path)


async def test_content_is_valid_json(surface: FeishuSurface, app: App) -> None:
    await surface.send(owed('say "你好" \\ and <at user_id="all">all</at>'))
    [message] = await app.shown(1)
    assert json.loads(message["content"])["zh_cn"]["content"][0][0]["text"].startswith('say "你好" \\ and <\u200bat')


async def test_an_answer_replies_to_its_question_and_is_sent_plainly_if_that_is_gone(
    surface: FeishuSurface, app: App
) -> None:
    asked, recalled = [(await app.say(text))["message_id"] for text in ("hello", "hello again")]
    await app.do("delete", message=recalled)
    for number, question in enumerate((asked, recalled, "om_unknown")):
        await surface.send(owed(f"answer {number}", id=f"U{number}:final", reply_to=question))
    shown = await app.shown(3)
    assert [words(message) for message in shown] == ["answer 0", "answer 1", "answer 2"]
    assert [message.get("parent_id") for message in shown] == [asked, None, None]
    assert not any(message.get("thread_id") for message in shown)


async def test_a_message_is_marked_as_heard(surface: FeishuSurface, app: App) -> None:
    asked = (await app.say("hello"))["message_id"]
    await surface.react(HERE, asked)
    [message] = [each for each in (await app.state())["messages"] if each.get("reactions")]
    assert (message["message_id"], message["reactions"]) == (asked, ["OnIt"])
