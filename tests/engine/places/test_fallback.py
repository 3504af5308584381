"""A question or an answer whose conversation is gone comes to another one, and never twice to the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.model.delivery import Delivery
from clew.model.gates import Gate
from clew.model.messages import Conversation, Fate, Person, Role
from clew.model.surface import Gone, InDoubt, Never, NotSent, Outgoing, Receipt, SurfaceCan
from clew.store.tables import deliveries, gates, people, places
from clew.support.errors import BadInput
from tests.engine.gates.test_lifecycle import YES, asked, executions
from tests.helpers.rig import Rig, Room

HOME, AWAY = Conversation("room", "home"), Conversation("room", "pocket")


class Closing(Room):
    """A platform on which some conversations are gone."""

    gone: tuple[str, ...] = ("a",)
    refusal: type[NotSent] = Gone

    def resolve(self, address: str) -> Conversation:
        if not address:
            raise BadInput("no home is configured")
        return super().resolve(address)

    async def send(self, outgoing: Outgoing) -> Receipt:
        if outgoing.conversation.address in self.gone:
            raise self.refusal("the topic was deleted")
        return await super().send(outgoing)


async def test_a_gate_whose_conversation_is_gone_can_be_answered_at_home(tmp_path: Path) -> None:
    room = Closing(can=SurfaceCan(edit=True))
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
        accepted = await rig.say("!approve deploy\n!text done")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask:2")
        [card] = [sent for sent in room.sent if sent.kind == "ask"]
        assert card.conversation == HOME and gate.code in card.text and "takes nothing any more" in card.note
        await rig.engine.gates.answer(gate.code, YES)
        await rig.ended(accepted.turn)
        assert executions(rig) == ["deploy"]


async def test_a_gate_refused_everywhere_is_asked_three_times_and_stays_open(tmp_path: Path) -> None:
    room = Closing()
    room.gone = ("a", "home", "pocket")
    async with Rig(tmp_path, room=room) as rig:
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
        await rig.store.write(lambda tx: places.set_away(tx, AWAY, 1))
        await rig.say("!approve deploy\n!text done")
        (gate,) = await asked(rig)
        await rig.until(lambda entry: rig.kinds().count("delivery.failed") == 3)
        assert [row.state for row in await rig.engine.threads.where(gate.thread) if row.kind == "ask"] == ["failed"] * 3
        assert [each.code for each in await rig.engine.gates.all()] == [gate.code]


async def test_continue_or_stop_is_asked_at_home_too(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.say("!shell make\n!hold door\n!text done")
        await rig.held("door")
        await rig.store.write(lambda tx: places.set_home(tx, HOME))
    room = Closing()
    async with Rig(tmp_path, room=room) as rig:
        await rig.delivered(f"{accepted.turn}:ask:2")
        assert [sent.conversation for sent in room.sent] == [HOME]


async def test_a_long_card_still_fits_after_an_unconfirmed_send(tmp_path: Path) -> None:
    room = Room(can=SurfaceCan(max_length=400), after=[InDoubt("the answer was lost", 0.0)])
    async with Rig(tmp_path, room=room) as rig:
        await rig.say(f"!approve deploy {'x' * 1000}\n!text done")
        (gate,) = await asked(rig)
        await rig.delivered(f"{gate.id}:ask")
        first, again = [sent for sent in room.sent if sent.id == room.sent[0].id]
        assert "may be a repeat" in again.note and len(again.text) + len(again.note) < 400 and first.text == again.text


@asynccontextmanager
async def chat(folder: Path, refusal: type[NotSent] = Gone) -> AsyncIterator[Rig]:
    """A chat in which Ann, the owner, and Bob may write; nothing reaches Bob in `a`."""
    room = Closing(can=SurfaceCan(chat=True))
    room.refusal = refusal
    async with Rig(folder, room=room) as rig:
        for id, role in (("7", Role.OWNER), ("8", Role.DRIVER)):
            person = Person("room", id, id, role, 0, "test")
            await rig.store.write(lambda tx, person=person: people.add(tx, person))  # type: ignore[misc]
        yield rig


async def refused(rig: Rig, *, in_group: bool = False) -> Delivery:
    """Let the agent answer Bob; return the answer after its first refusal, as it was left by that."""
    accepted = await rig.say("!text secret", sender_id="8", in_group=in_group)
    name = f"{accepted.turn}:final"
    await rig.until(lambda entry: entry.kind == "delivery.failed" and entry.data["delivery"] == name)
    row = await rig.store.read(lambda tx: deliveries.get(tx, name))
    assert row is not None
    return row


async def refused_gate(rig: Rig, *, in_group: bool = False, says: bool = True) -> Gate:
    """Let the agent ask Bob, unless something else did; return the gate after its card was refused."""
    if says:
        await rig.say("!approve deploy\n!text done", sender_id="8", in_group=in_group)
    (view,) = await asked(rig)
    name = f"{view.id}:ask"
    await rig.until(lambda entry: entry.kind == "delivery.failed" and entry.data["delivery"] == name)
    gate = await rig.store.read(lambda tx: gates.get(tx, view.id))
    assert gate is not None
    return gate


async def set_home(rig: Rig) -> None:
    await rig.store.write(lambda tx: places.set_home(tx, HOME))


async def test_an_answer_whose_content_is_refused_goes_nowhere_else(tmp_path: Path) -> None:
    async with chat(tmp_path, Never) as rig:
        await set_home(rig)
        answer = await refused(rig, in_group=True)
        assert (answer.state, answer.error) == ("failed", "the topic was deleted") and not rig.room.sent


async def test_an_answer_of_a_group_that_is_gone_comes_home(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        await set_home(rig)
        answer = await refused(rig, in_group=True)
        await rig.delivered(answer.id)
        assert [sent.conversation for sent in rig.room.sent] == [HOME, HOME] and rig.room.texts[-1] == "secret"


@pytest.mark.parametrize("in_group", [True, None])
async def test_a_private_answer_never_comes_to_a_group(tmp_path: Path, in_group: bool | None) -> None:
    async with chat(tmp_path) as rig:
        await set_home(rig)
        if in_group:  # otherwise nothing is known about the home
            await rig.ended((await rig.say("!text hello", sender_id="7", room="home", in_group=True)).turn)
        answer = await refused(rig)
        assert (answer.state, answer.error) == ("failed", "the topic was deleted")
        assert "secret" not in rig.room.texts


@pytest.mark.parametrize(("target", "is_known"), [("g/5", False), ("g", True), ("g", False)])
async def test_what_the_computer_sent_to_a_group_that_is_gone_comes_home(
    tmp_path: Path, target: str, is_known: bool
) -> None:
    async with chat(tmp_path) as rig:
        await set_home(rig)
        if is_known:
            await rig.ended((await rig.say("!text hello", sender_id="7", room="g", in_group=True)).turn)
        assert isinstance(rig.room, Closing)
        rig.room.gone = ("g", "g/5")
        rig.room.can = replace(rig.room.can, threads=True)
        task = await rig.start("!text answer", notify=f"room:{target}")
        await rig.ended(task.turn)
        if (target, is_known) == ("g", False):  # it may be a direct chat
            await rig.saw("delivery.failed")
            assert "answer" not in rig.room.texts
            return
        await rig.delivered(f"{task.turn}:final")
        assert [sent.conversation for sent in rig.room.sent[-2:]] == [HOME, HOME]
        assert "the topic was deleted" in rig.room.texts[-2] and rig.room.texts[-1].endswith("\n\nanswer")


@pytest.mark.parametrize("is_named", [True, False])
async def test_a_private_answer_comes_to_the_direct_chat_of_the_owner(tmp_path: Path, is_named: bool) -> None:
    async with chat(tmp_path) as rig:
        greeted = await rig.say("!text hello", sender_id="7", room="home")
        await rig.delivered(f"{greeted.turn}:final")
        if is_named:
            await set_home(rig)
        answer = await refused(rig)
        await rig.delivered(answer.id)
        assert rig.room.sent[-1].conversation == HOME and rig.room.texts[-1] == "secret"


@pytest.mark.parametrize("in_group", [True, None])
async def test_a_private_gate_never_comes_to_a_group_and_stays_at_the_computer(
    tmp_path: Path, in_group: bool | None
) -> None:
    async with chat(tmp_path) as rig:
        await set_home(rig)
        if in_group:  # otherwise nothing is known about the home
            await rig.ended((await rig.say("!text hello", sender_id="7", room="home", in_group=True)).turn)
        gate = await refused_gate(rig)
        assert (await rig.engine.gates.one(gate.id)).state == "open" and gate.where is None
        assert not any(gate.code in text for text in rig.room.texts)


async def test_an_owner_brings_a_gate_that_stayed_at_the_computer_to_their_chat_by_its_code(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        gate = await refused_gate(rig)
        await rig.say(gate.code, sender_id="7", room="pocket")
        await rig.delivered(f"{gate.id}:ask:2")
        assert [sent.conversation for sent in rig.room.sent if sent.kind == "ask"] == [AWAY]
        assert (await rig.say(f"{gate.code} n", sender_id="7", room="pocket")).fate is Fate.ANSWER


async def test_a_private_gate_comes_to_the_direct_chat_of_the_owner_if_the_home_is_a_group(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        await rig.ended((await rig.say("!text hello", sender_id="7", room="pocket")).turn)
        await rig.say("/home", sender_id="7", room="home", in_group=True)
        gate = await refused_gate(rig)
        await rig.delivered(f"{gate.id}:ask:2")
        [card] = [sent for sent in rig.room.sent if sent.kind == "ask"]
        assert card.conversation == AWAY and "takes nothing any more" in card.note


async def test_a_private_answer_comes_to_the_direct_chat_of_the_owner_if_the_home_is_a_group(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        await rig.ended((await rig.say("!text hello", sender_id="7", room="pocket")).turn)
        await rig.say("/home", sender_id="7", room="home", in_group=True)
        answer = await refused(rig)
        await rig.delivered(answer.id)
        assert rig.room.sent[-1].conversation == AWAY and rig.room.texts[-1] == "secret"


async def test_a_gate_of_a_group_that_is_gone_comes_to_a_home_that_is_a_group(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        await rig.say("/home", sender_id="7", room="home", in_group=True)
        gate = await refused_gate(rig, in_group=True)
        await rig.delivered(f"{gate.id}:ask:2")
        assert [sent.conversation for sent in rig.room.sent if sent.kind == "ask"] == [HOME]


@pytest.mark.parametrize("is_of_desk", [True, False])
async def test_only_what_the_computer_asks_comes_to_a_group_in_which_the_owner_is_away(
    tmp_path: Path, is_of_desk: bool
) -> None:
    async with chat(tmp_path) as rig:
        await rig.store.write(lambda tx: places.set_away(tx, AWAY, 1))
        if is_of_desk:
            await rig.start("desk\n!approve deploy\n!text done", notify="room:a")
        gate = await refused_gate(rig, says=not is_of_desk)
        if is_of_desk:
            await rig.delivered(f"{gate.id}:ask:2")
        assert [sent.conversation for sent in rig.room.sent if sent.kind == "ask"] == [AWAY] * is_of_desk


async def test_continue_or_stop_of_private_work_is_asked_in_no_group(tmp_path: Path) -> None:
    async with chat(tmp_path) as rig:
        accepted = await rig.say("!shell make\n!hold door\n!text done", sender_id="8")
        await rig.held("door")
        await rig.say("/home", sender_id="7", room="home", in_group=True)
    async with chat(tmp_path) as rig:
        name = f"{accepted.turn}:ask"
        await rig.until(lambda entry: entry.kind == "delivery.failed" and entry.data["delivery"] == name)
        assert not any("cut off" in text for text in rig.room.texts)
