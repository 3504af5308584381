"""Handoff and away mode: threads move to other conversations with all their open work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.engine.places.targets import HandoffRequest
from clew.engine.turns.completion import requeue_steer
from clew.engine.turns.queueing import queue_turn
from clew.engine.turns.suspension import hold_backlog
from clew.model.gate_views import GateView
from clew.model.handoff import HandoffView
from clew.model.messages import Accepted, Conversation, Fate, Inbound, Person, PromptMessage, Role
from clew.model.runtime import TurnRequest
from clew.model.surface import Down, Gone, InDoubt, Never, NotSent, Outgoing, Receipt, SurfaceCan, TryAgain
from clew.model.threads import SessionKey, ThreadKind
from clew.model.turns import Origin
from clew.store.base import Tx
from clew.store.tables import bindings, deliveries, handoffs, inbox, people, places
from clew.support.coded import Coded
from clew.support.errors import BadInput, ClewError, Refused
from clew.testing.scripted_model import script
from clew.testing.scripted_runtime.session import from_prompt
from clew.texts import handoff_messages
from tests.helpers.rig import Rig, Room


def _set(event: asyncio.Event) -> asyncio.Event:
    event.set()
    return event


@dataclass
class Phone(Room):
    """A second surface, which can open threads of its own and has a home."""

    name: str = "phone"
    can: SurfaceCan = field(default_factory=lambda: SurfaceCan(chat=True, edit=True, buttons=8, threads=True))
    opened: list[str] = field(default_factory=list)
    openings: list[NotSent] = field(default_factory=list)
    refused: asyncio.Event = field(default_factory=asyncio.Event)
    homeless: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)  # for a thread
    opens: asyncio.Event = field(default_factory=lambda: _set(asyncio.Event()))

    def resolve(self, address: str) -> Conversation:
        if not address and self.homeless:
            raise BadInput("name a conversation")
        return Conversation(self.name, address or "home")

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        self.asked.set()
        await self.opens.wait()
        if self.openings:
            self.refused.set()
            raise self.openings.pop(0)
        self.opened.append(title)
        return Conversation(self.name, f"{parent.address}/{len(self.opened)}")


@dataclass
class Deleting(Phone):
    """A phone on which people delete chats and topics."""

    deleted: set[str] = field(default_factory=set)
    tries: list[Outgoing] = field(default_factory=list)

    def refusals(self, turn: str | None) -> list[str]:
        return [tried.conversation.address for tried in self.tries if tried.id == f"{turn}:final"]

    async def send(self, outgoing: Outgoing) -> Receipt:
        if outgoing.conversation.address in self.deleted:
            self.tries.append(outgoing)
            raise Gone("the topic was deleted")
        return await super().send(outgoing)


@asynccontextmanager
async def desk_and_phone(folder: Path, phone: Phone | None = None) -> AsyncIterator[Rig]:
    config = Config(threads=ThreadsConfig(runtime="scripted"))
    room = Room(can=SurfaceCan(chat=True, edit=True, buttons=8))
    rig = Rig(folder, room=room, config=config, surfaces={"room": room, "phone": phone or Phone()})
    async with rig:
        for surface in ("room", "phone"):
            ann = Person(surface, "7", "ann", Role.OWNER, 0, "test")
            await rig.store.write(lambda tx, person=ann: people.add(tx, person))  # type: ignore[misc]
        yield rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with desk_and_phone(tmp_path) as rig:
        yield rig


def phone_of(rig: Rig) -> Phone:
    phone = rig.engine._core.surfaces["phone"]
    assert isinstance(phone, Phone)
    return phone


async def hand(rig: Rig, thread: str | None, to: str = "phone", **more: object) -> HandoffView:
    """Request a handoff to the phone and wait for its end."""
    wish = HandoffRequest(thread or "", to, "ann", **{"quiet": True, **more})  # type: ignore[arg-type]
    asked = await rig.engine.handoffs.request(wish)
    return await rig.engine.handoffs.look(asked.id, 60)


async def said_there(
    rig: Rig, text: str, where: str, surface: str = "phone", *, in_group: bool = False
) -> tuple[Fate, str | None, str | None]:
    here = Conversation(surface, where)
    inbound = Inbound(here, rig.clock.ulid(), "ann", text, sender_id="7", in_group=in_group)
    accepted = await rig.engine.inbox.accept(inbound)
    return accepted.fate, accepted.thread, accepted.turn


async def driver(rig: Rig, thread: str | None) -> str:
    return str(await rig.store.read(lambda tx: bindings.driver(tx, thread or "")))


async def test_the_first_reply_after_a_handoff_goes_to_the_same_thread(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    done = await hand(rig, begun.thread)
    assert (done.state, done.conversation) == ("completed", "phone:home/1")
    assert phone_of(rig).opened == ["!text one"] and "You can go on here: !text one" in phone_of(rig).texts[0]
    fate, thread, turn = await said_there(rig, "!text two", "home/1")
    assert (fate, thread) == (Fate.TURN, begun.thread)
    await rig.delivered(f"{turn}:final")
    assert phone_of(rig).sent[-1].text == "two"
    assert [p.text for p in await rig.engine.threads.transcript(begun.thread or "", 10)] == [
        "!text one",
        "one",
        "!text two",
        "two",
    ]


async def test_a_handoff_moves_the_running_turn_and_the_queue(rig: Rig) -> None:
    begun = await rig.start("!hold door\n!text one", kind=ThreadKind.CHAT)
    await rig.held("door")
    queued = await rig.send(begun.thread, "!text two", queue=True)
    assert (await hand(rig, begun.thread)).state == "completed"
    assert "It is being worked on right now" in phone_of(rig).texts[0]
    rig.scripted.holds.release("door")
    await rig.delivered(f"{begun.turn}:final")
    await rig.delivered(f"{queued.turn}:final")
    finals = [sent.text for sent in phone_of(rig).sent if sent.kind == "final"]
    assert finals == ["one", "two"] and not rig.room.sent


async def test_a_handoff_moves_an_open_gate(rig: Rig) -> None:
    begun = await rig.say("!approve deploy\n!text done", sender_id="7")
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    await rig.delivered(f"{gate.id}:ask")
    assert (await hand(rig, begun.thread)).state == "completed"
    await rig.delivered(f"{gate.id}:ask:2")
    await rig.delivered(f"{gate.id}:ask:moved")
    [card] = [sent for sent in phone_of(rig).sent if sent.kind == "ask"]
    assert "deploy" in card.text and card.buttons
    withdrawn = [out for _, out in rig.room.edits if out.id == f"{gate.id}:ask:moved"]
    assert [(out.text, out.buttons) for out in withdrawn] == [("→ moved to phone", ())]
    await rig.until(lambda entry: entry.kind == "delivery.sent" and entry.data["delivery"].endswith(":wheel"))
    assert "goes on with this in phone" in rig.room.sent[-1].text
    fate, _, _ = await said_there(rig, f"{gate.code} y", "home/1")
    assert fate is Fate.ANSWER
    await rig.delivered(f"{begun.turn}:final")
    assert phone_of(rig).sent[-1].text == "done"


async def test_a_non_blocking_question_moves_even_after_its_turn(rig: Rig) -> None:
    begun = await rig.say("!aside Which colour? | red | blue\n!text done", sender_id="7")
    [gate] = await _asked_in_passing(rig, begun)
    assert (await hand(rig, begun.thread)).state == "completed"
    await rig.delivered(f"{gate.id}:ask:2")
    await rig.delivered(f"{gate.id}:ask:moved")
    assert ["Which colour?" in sent.text for sent in phone_of(rig).sent if sent.kind == "ask"] == [True]
    assert [sent.id for sent in rig.room.sent if sent.kind == "ask"] == [f"{gate.id}:ask"]
    assert (await said_there(rig, f"{gate.code} 1", "home/1"))[:2] == (Fate.TURN, begun.thread)
    assert not await rig.engine.gates.all()


async def test_a_non_blocking_question_moved_to_local_goes_to_the_away_target(rig: Rig) -> None:
    begun = await rig.say("!aside Which colour? | red | blue\n!text done", sender_id="7")
    [gate] = await _asked_in_passing(rig, begun)
    await rig.engine.threads.drive_locally(begun.thread or "")
    await rig.delivered(f"{gate.id}:ask:moved")
    await rig.engine.away.set("phone")
    await rig.delivered(f"{gate.id}:ask:2")
    assert ["Which colour?" in sent.text for sent in phone_of(rig).sent] == [True]
    assert [sent.id for sent in rig.room.sent if sent.kind == "ask"] == [f"{gate.id}:ask"]


async def test_away_mode_moves_no_question_out_of_a_chat(rig: Rig) -> None:
    begun = await rig.say("!aside Which colour? | red | blue\n!text done", sender_id="7")
    await _asked_in_passing(rig, begun)
    await rig.send(begun.thread, "!approve deploy\n!text two")
    await rig.until(lambda entry: entry.kind == "gate.opened" and entry.data["title"] == "deploy")
    [here, desk] = sorted(await rig.engine.gates.all(), key=lambda each: each.title == "deploy")
    await rig.engine.away.set("phone")
    await rig.delivered(f"{desk.id}:ask")
    assert ["deploy" in sent.text for sent in phone_of(rig).sent] == [True]
    await rig.say(f"{here.code} 1", sender_id="7")
    await rig.delivered(f"{here.id}:ask:{here.code}:taken")
    assert not any("moved" in out.text for _, out in rig.room.edits)
    assert [sent.id for sent in rig.room.sent if sent.kind == "ask"] == [f"{here.id}:ask"]


async def _asked_in_passing(rig: Rig, begun: Accepted) -> list[GateView]:
    """The open non-blocking gates of a turn that has ended."""
    await rig.delivered(f"{begun.turn}:final")
    return await rig.engine.gates.all()


async def test_the_agent_greets_after_a_handoff_in_a_turn_of_clew(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    done = await hand(rig, begun.thread, quiet=False)
    greeting = await rig.until(lambda entry: entry.data.get("origin") == "greeting")
    await rig.delivered(f"{greeting.turn}:final")
    assert done.state == "completed"
    told = await rig.engine.threads.transcript(begun.thread or "", 10)
    assert [passage.role for passage in told] == ["person", "agent", "clew", "agent"]


async def test_the_message_of_a_handoff_is_sent_in_the_new_conversation(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    await hand(rig, begun.thread, say="!text as you like", quiet=False)
    said = await rig.until(lambda entry: entry.kind == "turn.ended" and entry.turn != begun.turn)
    await rig.delivered(f"{said.turn}:final")
    assert phone_of(rig).sent[-1].text == "as you like"
    assert "greeting" not in {entry.data.get("origin") for entry in rig._entries}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere", "not a chat surface"),
        ("phone", "not connected: no network"),
        ("phone", "has no home yet"),
        ("room", "there already"),
    ],
)
async def test_an_impossible_handoff_is_refused_with_a_reason(tmp_path: Path, target: str, words: str) -> None:
    phone = Phone(homeless="home" in words, trouble="no network" if "network" in words else "")
    async with desk_and_phone(tmp_path, phone) as rig:
        begun = await rig.say("!text one", room="", sender_id="7")
        with pytest.raises(ClewError, match=words):
            await hand(rig, begun.thread, target)
        with pytest.raises(ClewError, match="There is no thread"):
            await hand(rig, "01HNOTHERE", target)


async def test_a_thread_has_one_handoff_at_a_time(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    hold = phone_of(rig).hold = asyncio.Event()
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    with pytest.raises(Refused, match="under way already"):
        await hand(rig, begun.thread)
    hold.set()
    assert (await rig.engine.handoffs.look(asked.id, 60)).state == "completed"


async def test_a_refused_first_message_undoes_the_handoff(rig: Rig) -> None:
    begun = await rig.say("!text one", sender_id="7")
    await rig.ended(begun.turn)
    phone_of(rig).troubles = [Never("the bot was thrown out")]
    failed = await hand(rig, begun.thread)
    assert (failed.state, failed.error) == ("failed", "the bot was thrown out")
    assert await driver(rig, begun.thread) == "room:a"
    _, thread, _ = await said_there(rig, "!text two", "home/1")
    assert thread != begun.thread


async def test_a_failed_handoff_restores_the_binding_of_home(tmp_path: Path) -> None:
    phone = Phone(can=SurfaceCan(chat=True))
    async with desk_and_phone(tmp_path, phone) as rig:
        _, other, turn = await said_there(rig, "!text other", "home")
        await rig.ended(turn)
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        phone.troubles = [Never("no")]
        assert (await hand(rig, begun.thread)).state == "failed"
        assert (await said_there(rig, "!text two", "home"))[1] == other
        done = await hand(rig, begun.thread)
        assert done.conversation == "phone:home"
        assert any("was bound to !text other" in text for text in phone.texts)
        assert (await said_there(rig, "!text three", "home"))[1] == begun.thread


async def test_a_cancelled_handoff_never_completes(rig: Rig) -> None:
    begun = await rig.say("!text one", sender_id="7")
    await rig.ended(begun.turn)
    phone = phone_of(rig)
    phone.hold = asyncio.Event()
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    await rig.until(lambda entry: entry.kind == "delivery.owed" and entry.data["surface"] == "phone")
    back = await rig.engine.handoffs.take_back(asked.id, "ann")
    assert (back.state, back.error) == ("failed", "ann took it back.")
    phone.hold.set()
    with pytest.raises(Refused, match="failed already"):
        await rig.engine.handoffs.take_back(asked.id, "ann")
    assert await driver(rig, begun.thread) == "room:a"
    if phone.sent:
        await rig.delivered(f"{asked.id}:handoff:back")
    assert (await rig.engine.handoffs.look(asked.id)).state == "failed"


async def test_a_handoff_message_escapes_markup_in_the_title(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    await rig.engine.threads.retitle(begun.thread or "", "[all good](https://evil.example)")
    await hand(rig, begun.thread)
    assert "You can go on here: `[all good](https://evil.example)`" in phone_of(rig).texts[0]


async def test_a_topic_opened_after_a_cancelled_handoff_says_so(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    phone = phone_of(rig)
    phone.opens = asyncio.Event()
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    await phone.asked.wait()
    back = await rig.engine.handoffs.take_back(asked.id, "ann")
    assert back.error == "ann took it back. An empty topic may stand there."
    phone.opens.set()
    await rig.delivered(f"{asked.id}:handoff:back")
    assert phone.texts == ["→ taken back: this thread is not here"]
    assert (await said_there(rig, "!text two", "home/1"))[1] != begun.thread


async def test_a_first_message_that_may_have_arrived_is_corrected(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    phone_of(rig).after = [InDoubt("the answer was lost", 50.0)]
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    while not await rig.store.read(lambda tx: _in_doubt(tx, f"{asked.id}:handoff")):
        pass
    await rig.engine.handoffs.take_back(asked.id, "ann")
    await rig.delivered(f"{asked.id}:handoff:back")
    assert [text.split("\n")[0] for text in phone_of(rig).texts] == [
        "You can go on here: !text one",
        "→ taken back: this thread is not here",
    ]


def _in_doubt(tx: Tx, name: str) -> bool:
    row = deliveries.get(tx, name)
    return row is not None and row.in_doubt


async def test_if_a_topic_may_have_been_made_the_home_is_taken_and_the_topic_mentioned(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    phone_of(rig).openings = [TryAgain("busy", 0.0), InDoubt("the answer was lost", 0.0)]
    done = await hand(rig, begun.thread)
    assert (done.state, done.conversation) == ("completed", "phone:home")
    assert "An empty topic of the same name may stand" in phone_of(rig).texts[0] and not phone_of(rig).opened


async def test_a_thread_goes_back_to_its_topic(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    await hand(rig, begun.thread)
    with pytest.raises(Refused, match="there already: phone:home/1"):
        await hand(rig, begun.thread)
    await rig.ended((await rig.send(begun.thread, "!text two")).turn)
    done = await hand(rig, begun.thread)
    assert (done.state, done.conversation) == ("completed", "phone:home/1")
    assert phone_of(rig).opened == ["!text one"] and await driver(rig, begun.thread) == "phone:home/1"


async def test_if_its_topic_was_deleted_a_thread_gets_another_one(tmp_path: Path) -> None:
    phone = Deleting()
    async with desk_and_phone(tmp_path, phone) as rig:
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        await hand(rig, begun.thread)
        await rig.ended((await rig.send(begun.thread, "!text two")).turn)
        phone.deleted.add("home/1")
        done = await hand(rig, begun.thread)
        assert (done.state, done.conversation) == ("completed", "phone:home/2")
        assert await driver(rig, begun.thread) == "phone:home/2"
        assert await rig.store.read(lambda tx: bindings.thread_at(tx, Conversation("phone", "home/1"))) is None


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_thread_goes_back_to_its_topic_also_if_another_was_begun_there(
    tmp_path: Path, is_deleted: bool
) -> None:
    phone = Deleting()
    async with desk_and_phone(tmp_path, phone) as rig:
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        await hand(rig, begun.thread)
        await said_there(rig, "/new !text other", "home/1")
        phone.deleted.update(["home/1"] if is_deleted else [])
        done = await hand(rig, begun.thread)
        assert (done.state, done.conversation) == ("completed", "phone:home/2" if is_deleted else "phone:home/1")
        assert await driver(rig, begun.thread) == done.conversation
        if not is_deleted:
            assert phone.opened == ["!text one"] and any("!text other" in text for text in phone.texts)


async def test_an_answer_for_a_deleted_topic_comes_to_its_chat(tmp_path: Path) -> None:
    phone = Deleting()
    async with desk_and_phone(tmp_path, phone) as rig:
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        await hand(rig, begun.thread)
        await said_there(rig, "做点事吧", "home")
        phone.deleted.add("home/1")
        _, _, turn = await said_there(rig, "!text two", "home/1")
        await rig.delivered(f"{turn}:final")
        why, answer = [sent for sent in phone.sent if sent.thread == begun.thread][-2:]
        assert (answer.text, answer.conversation.address, why.conversation.address) == ("two", "home", "home")
        assert why.text == "下面的答复属于会话：!text one\n它所在的聊天或话题已无法接收消息（the topic was deleted）。"


async def test_an_answer_that_every_chat_refuses_fails_with_a_reason(tmp_path: Path) -> None:
    phone = Deleting(deleted={"home", "home/1", "group", "group/7", "pocket"})
    async with desk_and_phone(tmp_path, phone) as rig:
        await rig.store.write(lambda tx: places.set_away(tx, Conversation("phone", "pocket"), 1))
        _, _, turn = await said_there(rig, "!text two", "group/7", in_group=True)
        failures = count(1)
        await rig.until(
            lambda entry: (
                entry.kind == "delivery.failed" and entry.data["delivery"] == f"{turn}:final" and next(failures) == 4
            )
        )
        assert phone.refusals(turn) == ["group/7", "group", "home", "pocket"]
        row = await rig.store.read(lambda tx: deliveries.get(tx, f"{turn}:final"))
        assert row is not None and (row.state, row.error) == ("failed", "the topic was deleted")


async def test_a_handoff_continues_after_a_crash(tmp_path: Path) -> None:
    phone = Phone()
    phone.hold = asyncio.Event()
    async with desk_and_phone(tmp_path, phone) as rig:
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
        await rig.until(lambda entry: entry.kind == "delivery.owed" and entry.data["surface"] == "phone")
    async with desk_and_phone(tmp_path) as rig:
        assert (await rig.engine.handoffs.look(asked.id, 60)).state == "completed"
        assert await driver(rig, begun.thread) == "phone:home/1"


async def test_fifty_handoffs_run_in_parallel_with_a_slow_one(rig: Rig) -> None:
    begun = [await rig.start("!text one", kind=ThreadKind.CHAT) for _ in range(51)]
    for each in begun:
        await rig.ended(each.turn)
    phone_of(rig).openings = [TryAgain("busy", 50.0)]
    slow = await rig.engine.handoffs.request(HandoffRequest(begun[0].thread or "", "phone", "ann", quiet=True))
    await phone_of(rig).refused.wait()
    done = await asyncio.gather(*(hand(rig, each.thread) for each in begun[1:]))
    assert {each.state for each in done} == {"completed"}
    assert len({each.conversation for each in done}) == 50
    assert (await rig.engine.handoffs.look(slow.id)).state == "running"


async def test_of_two_daemons_one_claims_a_handoff(rig: Rig) -> None:
    """Two daemons race for one row."""
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    phone_of(rig).hold = asyncio.Event()
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    await rig.until(lambda entry: entry.kind == "delivery.owed" and entry.data["surface"] == "phone")

    def race(tx: Tx) -> list[bool]:
        row = handoffs.get(tx, asked.id)
        assert row is not None
        return [handoffs.claim(tx, row, owner) is not None for owner in ("one", "two")]

    assert sorted(await rig.store.write(race)) == [False, True]


async def test_a_chat_command_hands_off_and_resume_comes_back(rig: Rig) -> None:
    begun = await rig.say("!hold door\n!text one", sender_id="7")
    await rig.held("door")
    assert (await rig.say("/handoff phone", sender_id="7")).words == "Handing it to phone …"
    await rig.saw("handoff.completed")
    assert await driver(rig, begun.thread) == "phone:home/1"
    listed = await rig.say("/resume", sender_id="7")
    assert listed.words.startswith("1. hold-door: !hold door")
    assert "Here you talk to" in (await rig.say("/resume 1", sender_id="7")).words
    assert await driver(rig, begun.thread) == "room:a"
    rig.scripted.holds.release("door")
    await rig.delivered(f"{begun.turn}:final")
    assert [sent.text for sent in rig.room.sent if sent.kind == "final"] == ["one"]
    assert any("ann goes on with this in room" in text for text in phone_of(rig).texts)


async def test_a_failed_handoff_is_reported_where_it_was_requested(rig: Rig) -> None:
    begun = await rig.say("!text one", sender_id="7")
    await rig.ended(begun.turn)
    phone_of(rig).troubles = [Never("thrown out.")]
    await rig.say("/handoff phone", sender_id="7")
    failed = await rig.saw("handoff.failed")
    await rig.delivered(f"{failed.data['handoff']}:failed")
    assert rig.room.texts[-1] == "It was not handed to phone: thrown out. It stays here."


async def test_a_failed_handoff_is_reported_in_chinese_and_keeps_its_code(rig: Rig) -> None:
    begun = await rig.say("!text 一", sender_id="7")
    await rig.ended(begun.turn)
    phone_of(rig).opens.clear()
    handoff = await rig.engine.handoffs.request(
        HandoffRequest(begun.thread or "", "phone", "ann", Conversation("room", "a"), quiet=True)
    )
    await phone_of(rig).asked.wait()
    failed = await rig.engine.handoffs.take_back(handoff.id, "bob")
    await rig.delivered(f"{handoff.id}:failed")
    phone_of(rig).opens.set()
    assert rig.room.texts[-1] == "未能移交到 phone：bob 已收回。那里可能留有一个空话题。会话仍在这里。"
    assert failed.error == "bob took it back. An empty topic may stand there."
    reason = Coded("handoffs.taken_back", {"by": "bob"})
    assert failed.texts == {"error": Coded("handoffs.maybe_empty", {"reason": reason})}


async def test_a_driver_may_not_choose_the_conversation(rig: Rig) -> None:
    bob = Person("room", "8", "bob", Role.DRIVER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, bob))
    await rig.say("!text one", sender_id="8")
    refused = await rig.say("/handoff phone:elsewhere", sender_id="8")
    assert refused.fate is Fate.REFUSED and "Only an owner may choose" in refused.words
    assert (await rig.say("/移交 phone:elsewhere", sender_id="7")).words == "正在移交到 phone …"
    await rig.saw("handoff.completed")
    assert phone_of(rig).opened == []


async def test_speaking_changes_the_driver_and_notifies_the_former_one(rig: Rig) -> None:
    begun = await rig.say("!text one", sender_id="7")
    await rig.ended(begun.turn)
    await hand(rig, begun.thread)
    fate, thread, turn = await said_there(rig, "!text two", "a", "room")
    assert (fate, thread) == (Fate.TURN, begun.thread)
    await rig.delivered(f"{turn}:final")
    assert await driver(rig, begun.thread) == "room:a"
    assert any("ann goes on with this in room" in text for text in phone_of(rig).texts)


async def test_driving_locally_moves_the_running_turn(rig: Rig) -> None:
    begun = await rig.say("!hold door\n!text one", sender_id="7")
    await rig.held("door")
    await rig.engine.threads.drive_locally(begun.thread or "")
    rig.scripted.holds.release("door")
    await rig.ended(begun.turn)
    told = await rig.until(lambda entry: entry.kind == "delivery.sent" and "wheel" in entry.data["delivery"])
    assert told and "This goes on at the computer" in rig.room.texts[-1]
    assert "final" not in {sent.kind for sent in rig.room.sent}
    assert await driver(rig, begun.thread) == "None"


async def test_away_mode_redirects_local_questions(rig: Rig) -> None:
    waiting = await rig.start("!approve deploy\n!text one", kind=ThreadKind.CHAT)
    await rig.saw("gate.opened")
    [gate] = await rig.engine.gates.all()
    assert (await rig.engine.away.set("phone")).conversation == "phone:home"
    await rig.delivered(f"{gate.id}:ask")
    assert (await said_there(rig, f"{gate.code} y", "home"))[0] is Fate.ANSWER
    await rig.delivered(f"{waiting.turn}:final")
    assert phone_of(rig).sent[-1].text == "Thread: !approve deploy\n\none"
    assert (await rig.engine.away.set(None)).conversation is None
    later = await rig.start("!text two", kind=ThreadKind.CHAT)
    await rig.ended(later.turn)
    assert "two" not in phone_of(rig).texts


async def _cut(folder: Path, *, kind: ThreadKind = ThreadKind.CHAT, notify: str | None = None) -> Accepted:
    """Leave a turn of a local thread that started and has no end."""
    async with desk_and_phone(folder) as rig:
        begun = await rig.start("!shell make\n!hold door\n!text one", kind=kind, notify=notify)
        await rig.held("door")
    return begun


async def test_away_mode_redirects_the_local_question_of_a_cut_turn(tmp_path: Path) -> None:
    begun = await _cut(tmp_path)
    async with desk_and_phone(tmp_path) as rig:
        await rig.until(lambda entry: entry.kind == "thread.status")
        await rig.engine.away.set("phone")
        await rig.delivered(f"{begun.turn}:ask:2")
        await rig.engine.away.set(None)
        await rig.engine.away.set("room:pocket")
        await rig.delivered(f"{begun.turn}:ask:3")
        assert [sent.conversation.address for sent in rig.room.sent] == ["pocket"]


@pytest.mark.parametrize(("notify", "asked"), [("phone:home", 1), (None, 2)])
async def test_driving_locally_sends_a_cut_turns_question_to_notify_or_away(
    tmp_path: Path, notify: str | None, asked: int
) -> None:
    """The same as for the cards of gates."""
    begun = await _cut(tmp_path, notify=notify)
    async with desk_and_phone(tmp_path) as rig:
        await rig.until(lambda entry: entry.kind == "thread.status")
        if notify is None:
            await rig.engine.away.set("phone")
        assert (await rig.say("/resume 1", sender_id="7")).fate is Fate.COMMAND
        await rig.delivered(f"{begun.turn}:ask:{asked + 1}")
        await rig.engine.threads.drive_locally(begun.thread or "")
        await rig.delivered(f"{begun.turn}:ask:{asked + 2}")
        assert phone_of(rig).sent[-1].buttons and phone_of(rig).sent[-1].conversation.address == "home"
        await rig.delivered(f"{begun.turn}:ask:{asked + 1}:over")
        assert rig.room.edits[-1][1].text == "→ moved to the computer"


@pytest.mark.parametrize(
    ("stopped_in", "told"),
    [("phone:home/1", []), ("cli:", ["phone:home/1"]), ("room:a", ["phone:home/1"])],
)
async def test_stopping_a_cut_turn_notifies_the_current_conversation(
    rig: Rig, stopped_in: str, told: list[str]
) -> None:
    begun = await rig.say("!shell make\n!cut", sender_id="7")
    await rig.delivered(f"{begun.turn}:ask")
    await hand(rig, begun.thread)
    await rig.delivered(f"{begun.turn}:ask:2")
    stop = Inbound(Conversation.parse(stopped_in), "stop", "ann", "stop", sender_id="7", thread=begun.thread)
    assert (await rig.engine.inbox.accept(stop)).fate is Fate.ANSWER
    owed = {row.delivery: row for row in await rig.engine.threads.where(begun.thread or "")}
    final = owed.get(f"{begun.turn}:final")
    assert ([final.conversation] if final else []) == told


async def test_stopping_a_cut_turn_of_a_local_thread_notifies_no_chat(rig: Rig) -> None:
    begun = await rig.say("!shell make\n!cut", sender_id="7")
    await rig.delivered(f"{begun.turn}:ask")
    await rig.engine.threads.drive_locally(begun.thread or "")
    await rig.engine.threads.resume(begun.thread or "", "stop", rig.clock.ulid(), "ann")
    owed = {row.delivery: row.state for row in await rig.engine.threads.where(begun.thread or "")}
    assert owed[f"{begun.turn}:final"] == "no_target"


async def test_away_mode_does_not_redirect_questions_for_others(tmp_path: Path) -> None:
    """The others are named by `--notify`. A task continues once without asking, so it asks when cut a second time."""
    begun = await _cut(tmp_path, kind=ThreadKind.TASK, notify="room:boss")
    async with desk_and_phone(tmp_path) as rig:
        await rig.held("door")
    async with desk_and_phone(tmp_path) as rig:
        asked = await rig.until(lambda entry: entry.kind == "delivery.sent" and entry.data["delivery"].endswith(":ask"))
        await rig.engine.away.set("phone")
        await rig.engine.threads.resume(begun.thread or "", "stop", rig.clock.ulid(), "ann")
        await rig.delivered(f"{asked.data['delivery']}:over")
        assert not phone_of(rig).sent
        assert [out.text.split("\n")[-1] for _, out in rig.room.edits] == ["→ stopped by ann"]


async def test_away_mode_does_not_redirect_the_question_of_a_quoting_message(tmp_path: Path) -> None:
    async with desk_and_phone(tmp_path) as rig:
        await rig.engine.away.set("room:boss")
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.delivered(f"{begun.turn}:final")
        await rig.engine.away.set(None)
        quoting = await rig.say("!shell make\n!hold door", sender_id="7", room="boss", quoted="message-1")
        await rig.held("door")
    async with desk_and_phone(tmp_path) as rig:
        await rig.delivered(f"{quoting.turn}:ask")
        assert (quoting.thread, await driver(rig, begun.thread)) == (begun.thread, "None")
        await rig.engine.away.set("phone")
        owed = [row.delivery for row in await rig.engine.threads.where(begun.thread or "")]
        assert f"{quoting.turn}:ask" in owed and f"{quoting.turn}:ask:2" not in owed


async def test_a_surface_is_up_again_after_a_short_network_failure(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    phone_of(rig).troubles = [Down("no route", 50.0)]
    asked = await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
    while not await rig.store.read(lambda tx: _trouble(tx, f"{asked.id}:handoff")):
        pass
    with pytest.raises(Refused, match="phone is not connected: no route"):
        await rig.engine.away.set("phone")
    await rig.engine.handoffs.take_back(asked.id, "ann")
    assert [each.state for each in await rig.engine.status.surfaces()] == ["up", "up"]
    assert (await rig.engine.away.set("phone")).conversation == "phone:home"
    assert (await hand(rig, begun.thread)).state == "completed"


async def test_a_refusal_shows_that_the_surface_is_up(rig: Rig) -> None:
    phone_of(rig).troubles = [Down("no route", 50.0), Never("the bot was thrown out")]
    waits = await rig.start("!text one", notify="phone:ann")
    while not await rig.store.read(lambda tx: _trouble(tx, f"{waits.turn}:final")):
        pass
    await rig.start("!text two", notify="phone:boss")
    await rig.saw("delivery.failed")
    assert (await rig.engine.away.set("phone")).conversation == "phone:home"


def _trouble(tx: Tx, name: str) -> str | None:
    row = deliveries.get(tx, name)
    return row.error if row is not None else None


async def test_away_mode_can_be_set_and_ended_by_command(rig: Rig) -> None:
    assert "comes to room" in (await rig.say("/away", sender_id="7")).words
    assert (await rig.engine.away.target()).conversation == "room:a"
    assert "Welcome back" in (await rig.say("/back", sender_id="7")).words
    assert "not away" in (await rig.say("/back", sender_id="7")).words


async def test_only_an_owner_may_set_home_and_away_mode(rig: Rig) -> None:
    bob = Person("room", "8", "bob", Role.DRIVER, 0, "test")
    await rig.store.write(lambda tx: people.add(tx, bob))
    for command in ("/away", "/back", "/home", "/away phone"):
        refused = await rig.say(command, sender_id="8")
        assert refused.fate is Fate.REFUSED and "Only an owner" in refused.words


async def test_a_turn_moved_to_local_leaves_no_working_placeholder(rig: Rig) -> None:
    begun = await rig.say("!hold door\n!shell make\n!hold gate\n!text one", sender_id="7")
    await rig.delivered(f"{begun.turn}:placeholder")
    await rig.held("door")
    await rig.engine.threads.drive_locally(begun.thread or "")
    await rig.delivered(f"{begun.turn}:placeholder:over")
    rig.scripted.holds.release("door")
    await rig.held("gate")
    rig.scripted.holds.release("gate")
    await rig.ended(begun.turn)
    assert rig.room.edits[-1][1].text == "→ moved to the computer"


async def test_a_late_steer_is_answered_in_the_current_conversation(rig: Rig) -> None:
    begun = await rig.say("!hold door\n!text one", sender_id="7")
    await rig.held("door")
    late = await rig.say("!text two", sender_id="7")
    assert late.fate is Fate.STEER
    await hand(rig, begun.thread)
    [steer] = await rig.store.read(lambda tx: inbox.open_steers(tx, begun.turn or ""))
    await rig.store.write(lambda tx: requeue_steer(tx, rig.engine._core, steer))
    queued = await rig.saw("steer.queued")
    rig.scripted.holds.release("door")
    await rig.delivered(f"{queued.turn}:final")
    assert "two" in phone_of(rig).texts


async def test_two_cancelled_handoffs_to_one_home_restore_its_binding(tmp_path: Path) -> None:
    phone = Phone(can=SurfaceCan(chat=True))
    async with desk_and_phone(tmp_path, phone) as rig:
        _, other, turn = await said_there(rig, "!text other", "home")
        await rig.ended(turn)
        await rig.delivered(f"{turn}:final")
        hold = phone.hold = asyncio.Event()
        asked = []
        for _ in range(2):
            begun = await rig.start("!text one", kind=ThreadKind.CHAT)
            await rig.ended(begun.turn)
            asked.append(
                await rig.engine.handoffs.request(HandoffRequest(begun.thread or "", "phone", "ann", quiet=True))
            )
            await rig.saw("delivery.owed", begun.thread)
        for each in asked:
            await rig.engine.handoffs.take_back(each.id, "ann")
        hold.set()
        assert (await said_there(rig, "!text again", "home"))[1] == other
        assert await driver(rig, other) == "phone:home"


async def test_a_queued_greeting_does_not_count_as_backlog(rig: Rig) -> None:
    begun = await rig.start("!text one", kind=ThreadKind.CHAT)
    await rig.ended(begun.turn)
    thread, greeting = begun.thread or "", (PromptMessage("g", "clew", "say hello"),)
    session, phone = SessionKey(thread, "scripted"), Conversation("phone", "home")

    def absence(tx: Tx) -> None:
        queue_turn(tx, rig.clock, session, Origin.GREETING, greeting, phone)
        hold_backlog(tx, rig.engine._core, thread)

    await rig.store.write(absence)
    assert (await rig.engine.threads.get(thread)).status == "idle"
    assert phone_of(rig).texts == []


def _greets_slowly(request: TurnRequest) -> tuple[script.Step, ...]:
    is_greeting = [said.text for said in request.messages] == [handoff_messages.GREET]
    return script.parse("!hold greeting\n!text hello there") if is_greeting else from_prompt(request)


async def test_a_steer_into_a_cut_greeting_is_answered(tmp_path: Path) -> None:
    phone = Phone()
    async with desk_and_phone(tmp_path, phone) as rig:
        rig.scripted.play = _greets_slowly
        begun = await rig.start("!text one", kind=ThreadKind.CHAT)
        await rig.ended(begun.turn)
        await hand(rig, begun.thread, quiet=False)
        await rig.held("greeting")
        assert (await said_there(rig, "!text forty-two", "home/1"))[0] is Fate.STEER
        await rig.saw("steer.sent")
        await rig.kill()
    async with desk_and_phone(tmp_path, phone) as rig:
        begins = await rig.until(
            lambda entry: entry.kind == "turn.queued" and entry.data.get("origin") == "continuation"
        )
        await rig.delivered(f"{begins.turn}:final")
    assert begins.thread == begun.thread and phone.texts.count("forty-two") == 1
