"""Chats: who may speak, which messages are meant for clew, and what senders and readers are told."""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.engine.delivery.placeholder import enqueue_end, working
from clew.engine.gates import cards
from clew.engine.places.targets import home_or_none
from clew.engine.progress import Progress, advance
from clew.model.delivery import Delivery, DeliveryKind
from clew.model.events import Activity, ActivityKind, Phase
from clew.model.messages import Accepted, Conversation, Fate, Role
from clew.model.surface import Never, Outgoing, Receipt, SurfaceCan
from clew.model.turns import TurnState
from clew.runtimes.codex.threads import as_input
from clew.store import Tx
from clew.store.tables import deliveries, places, turns
from clew.support.errors import NotFound, Refused
from clew.surfaces.telegram.settings import TelegramConfig
from clew.texts import chat_messages
from clew.texts.bilingual import zh
from tests.helpers.rig import Homeless, Rig, Room

CHAT = SurfaceCan(chat=True)


async def paired(rig: Rig, sender_id: str = "7", role: Role = Role.DRIVER) -> None:
    await rig.say("hello", sender_id=sender_id)
    [code] = [found[1] for text in await _told(rig) if (found := re.search(r"clew pair (\w+)", text))][-1:]
    await rig.engine.access.pair(code, role, "me")


async def _told(rig: Rig, count: int = 1) -> list[str]:
    await rig.until(lambda entry: len(rig.room.sent) >= count)
    return rig.room.texts


async def say(rig: Rig, text: str, **more: object) -> Accepted:
    return await rig.say(text, sender_id="7", **more)  # type: ignore[arg-type]


