"""Sending files to a platform: a picture as an image, any other as a file, once."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clew.model.delivery import DeliveryKind
from clew.model.messages import Attachment, Conversation
from clew.model.surface import InDoubt, Never, Outgoing, TryAgain
from clew.surfaces.feishu.surface import FeishuSurface
from clew.surfaces.telegram.surface import LARGEST_PHOTO, TelegramSurface
from clew.testing.surface_stage import PICTURE
from tests.helpers.disks import BROKEN_DISK, break_file
from tests.surfaces.feishu.apps import ALONE, App, words
from tests.surfaces.hearing import Quick
from tests.surfaces.telegram.bots import Bot

NAME = '纸 "1"\r\nX: y.txt'


def owed(folder: Path, where: Conversation, name: str, data: bytes, kind: str = "text/plain", **more: Any) -> Outgoing:
    path = folder / "file"
    path.write_bytes(data)
    file = Attachment(name, str(path), kind)
    return Outgoing("U1:file:1", DeliveryKind.FILE, where, "T1", "U1", name, file=file, **more)


# Telegram

CHAT = Conversation("telegram", "42")


@pytest.fixture
async def telegram(bot: Bot, tmp_path: Path) -> AsyncIterator[TelegramSurface]:
    await bot.do("chat", id=42, is_forum=True)
    surface = bot.surface(tmp_path)
    yield surface
    await surface.close()


async def content(bot: Bot, file: dict[str, Any]) -> bytes:
    return base64.b64decode((await bot.state())["files"][file["file_id"]])


async def test_a_picture_is_a_photo_without_a_sound(telegram: TelegramSurface, bot: Bot, tmp_path: Path) -> None:
    receipt = await telegram.send(owed(tmp_path, CHAT, "a.png", PICTURE, "image/png", note="perhaps again"))
    [message] = await bot.shown(1)
    assert (receipt.message_id, message["caption"]) == (bot.named(message["message_id"]), "perhaps again")
    assert message["silent"] and await content(bot, message["photo"][0]) == PICTURE


async def test_anything_else_is_a_document_in_its_topic(telegram: TelegramSurface, bot: Bot, tmp_path: Path) -> None:
    topic = await telegram.open_thread(CHAT, "papers")
    assert topic is not None
    receipt = await telegram.send(owed(tmp_path, topic, NAME, b"one"))
    [message] = await bot.shown(1)
    assert receipt.conversation == topic and str(message["message_thread_id"]) == topic.address.partition("/")[2]
    assert "X" in message["document"]["file_name"] and await content(bot, message["document"]) == b"one"


async def test_a_picture_that_is_too_large_or_odd_is_a_document(
    telegram: TelegramSurface, bot: Bot, tmp_path: Path
) -> None:
    await telegram.send(owed(tmp_path, CHAT, "a.png", PICTURE + bytes(LARGEST_PHOTO), "image/png"))
    await bot.refuse("sendPhoto", 400, "Bad Request: PHOTO_INVALID_DIMENSIONS")
    await telegram.send(owed(tmp_path, CHAT, "b.png", PICTURE, "image/png"))
    assert ["document" in message for message in await bot.shown(2)] == [True, True]


async def test_a_group_that_moved_gets_its_files_where_it_is_now(
    telegram: TelegramSurface, bot: Bot, tmp_path: Path
) -> None:
    await bot.do("chat", id=-7, moved=-1007)
    await bot.do("chat", id=-1007)
    receipt = await telegram.send(owed(tmp_path, Conversation("telegram", "-7"), "a.png", PICTURE, "image/png"))
    assert receipt.conversation.address == "-1007"


async def test_errors_with_a_file_are_distinguished(telegram: TelegramSurface, bot: Bot, tmp_path: Path) -> None:
    file = owed(tmp_path, CHAT, "a.txt", b"a")
    await bot.refuse("sendDocument", 413, "Request Entity Too Large")
    with pytest.raises(Never):
        await telegram.send(file)
    await bot.refuse("sendDocument", 429, "Too Many Requests", retry_after=7)
    with pytest.raises(TryAgain) as busy:
        await telegram.send(file)
    assert busy.value.retry_after == 7
    await bot.fault("sendDocument", "cut_after")
    with pytest.raises(InDoubt):
        await telegram.send(file)
    (tmp_path / "file").unlink()
    with pytest.raises(FileNotFoundError):
        await telegram.send(file)


async def test_a_file_blocked_before_telegram_does_not_delay_the_answer(
    telegram: TelegramSurface, bot: Bot, tmp_path: Path
) -> None:
    for method, file in (("sendDocument", ("a.txt", b"a")), ("sendPhoto", ("a.png", PICTURE, "image/png"))):
        await bot.fault(method, "odd", status=403, body="<html>not allowed here</html>")
        with pytest.raises(Never, match="HTTP 403"):
            await telegram.send(owed(tmp_path, CHAT, *file))


@BROKEN_DISK
async def test_a_file_that_cannot_be_sent_to_telegram_is_named(telegram: TelegramSurface, tmp_path: Path) -> None:
    file = owed(tmp_path, CHAT, "a.txt", b"a")
    break_file(tmp_path / "file")
    with pytest.raises(OSError, match="Input/output error") as broken:
        await telegram.send(file)
    assert broken.value.filename == str(tmp_path / "file")


# Feishu

HERE = Conversation("feishu", ALONE)


@pytest.fixture
async def feishu(app: App, tmp_path: Path) -> AsyncIterator[FeishuSurface]:
    surface = app.surface(tmp_path, Quick())
    yield surface
    await surface.close()


async def test_a_picture_is_an_image(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    receipt = await feishu.send(owed(tmp_path, HERE, "a.png", PICTURE, "image/png"))
    [message] = await app.shown(1)
    assert (receipt.message_id, message["msg_type"]) == (message["message_id"], "image")
    assert list((await app.state())["files"].values()) == [base64.b64encode(PICTURE).decode()]


async def test_anything_else_is_a_file_in_its_thread(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    thread = await feishu.open_thread(HERE, "papers")
    assert thread is not None
    await feishu.send(owed(tmp_path, thread, NAME, b"one", note="perhaps again"))
    *_, file, note = await app.shown(4)
    assert (file["msg_type"], words(note)) == ("file", "perhaps again")
    assert file["thread_id"] == note["thread_id"] == thread.address.partition("/")[2]
    assert [call["file_name"] for call in await app.calls("file")] == [NAME]


async def test_a_picture_that_feishu_refuses_is_sent_as_a_file(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    await app.refuse("image", 234039, "Image resolution exceeds limit.")
    await feishu.send(owed(tmp_path, HERE, "a.png", PICTURE, "image/png"))
    assert [message["msg_type"] for message in await app.shown(1)] == ["file"]


async def test_a_file_whose_receipt_was_lost_is_one_message(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    file = owed(tmp_path, HERE, "a.txt", b"a")
    await app.fault("send", "cut_after")
    with pytest.raises(InDoubt):
        await feishu.send(file)
    receipt = await feishu.send(file)
    assert [message["message_id"] for message in await app.shown(1)] == [receipt.message_id]


async def test_a_lost_upload_leaves_no_doubt(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    await app.fault("file", "cut_after")
    with pytest.raises(TryAgain):
        await feishu.send(owed(tmp_path, HERE, "a.txt", b"a"))


async def test_a_missing_permission_does_not_delay_the_answer(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    for method in ("image", "file"):
        await app.refuse(method, 99991672, "Access denied.")
    for name, kind in (("a.png", "image/png"), ("a.txt", "text/plain")):
        with pytest.raises(Never, match="im:resource"):
            await feishu.send(owed(tmp_path, HERE, name, PICTURE, kind))


async def test_a_file_blocked_before_feishu_does_not_delay_the_answer(
    feishu: FeishuSurface, app: App, tmp_path: Path
) -> None:
    await app.fault("file", "odd", status=403, body="<html>not allowed here</html>")
    with pytest.raises(Never, match="HTTP 403"):
        await feishu.send(owed(tmp_path, HERE, "a.txt", b"a"))


async def test_too_many_uploads_are_retried_later(feishu: FeishuSurface, app: App, tmp_path: Path) -> None:
    await app.refuse("image", 99991400, headers={"x-ogw-ratelimit-reset": "3"})
    with pytest.raises(TryAgain) as busy:
        await feishu.send(owed(tmp_path, HERE, "a.png", PICTURE, "image/png"))
    assert busy.value.retry_after == 3


@BROKEN_DISK
async def test_a_file_that_cannot_be_sent_to_feishu_is_named(feishu: FeishuSurface, tmp_path: Path) -> None:
    file = owed(tmp_path, HERE, "a.txt", b"a")
    break_file(tmp_path / "file")
    with pytest.raises(OSError, match="Input/output error") as broken:
        await feishu.send(file)
    assert broken.value.filename == str(tmp_path / "file")
