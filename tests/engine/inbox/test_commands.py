"""Commands in chats."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.delivery.language import CHINESE, detect_language
from clew.model.messages import Accepted, Fate, Person, Role
from clew.model.surface import SurfaceCan
from clew.store.tables import people
from clew.texts import slash_commands
from clew.texts.command_replies import SENTENCES
from tests.helpers.rig import Rig, Room


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    config = Config(threads=ThreadsConfig(runtime="scripted"))
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True)), config=config) as rig:
        person = Person("room", "7", "ann", Role.OWNER, 0, "test")
        await rig.store.write(lambda tx: people.add(tx, person))
        yield rig


async def say(rig: Rig, text: str, **more: object) -> Accepted:
    return await rig.say(text, sender_id="7", **more)  # type: ignore[arg-type]


async def words(rig: Rig, text: str, fate: Fate = Fate.COMMAND) -> str:
    accepted = await say(rig, text)
    assert accepted.fate is fate, accepted
    return accepted.words


async def test_new_starts_a_thread_and_resume_returns_to_the_old_one(rig: Rig) -> None:
    first = await say(rig, "!text one")
    await rig.ended(first.turn)
    second = await say(rig, "/new !text two")
    assert second.fate is Fate.TURN and second.thread != first.thread
    await rig.ended(second.turn)
    listed = await words(rig, "/threads")
    assert listed.splitlines()[0] == "1. text-two: !text two (idle) ←"
    assert "text-two: !text two\n" in await words(rig, "/status")
    assert "!text one" in await words(rig, "/resume 2")
    assert (await say(rig, "!text three")).thread == first.thread
    assert "!text two" in await words(rig, f"/resume {second.thread}")
    for name in ("text-one", "text-o", "text one"):
        assert "!text one" in await words(rig, f"/resume {name}")
        assert "!text two" in await words(rig, "/resume text-two")
    assert "!text one" in await words(rig, "/resume last")
    several = await words(rig, "/resume text-", Fate.REFUSED)
    assert "text-one (!text one); text-two" in several
    assert "There is no thread 9" in await words(rig, "/resume 9", Fate.REFUSED)
    assert "begins a new thread" in await words(rig, "/new")
    assert (await say(rig, "!text four")).thread not in (first.thread, second.thread)


async def test_stop_queue_status_and_done(rig: Rig) -> None:
    assert "No thread is bound here" in await words(rig, "/status", Fate.REFUSED)
    first = await say(rig, "!hold door\n!text one")
    await rig.held("door")
    queued = await say(rig, "/queue !text two")
    assert (queued.fate, queued.thread) == (Fate.TURN, first.thread)
    assert "1 queued." in await words(rig, "/status")
    assert "still works" in await words(rig, "/done", Fate.REFUSED)
    assert await words(rig, "/stop") == "Stopping it. Queued behind it, so it runs next: 1. /stop stops that too."
    assert (await rig.ended(first.turn)).state == "interrupted"
    assert (await rig.ended(queued.turn)).text == "two"
    await rig.delivered(f"{queued.turn}:final")
    assert "sent: room:a" in await words(rig, "/where")
    assert "Done." in await words(rig, "/done")


async def test_gates_are_answered_by_command(rig: Rig) -> None:
    asked = await say(rig, "!approve deploy\n!text done")
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    assert await words(rig, "/gates") == f"{gate.code}: deploy"
    assert (await say(rig, f"/deny {gate.code} not today")).fate is Fate.ANSWER
    await rig.ended(asked.turn)
    assert (await rig.engine.gates.one(gate.code)).decision == "decline"
    assert "Nothing waits" in await words(rig, "/gates")
    for slip in ("/approve K7", "/deny nope", "/answer that is it"):
        assert "is not a gate code" in await words(rig, slip, Fate.REFUSED)


@pytest.mark.parametrize(
    "order",
    [
        "/approve CODE but only the first one",
        "/approve CODE not yet",
        "/同意 CODE 不过先等一下",
        "/approve CODE B2B2",
        "/approve CODE\nnot yet",
    ],
)
async def test_approve_with_more_than_a_code_allows_nothing(rig: Rig, order: str) -> None:
    asked = await say(rig, "!approve deploy\n!text done")
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    await rig.delivered(f"{gate.id}:ask")
    told = await words(rig, order.replace("CODE", gate.code), Fate.REFUSED)
    assert "\n" in order or f"`/deny {gate.code} REASON`" in told or f"`/拒绝 {gate.code} 原因`" in told
    assert (await rig.engine.gates.one(gate.code)).state == "open"
    assert (await say(rig, f"/approve {gate.code} yes")).fate is Fate.ANSWER
    await rig.ended(asked.turn)


async def test_settings_of_a_conversation_apply_to_its_next_thread(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    assert str(folder) in await words(rig, f"/dir {folder}")
    await words(rig, "/model fast-one")
    assert "scripted" in await words(rig, "/runtime")
    assert "There is no agent 'nobody'" in await words(rig, "/runtime nobody", Fate.REFUSED)
    for folder_ in ("nowhere", "~nobody-of-that-name/x", "/" + "x" * 5000):
        assert "not a folder" in await words(rig, f"/dir {folder_}", Fate.REFUSED)
    thread = await rig.engine.threads.get((await say(rig, "!text hi")).thread or "")
    assert (thread.workspace, thread.model) == (str(folder), "fast-one")
    elsewhere = await rig.engine.threads.get((await say(rig, "!text hi", room="b")).thread or "")
    assert elsewhere.model is None


async def test_a_task_that_notifies_a_surface_notifies_its_home(rig: Rig) -> None:
    assert "home of room" in await words(rig, "/home")
    task = await rig.start("!text done", notify="room")
    await rig.delivered(f"{task.turn}:final")
    assert [(sent.conversation.address, sent.text) for sent in rig.room.sent if sent.kind == "final"] == [
        ("a", "Task: !text done\n\ndone")
    ]


async def test_a_fork_is_bound_to_the_conversation(rig: Rig) -> None:
    first = await say(rig, "!text one")
    await rig.ended(first.turn)
    await words(rig, "/fork another way")
    second = await say(rig, "!text two")
    assert second.thread != first.thread
    assert (await rig.engine.threads.get(second.thread or "")).forked_from == first.thread


async def test_what_only_looks_like_a_command_goes_to_the_agent(rig: Rig) -> None:
    for text in ("/usr/bin is full", "/compact", "/ help", "see /help"):
        assert (await say(rig, text, room=text)).fate is Fate.TURN
    assert "did you mean /help?" in await words(rig, "/hlep", Fate.REFUSED)


async def test_chinese_is_answered_in_chinese(rig: Rig) -> None:
    assert "/new" in await words(rig, "/help")
    assert "新会话" in await words(rig, "/新建")


async def test_outside_chats_a_slash_is_not_a_command(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        assert (await rig.say("/new")).fate is Fate.TURN


async def test_a_full_width_slash_and_chinese_names_work(rig: Rig) -> None:
    await rig.ended((await say(rig, "!text one")).turn)
    for text in ("／状态", "／status", "/状态", "／Status　"):
        assert "!text one" in await words(rig, text)
    assert (await say(rig, "／新建　!text two")).fate is Fate.TURN


async def test_two_slashes_send_a_message_that_looks_like_a_command(rig: Rig) -> None:
    first = await say(rig, "//status of the build?")
    assert first.fate is Fate.TURN
    assert (await rig.engine.threads.get(first.thread or "")).title == "/status of the build?"
    second = await say(rig, "// a comment", room="b")
    assert (await rig.engine.threads.get(second.thread or "")).title == "// a comment"


async def test_a_command_of_the_terminal_is_explained_and_not_sent_to_the_agent(rig: Rig) -> None:
    assert "works only in `clew chat`" in await words(rig, "/quit", Fate.REFUSED)
    assert "/退出 只能在 `clew chat` 里使用。" in await words(rig, "/退出", Fate.REFUSED)


async def test_a_wrong_use_names_the_arguments_and_does_nothing(rig: Rig) -> None:
    await rig.ended((await say(rig, "!text one")).turn)
    assert await words(rig, "/queue", Fate.REFUSED) == "/queue needs an argument: /queue TEXT"
    assert "/done takes no argument; nothing was done." in await words(rig, "/done and fix it", Fate.REFUSED)
    assert "idle" in await words(rig, "/status")
    assert "did you mean /deny?" in await words(rig, "/deney K7Q2 no", Fate.REFUSED)


async def test_stop_stops_whatever_is_written_after_it(rig: Rig) -> None:
    await say(rig, "!hold door\n!text one")
    await rig.held("door")
    assert await words(rig, "/stop that now please") == "Stopping it."


async def test_a_short_handle_names_a_thread_and_an_id_wins_over_a_handle(rig: Rig) -> None:
    short = await say(rig, "ci")
    await rig.ended(short.turn)
    other = await say(rig, "/new !text other")
    await rig.ended(other.turn)
    await words(rig, "/resume ci")
    assert (await say(rig, "!text more")).thread == short.thread
    named = (other.thread or "").lower()
    await rig.store.write(lambda tx: tx.run("UPDATE threads SET handle = ? WHERE id = ?", named, short.thread))
    assert "other" in await words(rig, f"/resume {named}")


async def test_resume_alone_lists_threads(rig: Rig) -> None:
    await rig.ended((await say(rig, "!text one")).turn)
    assert await words(rig, "/resume") == await words(rig, "/threads")


async def said_by(rig: Rig, role: Role, text: str) -> Accepted:
    person = Person("room", str(role), "bob", role, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, person))
    return await rig.say(text, sender_id=str(role))


def listed(text: str) -> set[str]:
    return {line.split()[0].rstrip(":")[1:] for line in text.splitlines() if line.startswith("/")}


async def test_help_has_one_line_for_each_command_that_the_person_may_use(rig: Rig) -> None:
    everything = {spec.name for spec in slash_commands.COMMANDS} - {"attach", "quit"}
    told = {role: listed((await said_by(rig, role, "/help")).words) for role in Role}
    assert told[Role.OWNER] == everything
    assert told[Role.DRIVER] == everything - {"home", "away", "back"}
    looks = {"help", "status", "model", "effort", "policy", "priority", "rules", "diff", "history"}
    assert told[Role.WATCHER] == looks


async def test_help_is_in_the_language_of_the_reader_and_may_be_about_one_command(rig: Rig) -> None:
    chinese = (await words(rig, "/帮助")).splitlines()
    assert chinese[0] == "/新建 [内容]：开启新会话" and all(detect_language(line) == CHINESE for line in chinese)
    await say(rig, "/new !text good morning to you")
    assert (await words(rig, "/help")).startswith("/new [TEXT]: Start a new thread\n")
    for text in ("/help deny", "/help /拒绝", "/帮助 ／deny"):
        assert len((await words(rig, text)).splitlines()) == 1
    assert listed(await words(rig, "/start some-link")) == listed(await words(rig, "/help"))


async def test_permissions_of_commands_are_those_of_the_table(rig: Rig) -> None:
    await rig.ended((await say(rig, "!text one")).turn)
    for spec in slash_commands.available(slash_commands.Place.CHAT):
        for role in (Role.DRIVER, Role.WATCHER):
            refused = await said_by(rig, role, f"/{spec.name} {'' if spec.is_complete_alone else 'x'}")
            is_refused_for_role = "Only an owner" in refused.words or "You may look on" in refused.words
            assert is_refused_for_role == (not spec.may_be_used_by(role)), (spec.name, role)


async def test_a_watcher_sends_nothing_by_a_mistake_or_two_slashes(rig: Rig) -> None:
    for text in ("/hlep", "//status", "hello", "/new !text x", "/queue !text x"):
        refused = await said_by(rig, Role.WATCHER, text)
        assert (refused.fate, "You may look on" in refused.words) == (Fate.REFUSED, True), text


def test_every_reply_exists_in_both_languages() -> None:
    assert all(english and chinese and english != chinese for english, chinese in SENTENCES.values())


async def two_people(rig: Rig) -> None:
    """Ann owns this clew; Bob, a driver, is in a group with her."""
    bob = Person("room", "8", "bob", Role.DRIVER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, bob))


async def in_group(rig: Rig, text: str, who: str = "8") -> Accepted:
    return await rig.say(text, sender_id=who, room="group", in_group=True)


async def test_a_group_lists_only_its_own_threads(rig: Rig) -> None:
    await two_people(rig)
    private = await say(rig, "!text my tax return")
    await rig.ended(private.turn)
    await rig.ended((await in_group(rig, "!text our plan")).turn)
    for who in ("8", "7"):
        for order in ("/threads", "/resume"):
            told = (await in_group(rig, order, who)).words
            assert "our plan" in told and "tax" not in told and ("direct chat" in told) == (who == "7")
        for name in ("2", private.thread or "", (private.thread or "")[-6:]):
            refused = await in_group(rig, f"/resume {name}", who)
            assert refused.fate is Fate.REFUSED and "tax" not in refused.words
    assert "tax" in await words(rig, "/threads") and "our plan" in await words(rig, "/threads")


async def test_a_group_can_go_back_to_what_was_said_there(rig: Rig) -> None:
    await two_people(rig)
    first = await in_group(rig, "!text our plan")
    await rig.ended(first.turn)
    await rig.ended((await in_group(rig, "/new !text another plan")).turn)
    assert "another plan" in (await in_group(rig, "/threads")).words
    assert "our plan" in (await in_group(rig, "/resume 2")).words
    assert (await in_group(rig, "!text more")).thread == first.thread


async def test_a_group_is_not_shown_what_was_said_in_private_since(rig: Rig) -> None:
    await two_people(rig)
    ours = await in_group(rig, "!text our plan", "7")
    await rig.ended(ours.turn)
    await in_group(rig, "/new")
    await words(rig, "/resume 1")
    private = await say(rig, "!text my salary is 1")
    await rig.ended(private.turn)
    assert private.thread == ours.thread
    await words(rig, "/new")
    for who in ("8", "7"):
        assert "plan" not in (await in_group(rig, "/threads", who)).words
        for name in ("1", ours.thread or ""):
            assert (await in_group(rig, f"/resume {name}", who)).fate is Fate.REFUSED
    assert "salary" not in (await in_group(rig, "/history")).words
    assert "our plan" in await words(rig, "/threads")


async def test_a_driver_in_a_direct_chat_sees_what_was_said_there(rig: Rig) -> None:
    await two_people(rig)
    await rig.ended((await say(rig, "!text my tax return")).turn)
    own = await rig.say("!text a small thing", sender_id="8", room="bob")
    await rig.ended(own.turn)
    told = (await rig.say("/会话", sender_id="8", room="bob")).words
    assert "a small thing" in told and "tax" not in told and "/继续" in told


async def test_gates_lists_in_a_group_only_what_belongs_there(rig: Rig) -> None:
    await two_people(rig)
    await say(rig, "!approve pay the bill\n!text done")
    await rig.saw("gate.opened")
    assert (await in_group(rig, "/gates")).words == "Nothing waits for you."
    [gate] = await rig.engine.gates.all()
    shown = await in_group(rig, gate.code)
    assert shown.fate is Fate.REFUSED and "pay" not in shown.words
    odd = await in_group(rig, f"{gate.code} perhaps")
    assert odd.fate is Fate.REFUSED and "pay" not in odd.words
    assert "pay the bill" in await words(rig, "/gates")


@pytest.mark.parametrize("is_task", [True, False])
async def test_an_owner_answers_by_code_what_another_chat_shows(tmp_path: Path, is_task: bool) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True, edit=True, buttons=4))) as rig:
        await rig.allow("7")
        await two_people(rig)
        text = "!approve deploy\n!text done"
        asks = await rig.start(text, notify="room:group") if is_task else await in_group(rig, text)
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        bob = await rig.say(f"/approve {gate.code}", sender_id="8", room="bob")
        assert bob.fate is Fate.REFUSED and "`clew" not in bob.words  # he may not see what others are asked
        assert "It comes now" in await words(rig, f"/approve {gate.code}", Fate.REFUSED)
        await rig.delivered(f"{gate.id}:copy")
        [copy] = [sent for sent in rig.room.sent if sent.id == f"{gate.id}:copy"]
        assert copy.conversation == rig.where() and "deploy" in copy.text
        assert f"{gate.code} y" in [button.says for button in copy.buttons]
        assert (await say(rig, f"/approve {gate.code}")).fate is Fate.ANSWER
        assert (await rig.ended(asks.turn)).text == "done"
        await rig.hasten()
        redrawn = {change.conversation.address: change.text for _, change in rig.room.edits if gate.code in change.id}
        assert redrawn.keys() == {"a", "group"} and all("deploy" in text for text in redrawn.values())


async def test_a_bare_code_shows_an_owner_what_another_chat_shows_with_a_yes(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True, max_length=500))) as rig:
        await rig.allow("7")
        await two_people(rig)
        long = "x " * 300
        asks = await in_group(rig, f"!approve deploy {long}\n!text done")
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        assert (await say(rig, gate.code)).fate is Fate.COMMAND
        await rig.delivered(f"{gate.id}:copy")
        parts = [sent for sent in rig.room.sent if sent.id.startswith(f"{gate.id}:copy:part")]
        assert parts and all(sent.conversation == rig.where() for sent in parts)
        assert (await say(rig, f"{gate.code} y")).fate is Fate.ANSWER
        await rig.ended(asks.turn)


async def test_an_owner_answers_by_code_what_only_the_computer_shows(rig: Rig) -> None:
    task = await rig.start("!approve deploy\n!text done")
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    assert gate.code in await words(rig, "/gates")
    told = await words(rig, f"/approve {gate.code}", Fate.REFUSED)
    assert "It comes now" in told
    await rig.delivered(f"{gate.id}:ask")
    [card] = [sent for sent in rig.room.sent if sent.id == f"{gate.id}:ask"]
    assert "deploy" in card.text and (await rig.engine.gates.one(gate.code)).state == "open"
    assert (await say(rig, f"/approve {gate.code}")).fate is Fate.ANSWER
    assert (await rig.ended(task.turn)).text == "done"


async def test_the_code_alone_brings_the_card_and_a_no_needs_none(rig: Rig) -> None:
    for number, order in enumerate(("CODE", "/deny CODE not now"), 1):
        await rig.start("!approve deploy\n!text done")
        await rig.until(lambda entry, number=number: rig.kinds().count("gate.opened") == number)  # type: ignore[misc]
        gate = (await rig.engine.gates.all())[-1]
        said = await say(rig, order.replace("CODE", gate.code))
        assert said.fate is (Fate.COMMAND if order == "CODE" else Fate.ANSWER)
        if order == "CODE":
            await rig.delivered(f"{gate.id}:ask")


async def test_from_another_chat_a_driver_may_decline_by_code_and_not_allow(rig: Rig) -> None:
    await two_people(rig)
    asked = await in_group(rig, "!approve deploy\n!text done")
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    refused = await rig.say(f"/同意 {gate.code}", sender_id="8", room="bob")
    assert refused.fate is Fate.REFUSED and f"`{gate.code} n`" in refused.words and "`clew" not in refused.words
    assert (await rig.say(f"/deny {gate.code}", sender_id="8", room="bob")).fate is Fate.ANSWER
    await rig.ended(asked.turn)


async def test_a_chat_names_its_own_commands(rig: Rig) -> None:
    """Words for the computer help nobody on a phone."""
    await say(rig, "!approve deploy\n!text done")
    await rig.saw("gate.opened")
    queued = await say(rig, "/queue and one more thing")
    assert "/gates shows it" in queued.words and "`clew" not in queued.words
    assert "`clew" not in await words(rig, "/resume nothing-like-it", Fate.REFUSED)
    assert "`clew" not in (await say(rig, "Z9Z9 y")).words
    assert "/待办 可查看" in (await say(rig, "/排队 还有一件事")).words


async def test_a_watcher_may_ask_for_the_status_with_a_full_width_slash(rig: Rig) -> None:
    await rig.ended((await say(rig, "!text one")).turn)
    carol = Person("room", "9", "carol", Role.WATCHER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, carol))
    for order in ("/status", "／状态", "／STATUS"):
        told = await rig.say(order, sender_id="9")
        assert told.fate is Fate.COMMAND and "!text one" in told.words
