"""All texts of clew itself are in the language of the conversation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import ChatsConfig, Config, InboxConfig, ThreadsConfig
from clew.engine.delivery.language import detect_language
from clew.model.messages import Accepted, Fate, Inbound, Person, Role
from clew.model.surface import InDoubt, SurfaceCan
from clew.model.threads import ThreadFilter
from clew.store.tables import people
from clew.store.texts import stored
from clew.support.coded import Text
from clew.texts import bilingual, catalogue, chat_messages
from tests.helpers.rig import Rig, Room

CAN = SurfaceCan(chat=True, edit=True, buttons=8, edit_every=0.0)
SETTINGS = Config(threads=ThreadsConfig(runtime="scripted"), chats=ChatsConfig(language="zh"))
LATIN = re.compile(r"[A-Za-z]{3,}")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("请修一下测试", "zh"),
        ("运行 make test 然后提交", "zh"),
        ("fix the tests", "en"),
        ("ありがとう、漢字です", None),
        ("y", None),
        ("K7Q2 y", None),
        ("/status", None),
        ("/状态", "zh"),
        ("好", "zh"),
        ("", None),
        ("👍 1, 2", None),
    ],
)
def test_the_language_of_a_message(text: str, language: str | None) -> None:
    assert detect_language(text) == language


async def known(rig: Rig) -> None:
    person = Person("room", "7", "安", Role.DRIVER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, person))


async def test_a_file_that_could_not_be_fetched_is_named_in_the_language_of_its_message(tmp_path: Path) -> None:
    missing = (
        catalogue.say("surfaces.file_missing", name="a.zip", why=catalogue.say("surfaces.file_too_large", most=20)),
    )
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await known(rig)
        for text, line in (
            ("看看这个文件", "看看这个文件\n[a.zip 没有传过来：超过 20 MiB]"),
            ("look at this file", "look at this file\n[a.zip did not come along: it is larger than 20 MiB]"),
            ("", "[a.zip did not come along: it is larger than 20 MiB]"),
        ):
            said = await rig.engine.inbox.accept(
                Inbound(rig.where(), f"m{len(text)}", "安", text, sender_id="7", queue=True, missing=missing)
            )
            assert (await rig.ended(said.turn)).request == line


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Rig(tmp_path, room=Room(can=CAN)) as rig:
        await known(rig)
        yield rig


async def say(rig: Rig, text: str, **more: object) -> Accepted:
    return await rig.say(text, sender_id="7", **more)  # type: ignore[arg-type]


async def test_the_last_message_decides_the_language_after_a_restart_too(rig: Rig, tmp_path: Path) -> None:
    await say(rig, "!text 你好")
    assert (await say(rig, "/resume 99")).words == "没有会话 99；/会话 列出全部。"
    await say(rig, "!text hello there")
    assert (await say(rig, "/resume 99")).words == "There is no thread 99; /threads lists them."
    assert (await say(rig, "/帮助", room="b")).words.startswith("/新建")
    await rig.kill()
    async with Rig(tmp_path, room=Room(can=CAN)) as again:
        assert "没有" in (await say(again, "/resume 99", room="b")).words
        assert "There is no" in (await say(again, "/resume 99")).words


async def test_without_messages_a_setting_decides_the_language(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CAN), config=SETTINGS) as rig:
        await known(rig)
        task = await rig.start("!shell true", notify="room:a")
        await rig.delivered(f"{task.turn}:final")
        assert (
            rig.room.sent[-1].text == "任务：!shell true\n\n（已完成，没有文字答复。）"
            and "秒" in rig.room.sent[-1].note
        )


async def test_a_turn_is_shown_and_ends_in_chinese(rig: Rig) -> None:
    turn = (await say(rig, "!hold door\n!shell make\n!text 完成了")).turn
    await rig.held("door")
    steered = await say(rig, "/排队 !text 第二条")
    assert steered.words == "已排队：接下来运行。"
    rig.scripted.holds.release("door")
    await rig.delivered(f"{turn}:placeholder:over")
    texts = {str(sent.kind): sent for sent in rig.room.sent if sent.turn == turn}
    assert texts["placeholder"].text == "处理中…"
    assert re.search(r"^\d+ 秒 · ", texts["final"].note)
    over = next(edit for _, edit in rig.room.edits if edit.id == f"{turn}:placeholder:over")
    assert re.fullmatch(r"✓ \d+ 秒, 1 步", over.text)


async def test_a_gate_is_asked_pressed_and_redrawn_in_chinese(rig: Rig) -> None:
    turn = (await say(rig, "!approve rm 旧文件\n!text 好了")).turn
    await rig.until(lambda entry: any(sent.kind == "ask" for sent in rig.room.sent))
    [card] = [sent for sent in rig.room.sent if sent.kind == "ask"]
    assert card.text.startswith("智能体请求运行命令 (") and "1. 允许" in card.text and "回复「同意」" in card.text
    assert card.buttons[0].label == "✅ 允许" and card.buttons[0].says.endswith(" y")
    pressed = await say(rig, card.buttons[0].says, pressed=True, quoted=f"message-{rig.room.sent.index(card) + 1}")
    assert pressed.fate is Fate.ANSWER and "正在送往智能体" in pressed.words
    await rig.delivered(f"{turn}:final")
    await rig.until(lambda entry: any("已允许" in edit.text for _, edit in rig.room.edits))
    [redrawn] = [edit.text for _, edit in rig.room.edits if "已允许" in edit.text]
    assert set(LATIN.findall(redrawn)) == {"ann"}


async def test_a_cut_turn_and_a_backlog_ask_and_settle_in_chinese(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        turn = (await rig.say("!shell make\n!hold door\n!text 好")).turn
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path, room=Room(can=CAN), config=SETTINGS) as rig:
        await known(rig)
        await rig.delivered(f"{turn}:ask")
        assert rig.room.sent[-1].text.startswith("这一轮中断了，可能已经做了一些事。")
        assert [button.label for button in rig.room.sent[-1].buttons] == ["▶ 继续", "⏹ 停止"]
        assert (await say(rig, "停止")).words == "已停止。随时可以说新的事。"
        await rig.delivered(f"{turn}:ask:over")
        redrawn = rig.room.edits[-1][1].text
        assert redrawn.startswith("这一轮中断了") and redrawn.endswith("→ ann 选择了停止") and "回复" not in redrawn


async def test_a_stale_message_is_asked_about_in_chinese(tmp_path: Path) -> None:
    config = Config(threads=ThreadsConfig(runtime="scripted"), inbox=InboxConfig(stale_after=1))
    async with Rig(tmp_path, room=Room(can=CAN), config=config) as rig:
        await known(rig)
        turn = (await say(rig, "!text 早上好", sent_at=1)).turn
        await rig.delivered(f"{turn}:backlog")
        assert rig.room.sent[-1].text.startswith("clew 离开了一段时间，这里有 1 条消息在等。")
        status = (await say(rig, "/status")).words
        assert "等待中" in status and "这里有 1 条消息在等" in status


async def test_a_possible_repeat_is_marked_in_chinese(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True))) as rig:
        await known(rig)
        rig.room.after.append(InDoubt("the answer was lost"))
        turn = (await say(rig, "!text 你好")).turn
        await rig.delivered(f"{turn}:final")
        assert chat_messages.POSSIBLE_REPEAT.zh in rig.room.sent[-1].note


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/停止", "这里还没有会话；直接说话即可开始，或用 /会话 和 /继续。"),
        ("/离开 nowhere", "'nowhere' 不是聊天平台。可用：room。"),
        ("/智能体 nobody", "没有名为 'nobody' 的智能体。可选：scripted。"),
        ("/目录 /nowhere/at/all", "/nowhere/at/all 不是目录；请给出已有目录的路径，也可以是相对路径。"),
        ("/同意 那个", "那个 不是待办编号；/待办 列出等你答复的事项。"),
    ],
)
async def test_a_command_is_refused_in_chinese(rig: Rig, text: str, words: str) -> None:
    owner = Person("room", "7", "安", Role.OWNER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, owner))
    refused = await say(rig, text)
    assert (refused.fate, refused.words, refused.texts) == (Fate.REFUSED, words, {})


async def test_receipts_and_their_errors_are_in_chinese(rig: Rig) -> None:
    turn = (await say(rig, "!text 你好")).turn
    await rig.delivered(f"{turn}:final")
    assert (await say(rig, "/回执")).words == "已发送: room:a"
    gone = chat_messages.surface_gone("room")
    await rig.store.write(lambda tx: tx.run("UPDATE deliveries SET state = 'failed', error = ?", stored(gone)))
    again = (await say(rig, "/回执")).words
    assert again == "发送失败: room:a (平台 'room' 已不存在；请重新添加，然后运行 `clew notify --retry-failed`)"


async def test_a_file_that_is_not_sent_is_explained_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    class Odd(Room):
        async def send(self, outgoing):  # type: ignore[no-untyped-def]
            if outgoing.file is not None:
                Path(outgoing.file.path).unlink()
                Path(outgoing.file.path).read_bytes()
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Odd(can=SurfaceCan(chat=True, files=1000))) as rig:
        await known(rig)
        turn = (await say(rig, "!text 见 [a](a.txt) 和 [b](b.txt)")).turn
        await rig.delivered(f"{turn}:file:1")
        final, file = rig.room.texts
    assert final.endswith("📎 b.txt：文件不存在。") and file == "📎 a.txt：文件不存在。"


async def test_a_failed_turn_says_why_in_chinese(rig: Rig) -> None:
    turn = (await say(rig, "!text 你好")).turn
    row = await rig.ended(turn)
    await rig.store.write(lambda tx: tx.run("UPDATE threads SET runtime = 'nobody' WHERE id = ?", row.thread))
    failed = await rig.ended((await say(rig, "!text 再来")).turn)
    await rig.delivered(f"{failed.id}:final")
    assert rig.room.texts[-1] == "⚠ 没有名为 'nobody' 的智能体；可选：scripted"
    assert failed.texts["error"].code == "turns.no_runtime"


async def test_a_fork_of_a_chinese_thread_has_a_chinese_title(rig: Rig) -> None:
    turn = (await say(rig, "!text 你好")).turn
    row = await rig.ended(turn)
    await say(rig, "/分叉")
    fork, *_ = (await rig.engine.threads.page(ThreadFilter())).threads
    assert (fork.forked_from, fork.title) == (row.thread, "!text 你好（分叉）")


async def test_what_the_agent_says_is_never_translated(rig: Rig) -> None:
    turn = (await say(rig, f"!text {chat_messages.WORKING}\n你好吗")).turn
    await rig.delivered(f"{turn}:final")
    [final] = [sent for sent in rig.room.sent if sent.kind == "final"]
    assert str(chat_messages.WORKING) in final.text


def test_every_text_has_a_chinese_version() -> None:
    for name, each in vars(chat_messages).items():
        if isinstance(each, bilingual.Bilingual | Text):
            assert detect_language(bilingual.zh(each)) == "zh" and detect_language(each) != "zh", name