async def test_a_stranger_gets_a_code_once_and_nothing_runs(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        first, second = await say(rig, "do it"), await say(rig, "do it now")
        assert (first.fate, second.fate, second.words) == (Fate.REFUSED, Fate.REFUSED, "")
        assert re.search(r"code is [2-9A-HJ-NP-Z]{8}:", (await _told(rig))[0])
        assert not [kind for kind in rig.kinds() if kind.startswith("turn.")]


async def test_a_paired_person_may_speak_and_a_name_alone_proves_nothing(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        accepted = await say(rig, "!text hi")
        assert accepted.fate is Fate.TURN and (await rig.ended(accepted.turn)).text == "hi"
        assert (await rig.say("!text hi", sender_id="8")).fate is Fate.REFUSED
        assert (await rig.say("!text hi")).fate is Fate.REFUSED
        [person] = await rig.engine.access.all()
        assert (person.id, person.name, person.role, person.added_by) == ("room:7", "ann", "driver", "me")
        await rig.engine.access.remove("room:7")
        assert (await say(rig, "!text hi")).fate is Fate.REFUSED
        with pytest.raises(NotFound, match="clew people"):
            await rig.engine.access.remove("room:7")


async def test_the_direct_chat_of_the_owner_is_the_home_until_they_say_otherwise(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Homeless(can=CHAT)) as rig:
        await paired(rig, role=Role.DRIVER)
        assert await home(rig) is None
        await rig.say("hello", sender_id="8", room="own")
        [asking] = await rig.engine.access.asking()
        await rig.engine.access.pair(asking.code, Role.OWNER, "me")
        assert await home(rig) == "room:own"
        await rig.say("/home", sender_id="8", room="group", in_group=True)
        assert await home(rig) == "room:group"
        await rig.engine.access.remove("room:8")
        assert await home(rig) == "room:group"


async def test_who_may_not_write_any_more_has_no_home(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Homeless(can=CHAT)) as rig:
        await paired(rig, role=Role.OWNER)
        assert await home(rig) == "room:a"
        await rig.engine.access.remove("room:7")
        assert await home(rig) is None


async def test_who_is_alone_allowed_has_a_home_from_their_first_direct_message_on(tmp_path: Path) -> None:
    config = Config(threads=ThreadsConfig(runtime="scripted"), surfaces={"room": TelegramConfig(allow=("7",))})
    room = Homeless(can=SurfaceCan(chat=True, threads=True))
    async with Rig(tmp_path, room=room, config=config) as rig:
        await say(rig, "/status", room="group", in_group=True)
        assert await home(rig) is None
        await say(rig, "/status", room="own/3", in_thread=True)
        assert await home(rig) == "room:own"
    room.fixed = "elsewhere"  # somebody sets `home` in config.toml
    async with Rig(tmp_path, room=room, config=config) as rig:
        assert await home(rig) == "room:elsewhere"


async def home(rig: Rig) -> str | None:
    """Where a task's notice would go."""
    found = await rig.store.read(lambda tx: home_or_none(tx, rig.engine._core, "room"))
    return str(found) if found else None


async def test_a_watcher_may_not_send(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig, role=Role.WATCHER)
        assert (await say(rig, "!text hi")).fate is Fate.REFUSED


@pytest.mark.parametrize("allowed", [("7",), ("7", "8")])
async def test_a_watcher_whose_row_cannot_be_read_gains_nothing_from_the_config(
    tmp_path: Path, allowed: tuple[str, ...]
) -> None:
    config = Config(threads=ThreadsConfig(runtime="scripted"), surfaces={"room": TelegramConfig(allow=allowed)})
    async with Rig(tmp_path, room=Homeless(can=CHAT), config=config) as rig:
        person = "INSERT INTO people VALUES ('room', '7', 'Ann', 'watcher', 'then', 'me')"
        await rig.store.write(lambda tx: tx.run(person))
        await rig.store.write(lambda tx: places.set_owner_chat(tx, Conversation("room", "a"), "7"))
        assert (await say(rig, "!text hi")).fate is Fate.REFUSED
        assert await home(rig) is None
        assert not [kind for kind in rig.kinds() if kind.startswith("turn.")]


async def test_after_five_wrong_codes_pairing_is_locked(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await say(rig, "hello")
        [code] = re.findall(r"clew pair (\w{8})`,", (await _told(rig))[0])
        for _ in range(5):
            with pytest.raises(Refused, match="no code"):
                await rig.engine.access.pair("AAAAAAAA", Role.DRIVER, "me")
        with pytest.raises(Refused, match="Too many wrong codes"):
            await rig.engine.access.pair(code, Role.DRIVER, "me")


async def test_force_skips_the_lock_after_five_wrong_codes(tmp_path: Path) -> None:
    """A wrong code is still refused, and does not lift the lock for others."""
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await say(rig, "hello")
        [code] = re.findall(r"clew pair (\w{8})`,", (await _told(rig))[0])
        for _ in range(5):
            with pytest.raises(Refused, match="no code"):
                await rig.engine.access.pair("AAAAAAAA", Role.DRIVER, "me")
        with pytest.raises(Refused, match="no code"):
            await rig.engine.access.pair("AAAAAAAA", Role.DRIVER, "me", force=True)
        with pytest.raises(Refused, match=r"Too many wrong codes were given.*--force"):
            await rig.engine.access.pair(code, Role.DRIVER, "me")
        assert (await rig.engine.access.pair(code, Role.OWNER, "me", force=True)).role is Role.OWNER
        assert (await say(rig, "!text hi")).fate is Fate.TURN


async def test_in_a_group_nobody_is_given_a_code(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        assert "pair" not in (await say(rig, "hello", in_group=True)).words


async def test_a_stranger_in_a_group_is_told_once_but_for_each_button(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        told = [(await say(rig, "hello", in_group=True)).words for _ in range(3)]
        stranger = chat_messages.in_both_languages(chat_messages.STRANGER)
        assert told == [stranger, "", ""]
        assert (await rig.say("hello", sender_id="8", in_group=True)).words == stranger
        assert (await say(rig, "y", in_group=True, pressed=True)).words == stranger


async def test_a_newcomer_is_told_in_both_languages_until_theirs_is_known(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        assert "还不认识" in (await rig.say("/start", sender_id="1", room="a")).words
        english = (await rig.say("let me in please", sender_id="2", room="b")).words
        chinese = (await rig.say("让我进来", sender_id="3", room="c")).words
        assert "I do not know you yet" in english and "不认识" not in english
        assert "还不认识" in chinese and "know" not in chinese
        code = chinese.split("`clew pair ")[1][:8]
        await rig.engine.access.pair(code, Role.WATCHER, "me")
        assert (await rig.say("做点事", sender_id="3", room="c")).words == zh(chat_messages.WATCHER)
        await rig.until(lambda entry: zh(chat_messages.WELCOME) in rig.room.texts)


async def test_a_person_allowed_by_the_config_cannot_be_removed(tmp_path: Path) -> None:
    allowed = {"telegram": TelegramConfig(token="t", allow=("42",))}
    async with Rig(tmp_path, config=Config(surfaces=allowed)) as rig:
        with pytest.raises(Refused, match=r"allow.*surfaces\.telegram.*config\.toml"):
            await rig.engine.access.remove("telegram:42")
        with pytest.raises(NotFound):
            await rig.engine.access.remove("telegram:43")


async def test_notify_lists_the_parts_of_an_answer_in_order(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(max_length=150), troubles=[Never("no") for _ in range(40)])
    async with Rig(tmp_path, room=room) as rig:
        task = await rig.start("!text " + "word " * 250, notify="room:a")
        await rig.ended(task.turn)
        for part in await rig.engine.threads.where(task.thread or ""):
            await rig.until(lambda entry, part=part: entry.data.get("delivery") == part.delivery)  # type: ignore[misc]
        found = [each.delivery for each in await rig.engine.deliveries.notify(dry_run=True, retry_failed=True)]
    names = [f"{task.turn}:final", *(f"{task.turn}:final:{number}" for number in range(2, len(found) + 1))]
    assert len(found) > 10 and found == names


async def test_an_unconfirmed_placeholder_does_not_stay_working(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!text one")
        await rig.delivered(f"{accepted.turn}:final")
        rig.room.can = SurfaceCan(chat=True, edit=True, idempotency_window=3600)
        core, now = rig.engine._core, rig.clock.now()

        def ends_in_doubt(tx: Tx) -> list[Delivery | None]:
            turn = turns.get(tx, accepted.turn or "")
            assert turn is not None
            enqueue_delivery(tx, core, turn, DeliveryKind.PLACEHOLDER, turn.conversation, chat_messages.WORKING)
            owed = deliveries.get(tx, f"{turn.id}:placeholder")
            shown = deliveries.claim(tx, owed, "me") if owed else None
            assert shown is not None
            deliveries.record_first_send(tx, shown, now)
            deliveries.postpone(tx, shown, now + 3_600_000, "the answer was lost", in_doubt=True)
            enqueue_end(tx, core, turn, TurnState.COMPLETED, ())
            return [deliveries.get(tx, name) for name in (shown.id, f"{shown.id}:over")]

        shown, over = await rig.store.write(ends_in_doubt)
    assert shown is not None and shown.state == "pending"  # sent once more under its key, which finds it
    assert over is not None and over.edits == shown.id


async def test_messages_between_people_are_ignored(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        before = await rig.engine.status.fates()
        assert (await say(rig, "lunch?", direct=False, in_group=True)).words == ""
        assert await rig.engine.status.fates() == before
        first = await say(rig, "!text hi", room="topic", in_thread=True, in_group=True)
        await rig.ended(first.turn)
        there = await say(rig, "!text ho", room="topic", direct=False, in_thread=True, in_group=True)
        assert (there.fate, there.thread) == (Fate.TURN, first.thread)


async def test_quoting_an_answer_selects_its_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        first = await say(rig, "!text one")
        await rig.delivered(f"{first.turn}:final")
        receipt = next(
            row.message_id for row in await rig.engine.threads.where(first.thread or "") if row.kind == "final"
        )
        await rig.engine.threads.cancel(first.thread or "")
        other = await rig.start("!text two")
        await rig.ended(other.turn)
        quoted = await say(rig, "and this?", quoted=receipt)
        assert (quoted.fate, quoted.thread) == (Fate.REFUSED, first.thread)  # the cancelled one, and no other


async def test_a_platform_thread_under_an_old_answer_continues_its_thread(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        first = await say(rig, "!text one")
        await rig.delivered(f"{first.turn}:final")
        receipt = next(
            row.message_id for row in await rig.engine.threads.where(first.thread or "") if row.kind == "final"
        )
        here: dict[str, Any] = {"in_thread": True, "quoted": receipt, "quoted_in": rig.where("a"), "hangs": True}
        await say(rig, "/new")
        stranger = await rig.say("who is this?", sender_id="nobody", room="under", in_group=True, **here)
        assert stranger.fate is Fate.REFUSED
        assert (await say(rig, "!text two", room="under", **here)).thread == first.thread
        assert (await say(rig, "!text three", room="under", in_thread=True)).thread == first.thread
        await say(rig, "/new", room="under", **here)
        assert (await say(rig, "!text four", room="under", **here)).thread != first.thread
        topic = {"in_thread": True, "quoted": receipt, "quoted_in": rig.where("a")}
        bound = await say(rig, "!text five", room="topic", in_thread=True)
        assert (await say(rig, "!text six", room="topic", **topic)).thread == first.thread
        assert (await say(rig, "!text seven", room="topic", in_thread=True)).thread == bound.thread != first.thread


async def test_a_sender_is_told_the_fate_of_a_message_once(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        first = await say(rig, "!hold door\n!text done")
        await rig.held("door")
        steered = await say(rig, "also this", id="m2")
        again = await say(rig, "also this", id="m2")
        pressed = await say(rig, "and that", id="m3", pressed=True)
        assert (steered.fate, again.repeated, pressed.words) == (Fate.STEER, True, chat_messages.SETTLED)
        rig.scripted.holds.release("door")
        await rig.delivered(f"{first.turn}:final")
    assert rig.room.texts.count(steered.words) == 1 and chat_messages.SETTLED not in rig.room.texts


async def test_a_long_answer_is_sent_in_parts_with_separate_ids(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(60))
    room = Room(can=SurfaceCan(max_length=250))
    async with Rig(tmp_path, room=room) as rig:
        accepted = await rig.say(f"!text {text}")
        await rig.delivered(f"{accepted.turn}:final:3")
    assert "".join(room.texts) == text
    assert [sent.id for sent in room.sent] == [f"{accepted.turn}:final{more}" for more in ("", ":2", ":3")]


async def test_the_buttons_of_a_gate_send_what_could_be_typed(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(chat=True, buttons=8, edit=True))
    async with Rig(tmp_path, room=room) as rig:
        await paired(rig)
        accepted = await say(rig, "!approve make test\n!text done")
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        [card] = [sent for sent in room.sent if sent.kind == "ask"]
        assert [button.says.partition(" ")[2] for button in card.buttons] == ["y", "n", "thread", "rule"]
        answer = await say(rig, card.buttons[0].says, pressed=True, quoted=f"message-{room.sent.index(card) + 1}")
        assert (answer.fate, answer.thread) == (Fate.ANSWER, accepted.thread)
        await rig.ended(accepted.turn)
        await rig.until(lambda entry: bool(room.edits) and not room.edits[-1][1].buttons)


async def test_allow_all_applies_to_the_gates_on_its_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to later gates, and not to gates of another thread in the same conversation."""
    monkeypatch.setattr(cards, "JOIN_WINDOW", 10**6)
    room = Room(can=SurfaceCan(chat=True, buttons=8))
    async with Rig(tmp_path, room=room) as rig:
        await paired(rig)
        await say(rig, "!both one | two")
        await rig.until(lambda entry: rig.kinds().count("gate.opened") == 2)
        await rig.hasten()
        await rig.until(lambda entry: any("two" in sent.text for sent in room.sent))
        monkeypatch.setattr(cards, "JOIN_WINDOW", 0)
        other = await rig.start("!approve rm -rf other", notify="room:a")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and any("other" in sent.text for sent in room.sent))
        number, card = next((n, sent) for n, sent in enumerate(room.sent, 1) if "two" in sent.text)
        assert "yes all" in {button.says for button in card.buttons}
        await say(rig, "yes all", pressed=True, quoted=f"message-{number}")
        waiting = await rig.engine.gates.all()
    assert [gate.thread for gate in waiting] == [other.thread]


@pytest.mark.parametrize("says", ["yes all", "continue"])
async def test_a_button_on_a_message_without_a_receipt_is_not_guessed(tmp_path: Path, says: str) -> None:
    room = Room(can=SurfaceCan(chat=True, buttons=8))
    async with Rig(tmp_path, room=room) as rig:
        await paired(rig)
        await say(rig, "!approve rm -rf other")
        await rig.until(lambda entry: entry.kind == "delivery.sent" and any("other" in sent.text for sent in room.sent))
        accepted = await say(rig, says, pressed=True, quoted="message-of-a-lost-receipt")
        [gate] = await rig.engine.gates.all()
        assert (accepted.fate, accepted.words, gate.state) == (Fate.REFUSED, chat_messages.UNPLACED, "open")
        named = await say(rig, f"{gate.code} y", pressed=True, quoted="message-of-a-lost-receipt")
    assert named.fate is Fate.ANSWER


async def test_a_button_pressed_before_its_receipt_is_stored_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("clew.engine.inbox.admission"), "LOOKS", 400)
    shown, goes_on = asyncio.Event(), asyncio.Event()

    class Quick(Room):
        async def send(self, outgoing: Outgoing) -> Receipt:
            receipt = await super().send(outgoing)
            if outgoing.kind == "ask":
                shown.set()
                await goes_on.wait()
            return receipt

    async with Rig(tmp_path, room=Quick(can=SurfaceCan(chat=True, buttons=8))) as rig:
        await paired(rig)
        await say(rig, "!both one | two")
        await shown.wait()
        pressing = asyncio.create_task(say(rig, "yes all", pressed=True, quoted=f"message-{len(rig.room.sent)}"))
        await asyncio.sleep(0)
        goes_on.set()
        assert (await pressing).fate is Fate.ANSWER


async def test_a_button_of_a_stranger_does_not_wait_for_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("clew.engine.inbox.admission"), "LOOK", 1e6)
    leaving, stays = asyncio.Event(), asyncio.Event()

    class Slow(Room):
        async def send(self, outgoing: Outgoing) -> Receipt:
            if outgoing.kind == "ask":
                leaving.set()
                await stays.wait()
            return await super().send(outgoing)

    async with Rig(tmp_path, room=Slow(can=SurfaceCan(chat=True, buttons=8))) as rig:
        await paired(rig)
        await say(rig, "!approve deploy")
        await leaving.wait()
        accepted = await rig.say("yes all", sender_id="9", pressed=True, quoted="nothing")
        assert (accepted.fate, accepted.words) == (Fate.REFUSED, chat_messages.STRANGER)
        stays.set()


async def test_a_second_click_does_nothing(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True, buttons=8))) as rig:
        await paired(rig)
        first = await say(rig, "!text one")
        await rig.ended(first.turn)
        for says in ("continue", "stop", "skip", "yes all"):
            accepted = await say(rig, says, pressed=True)
            assert (accepted.fate, accepted.words) == (Fate.REFUSED, chat_messages.SETTLED)


async def test_a_card_is_never_longer_than_its_platform_allows(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(chat=True, max_length=1000))
    async with Rig(tmp_path, room=room) as rig:
        await paired(rig)
        await say(rig, "!approve " + "x" * 5000)
        await rig.saw("gate.opened")
        [gate] = await rig.engine.gates.all()
        await rig.delivered(f"{gate.id}:ask")
        [card] = [sent for sent in room.sent if sent.kind == "ask"]
    assert len(card.text) <= 1000 and f"({gate.code})" in card.text and "Reply" in card.text


async def test_a_surface_without_buttons_gets_none(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room()) as rig:
        await rig.say("!approve deploy\n!text done")
        await rig.saw("delivery.sent")
    assert rig.room.sent[0].kind == "ask" and rig.room.sent[0].buttons == ()


async def test_the_placeholder_shows_steps_and_then_the_end(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(chat=True, edit=True, edit_every=0.0))
    async with Rig(tmp_path, room=room) as rig:
        await paired(rig)
        accepted = await say(rig, "!hold door\n!shell make\n!hold end\n!text done")
        await rig.delivered(f"{accepted.turn}:placeholder")
        rig.scripted.holds.release("door")
        while not any("command: make" in edit.text for _, edit in room.edits):  # the time moves on meanwhile
            room.edited.clear()
            await room.edited.wait()
        rig.scripted.holds.release("end")
        await rig.delivered(f"{accepted.turn}:placeholder:over")
    assert re.fullmatch(r"✓ \d+ s, 1 step", room.edits[-1][1].text)
    [answer] = [sent for sent in room.sent if sent.kind == "final"]
    assert re.fullmatch(r"\d+ s · 15 tokens · hold-door", answer.note)


def test_the_placeholder_shows_the_newest_steps_escaped() -> None:
    progress = Progress()
    for number in range(6):
        title = f"echo {number} \x1b[2J" + "x" * 100
        progress = advance(progress, Activity(f"i{number}", ActivityKind.COMMAND, Phase.STARTED, title))
    head, *lines = working(progress, 75.0).splitlines()
    assert head == "Working on it … 1 min 15 s" and len(lines) == 4
    assert all(len(line) < 100 and "\x1b" not in line for line in lines)


async def test_in_a_group_the_agent_is_told_who_speaks(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(can=CHAT)) as rig:
        await paired(rig)
        alone = await say(rig, "!text hi")
        among = await say(rig, "!text hi", room="b", in_group=True)
        rows = await rig.store.read(lambda tx: [turns.get(tx, each.turn or "") for each in (alone, among)])
    told = [part["text"] for row in rows if row is not None for part in as_input(row.request)]
    assert told == ["!text hi", "ann: !text hi"]
