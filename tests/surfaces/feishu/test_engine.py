"""The Feishu surface with the real engine and the fake platform: what people see, and that they see it once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.places.targets import HandoffRequest
from clew.model.messages import Role
from clew.model.threads import ThreadKind
from clew.model.views import ThreadView
from clew.store.tables import deliveries, turns
from clew.surfaces.feishu.settings import FeishuConfig
from clew.testing.scripted_model import script
from clew.texts import chat_messages as said
from clew.texts.bilingual import zh
from tests.helpers.rig import Rig
from tests.surfaces.feishu.apps import ALONE, ANN, BOB, BOT, GROUP, App, labels, mention, words

SETTINGS = Config(
    threads=ThreadsConfig(runtime="scripted"),
    surfaces={"feishu": FeishuConfig(app_id="cli_1", allow=(ANN,))},
)
WORKING = (str(said.WORKING), zh(said.WORKING))
TO_CLEW = [mention("@_user_1", BOT, "clew")]


@asynccontextmanager
async def clew(app: App, folder: Path, **more: Any) -> AsyncIterator[Rig]:
    """Run one daemon. The next one in the same folder continues its work."""
    surface = app.surface(folder / "files", **more)
    try:
        async with Rig(folder, config=SETTINGS, surfaces={"feishu": surface}) as rig:
            await app.connected()
            yield rig
    finally:
        await surface.close()
    await app.until(lambda state: not state["lines"])


async def threads(rig: Rig) -> tuple[ThreadView, ...]:
    return (await rig.engine.threads.snapshot(None)).threads


async def fates(rig: Rig) -> dict[str, int]:
    return {fate: count for fate, count in (await rig.engine.status.fates()).items() if count}


async def answer(app: App, text: str, chat: str = ALONE) -> dict[str, Any]:
    """Wait for the message that starts with this text."""
    return await app.until_shown(lambda shown: shown.startswith(text), chat)


@pytest.mark.process
async def test_a_message_gets_a_placeholder_and_then_its_answer(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!text hello **Ann**")
        shown = await answer(app, "hello **Ann**")
        await app.confirmed()
        placeholder, final = await app.shown(2)
        assert (placeholder["msg_type"], final["msg_type"]) == ("interactive", "post")
        assert final["message_id"] == shown["message_id"]
        assert await fates(rig) == {"turn": 1}
        await app.until_shown(lambda text: not text.startswith(said.WORKING) and "hello" not in text)


async def test_a_message_that_comes_again_after_a_restart_runs_once(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path):
        event = await app.say("!text once")
        await answer(app, "once")
        await app.confirmed()
    await app.do("again", event=event["event"])
    async with clew(app, tmp_path) as rig:
        await app.confirmed()
        assert await fates(rig) == {"turn": 1} and len(await threads(rig)) == 1
        assert [words(message) for message in await app.shown() if message["msg_type"] == "post"] == [
            words(await answer(app, "once"))
        ]


async def test_messages_sent_in_a_row_are_answered_in_order(app: App, tmp_path: Path) -> None:
    for number in range(5):
        await app.say(f"/queue !text answer {number}")
    async with clew(app, tmp_path):
        await answer(app, "answer 4")
        posts = [words(message) for message in await app.shown() if words(message).startswith("answer")]
    assert [text.split("\n")[0] for text in posts] == [f"answer {number}" for number in range(5)]


async def test_an_answer_whose_receipt_was_lost_is_one_message(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!hold one\n!text done")
        await rig.held("one")
        await app.shown(1)
        await app.fault("reply", "cut_after")
        rig.scripted.holds.release("one")
        shown = await answer(app, "done")
        await app.until(lambda state: sum(call["method"] == "reply" for call in state["calls"]) >= 2)
        turn = (await threads(rig))[0].turn
        await rig.delivered(f"{turn}:final")
        row = await rig.store.read(lambda tx: deliveries.get(tx, f"{turn}:final"))
        assert row is not None and row.message_id == shown["message_id"]
        assert len([message for message in await app.shown() if words(message).startswith("done")]) == 1


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "error", "code": 99991400, "headers": {"x-ogw-ratelimit-reset": "0.1"}},
        {"kind": "cut_before"},
        {"kind": "error", "code": 99991663},
    ],
)
async def test_a_failed_send_is_retried(app: App, tmp_path: Path, fault: dict[str, Any]) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!hold one\n!text done")
        await rig.held("one")
        await app.shown(1)
        await app.fault("reply", **fault)
        rig.scripted.holds.release("one")
        await answer(app, "done")
        assert len([message for message in await app.shown() if words(message).startswith("done")]) == 1


async def test_a_chat_that_removed_the_bot_fails_with_the_platforms_text(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!hold one\n!text done")
        await rig.held("one")
        await app.shown(1)
        await app.do("chat", id=ALONE, removed=True)
        rig.scripted.holds.release("one")
        await rig.saw("delivery.failed")
        [thread] = await threads(rig)
        [failed] = [row for row in await rig.engine.threads.where(thread.id) if row.state == "failed"]
        assert "out of the chat" in (failed.error or "")


@pytest.mark.parametrize("how", ["button", "reaction"])
async def test_a_gate_is_answered_and_its_card_updated(app: App, tmp_path: Path, how: str) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!approve rm -rf build\n!text done")
        card = await app.until_shown(lambda shown: "rm -rf build" in shown)
        assert labels(card)[0] == "✅ Allow" and "🚫 Decline" in labels(card)
        if how == "button":
            assert (await app.press(card["message_id"], "✅ Allow"))["toast"]["content"]
        else:
            await app.react(card["message_id"], "THUMBSUP")
        await answer(app, "done")
        redrawn = await app.until(lambda state: [m for m in _cards(state, card) if not labels(m)])
        assert "allow" in words(_cards(redrawn, card)[0]).lower()
        assert await fates(rig) == {"turn": 1, "answer": 1}


async def test_a_reaction_counts_only_where_one_gate_is_open(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        rig.scripted.play = lambda request: (script.Approve(("make", "rm -rf build")), script.Say("done"))
        await app.say("please")
        card = await app.until_shown(lambda shown: "rm -rf build" in shown and "make" in shown)
        first, second = await rig.engine.gates.all()
        await app.react(card["message_id"], "THUMBSUP")
        told = words(await app.until_shown(lambda shown: "Press a button" in shown))
        assert first.code in told and second.code in told and len(await rig.engine.gates.all()) == 2
        await app.press(card["message_id"], f"🚫 {first.code}")
        await app.until(lambda state: [m for m in _cards(state, card) if f"{first.code}: declined" in words(m)])
        await app.react(card["message_id"], "OK")
        await answer(app, "done")
        await app.until(lambda state: [m for m in _cards(state, card) if f"{second.code}: allowed" in words(m)])


def _cards(state: dict[str, Any], card: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in state["messages"] if message["message_id"] == card["message_id"]]


async def test_a_person_without_permission_cannot_answer_a_gate_and_is_told(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("@_user_1 !approve rm -rf build\n!text done", chat=GROUP, mentions=TO_CLEW)
        card = await app.until_shown(lambda shown: "rm -rf build" in shown, GROUP)
        assert (await app.press(card["message_id"], "✅ Allow", user=BOB))["toast"]["type"] == "warning"
        await app.react(card["message_id"], "OK", user=BOB)
        await app.until_shown(lambda shown: said.STRANGER in shown, GROUP)
        [gate] = await rig.engine.gates.all()
        assert gate.state == "open"
        assert (await app.press(card["message_id"], "🚫 Decline"))["toast"]["content"]


async def test_a_stranger_gets_a_code_and_may_then_speak(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.do("chat", id="oc_bob", type="p2p")
        await app.say("!text hello", chat="oc_bob", user=BOB)
        [shown] = await app.shown(1, "oc_bob")
        code = next(word for word in words(shown).replace("`", " ").split() if len(word) == 8 and word.isupper())
        await rig.engine.access.pair(code, Role.DRIVER, "ann")
        await app.say("!text hello", chat="oc_bob", user=BOB)
        await answer(app, "hello", "oc_bob")


async def test_in_a_group_a_thread_needs_no_mention_and_chatter_is_ignored(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        root = await app.say("look at this", chat=GROUP)
        inside = {"root_id": root["message_id"], "parent_id": root["message_id"], "thread_id": "omt_1"}
        await app.say("@_user_1 !text first", chat=GROUP, mentions=TO_CLEW, **inside)
        await answer(app, "first", GROUP)
        await app.say("!text second", chat=GROUP, **inside)
        shown = await answer(app, "second", GROUP)
        assert shown["thread_id"] and shown["root_id"] == root["message_id"]
        await app.say("people among themselves", chat=GROUP)
        await app.confirmed()
        assert len(await threads(rig)) == 1 and await fates(rig) == {"turn": 2}


async def test_a_quote_continues_its_thread_whatever_is_bound(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("!text first")
        first = await answer(app, "first")
        await app.say("/new")
        await app.say("!text other")
        await answer(app, "other")
        await app.say("!text again", parent_id=first["message_id"], root_id=first["message_id"])
        await answer(app, "again")
        seen = sorted([len(await rig.engine.threads.transcript(thread.id, 10)) for thread in await threads(rig)])
        assert seen == [2, 4]


async def test_files_reach_the_agent(app: App, tmp_path: Path) -> None:
    await app.keep("k", b"what it holds")
    async with clew(app, tmp_path) as rig:
        content = {"content": [[{"tag": "text", "text": "!text seen"}], [{"tag": "img", "image_key": "k"}]]}
        await app.post("post", content)
        await answer(app, "seen")
        [thread] = await threads(rig)
        turn = await rig.store.read(lambda tx: turns.get(tx, thread.turn or ""))
        assert turn is not None
        [attachment] = turn.request[0].attachments
        assert (attachment.name, Path(attachment.path).read_bytes()) == ("image-1.png", b"what it holds")


async def test_a_long_answer_comes_in_parts(app: App, tmp_path: Path) -> None:
    text = " ".join(f"词{number}" for number in range(6000))
    async with clew(app, tmp_path):
        await app.say(f"!text {text}")
        await app.until_shown(lambda shown: "词5999" in shown and not shown.startswith(WORKING))
        every = [words(message) for message in await app.shown()]
        parts = [part for part in every if "词" in part and not part.startswith(WORKING)]
        shown = " ".join(part.split("\n")[0].strip() for part in parts)
        assert len(parts) >= 3 and shown == text


@pytest.mark.parametrize("chat", [ALONE, GROUP])
async def test_a_local_thread_continues_in_a_feishu_thread(app: App, tmp_path: Path, chat: str) -> None:
    async with clew(app, tmp_path, home=chat) as rig:
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "feishu", "ann", quiet=True))
        done = await rig.engine.handoffs.look(asked.id, 60)
        notice = await app.until_shown(lambda shown: "You can go on here: !text one" in shown, chat)
        assert (done.state, done.conversation) == ("completed", f"feishu:{chat}/{notice['thread_id']}")
        inside = {"root_id": notice["root_id"], "parent_id": notice["message_id"], "thread_id": notice["thread_id"]}
        await app.say("!text two", chat=chat, **inside)
        assert (await answer(app, "two", chat))["thread_id"] == notice["thread_id"]
        assert [thread.id for thread in await threads(rig)] == [begun.thread]
        said_so_far = await rig.engine.threads.transcript(begun.thread or "", 10)
        assert [passage.text for passage in said_so_far] == ["!text one", "one", "!text two", "two"]


async def test_without_a_home_a_handoff_goes_to_the_direct_chat_of_the_owner(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path) as rig:
        await app.say("@_user_1 !text hello", chat=GROUP, mentions=TO_CLEW)
        await answer(app, "hello", GROUP)
        await app.say("!text zero")
        await answer(app, "zero")
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "feishu", "ann", quiet=True))
        done = await rig.engine.handoffs.look(asked.id, 60)
        assert done.state == "completed" and (done.conversation or "").startswith(f"feishu:{ALONE}/")


async def test_commands_are_understood_in_chinese(app: App, tmp_path: Path) -> None:
    async with clew(app, tmp_path):
        await app.say("/状态")
        await app.until_shown(lambda shown: "会话" in shown)
