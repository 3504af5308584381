"""The placeholder of a turn: what it shows while the agent works, and its button."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clew.engine.core import Core
from clew.engine.delivery.placeholder import LOOK
from clew.engine.places.targets import HandoffRequest
from clew.model.delivery import DeliveryKind
from clew.model.messages import Accepted, Conversation, Fate, Person, Role
from clew.model.surface import Outgoing, Receipt, SurfaceCan, TryAgain
from clew.model.turns import TurnState
from clew.store.tables import people
from clew.support.clock import SystemClock
from clew.texts import chat_messages
from tests.engine.gates.test_lifecycle import YES, asked
from tests.helpers.rig import TIMEOUT, Rig, Room

CAN = SurfaceCan(chat=True, edit=True, edit_every=0.01, buttons=8)
STREAM = SurfaceCan(chat=True, edit=True, edit_every=0.01, buttons=8, stream=True, typing=0.01)


@dataclass
class Phone(Room):
    """A room in which a test can wait for edits, and see who types."""

    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    typed: list[Conversation] = field(default_factory=list)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        await super().edit(receipt, outgoing)
        async with self.news:
            self.news.notify_all()

    async def typing(self, where: Conversation) -> None:
        async with self.news:
            self.typed.append(where)
            self.news.notify_all()
        raise TryAgain("slow down")

    async def seen(self, count: int, live: str = "") -> list[Outgoing]:
        """Wait for edits of the placeholder with this text in them."""
        async with asyncio.timeout(TIMEOUT), self.news:
            await self.news.wait_for(lambda: len(self._with(live)) >= count)
        return self._with(live)

    def _with(self, live: str) -> list[Outgoing]:
        shown = [outgoing for _, outgoing in self.edits if outgoing.kind is DeliveryKind.PLACEHOLDER]
        return [outgoing for outgoing in shown if live in outgoing.live]


async def says(rig: Rig, text: str, sender: str = "7", **more: object) -> Accepted:
    return await rig.say(text, sender_id=sender, **more)  # type: ignore[arg-type]


async def presses(rig: Rig, turn: str | None, sender: str = "7") -> Accepted:
    [shown] = [sent for sent in rig.room.sent if sent.id == f"{turn}:placeholder"]
    [button] = shown.buttons
    return await says(rig, button.says, sender, pressed=True, quoted=f"message-{rig.room.sent.index(shown) + 1}")


async def begun(rig: Rig, script: str, hold: str) -> Accepted:
    await rig.allow("7")
    accepted = await says(rig, script)
    await rig.held(hold)
    await rig.delivered(f"{accepted.turn}:placeholder")
    return accepted


async def test_while_the_agent_is_silent_the_time_goes_on(tmp_path: Path) -> None:
    phone = Phone(can=CAN)
    async with Rig(tmp_path, room=phone) as rig:
        await begun(rig, "!hold here\n!text done", "here")
        shown = await phone.seen(3)
        assert all(each.text.startswith(chat_messages.WORKING) and not each.live for each in shown)
        assert [button.label for button in shown[-1].buttons] == [chat_messages.STOP_BUTTON]
        rig.scripted.holds.release("here")


async def test_what_is_being_written_is_shown_only_where_it_can_be(tmp_path: Path) -> None:
    phone = Phone(can=STREAM)
    async with Rig(tmp_path, room=phone) as rig:
        await begun(rig, "!text half of it\n!hold here\n!text done", "here")
        await phone.seen(1, "half of it")
        rig.scripted.holds.release("here")


async def test_somebody_types_until_the_agent_asks(tmp_path: Path) -> None:
    phone = Phone(can=STREAM)
    async with Rig(tmp_path, room=phone) as rig:
        await begun(rig, "!hold here\n!approve make\n!text done", "here")
        async with asyncio.timeout(TIMEOUT), phone.news:
            await phone.news.wait_for(lambda: len(phone.typed) >= 3)
        assert set(phone.typed) == {rig.where()}
        rig.scripted.holds.release("here")
        await rig.saw("gate.opened")


class Counting(SystemClock):
    """Counts the waits between two looks at a turn of no chat, which take no time."""

    looks = 0

    async def sleep(self, seconds: float) -> None:
        self.looks += seconds == LOOK
        await super().sleep(0 if seconds == LOOK else seconds)


async def test_nobody_looks_again_and_again_where_to_type_for_a_turn_of_no_chat_or_at_a_gate(tmp_path: Path) -> None:
    phone, clock = Phone(can=STREAM), Counting()
    async with Rig(tmp_path, room=phone, clock=clock) as rig:
        await rig.start("!hold here\n!text done")
        await rig.held("here")
        await rig.allow("7")
        await says(rig, "!approve make\n!text done", room="b")
        await rig.saw("gate.opened")
        await begun(rig, "!hold there\n!text done", "there")
        before = len(phone.typed)
        async with asyncio.timeout(TIMEOUT), phone.news:
            await phone.news.wait_for(lambda: len(phone.typed) >= before + 20)
        assert clock.looks <= 2 and set(phone.typed[-10:]) == {rig.where()}
        rig.scripted.holds.release("here")
        rig.scripted.holds.release("there")


async def test_after_the_answer_somebody_types_again(tmp_path: Path) -> None:
    phone = Phone(can=STREAM)
    async with Rig(tmp_path, room=phone) as rig:
        await rig.allow("7")
        await says(rig, "!approve make\n!hold here\n!text done")
        (gate,) = await asked(rig)
        await rig.engine.gates.answer(gate.code, YES)
        await rig.held("here")
        before = len(phone.typed)
        async with asyncio.timeout(TIMEOUT), phone.news:
            await phone.news.wait_for(lambda: len(phone.typed) >= before + 3)
        rig.scripted.holds.release("here")


async def test_its_button_stops_that_turn_once(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Phone(can=CAN)) as rig:
        first = await begun(rig, "!hold one\n!text done", "one")
        stopped = await presses(rig, first.turn)
        again = await presses(rig, first.turn)
        assert (stopped.fate, again.fate, again.words) == (Fate.COMMAND, Fate.REFUSED, chat_messages.SETTLED)
        assert (await rig.ended(first.turn)).state is TurnState.INTERRUPTED
        second = await begun(rig, "!hold two\n!text done", "two")
        late = await presses(rig, first.turn)
        assert (late.fate, late.words) == (Fate.REFUSED, chat_messages.SETTLED)
        rig.scripted.holds.release("two")
        assert (await rig.ended(second.turn)).state is TurnState.COMPLETED


async def test_a_stranger_or_watcher_stops_nothing_with_it(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Phone(can=CAN)) as rig:
        watcher = Person("room", "9", "bob", Role.WATCHER, 0, "test")
        await rig.store.write(lambda tx: people.add(tx, watcher))
        turn = await begun(rig, "!hold here\n!text done", "here")
        for sender in ("8", "9"):
            assert (await presses(rig, turn.turn, sender)).fate is Fate.REFUSED
        rig.scripted.holds.release("here")
        assert (await rig.ended(turn.turn)).text == "done"


async def test_somebody_else_who_may_speak_can_stop_it(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Phone(can=CAN)) as rig:
        turn = await begun(rig, "!hold here\n!text done", "here")
        await rig.allow("8")
        assert (await presses(rig, turn.turn, "8")).fate is Fate.COMMAND
        assert (await rig.ended(turn.turn)).state is TurnState.INTERRUPTED


async def test_a_press_forged_in_another_chat_stops_nothing(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Phone(can=CAN)) as rig:
        turn = await begun(rig, "!hold here\n!text done", "here")
        await rig.allow("8")
        forged = await says(rig, f"/stop {turn.turn}", "8", room="b", pressed=True, quoted="message-1")
        assert (forged.fate, forged.words) == (Fate.REFUSED, chat_messages.SETTLED)
        rig.scripted.holds.release("here")
        assert (await rig.ended(turn.turn)).text == "done"


async def test_once_stopped_it_has_no_button(tmp_path: Path) -> None:
    phone = Phone(can=CAN)
    async with Rig(tmp_path, room=phone) as rig:
        turn = await begun(rig, "!hold here\n!text done", "here")
        await presses(rig, turn.turn)
        await rig.ended(turn.turn)
        await rig.delivered(f"{turn.turn}:placeholder:over")
        assert not phone.edits[-1][1].buttons


async def test_a_copy_whose_receipt_was_lost_is_ended_after_a_press(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Phone(can=CAN)) as rig:
        first = await begun(rig, "!hold one\n!text done", "one")
        [shown] = [sent for sent in rig.room.sent if sent.id == f"{first.turn}:placeholder"]
        pressed = await says(rig, shown.buttons[0].says, pressed=True, quoted="message-lost")
        assert pressed.fate is Fate.COMMAND
        await rig.delivered(f"{first.turn}:lost:over")
        again = await says(rig, shown.buttons[0].says, pressed=True, quoted="message-lost")
        assert again.fate is Fate.REFUSED
        await rig.ended(first.turn)
    ended = [(outgoing.text, outgoing.buttons) for message, outgoing in rig.room.edits if message == "message-lost"]
    assert ended == [(chat_messages.SHOWN_AGAIN, ())]


@dataclass
class Slow(Phone):
    """A room where the first edit of a placeholder is on its way until `go`."""

    is_editing: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        if outgoing.kind is DeliveryKind.PLACEHOLDER:
            self.is_editing.set()
            await self.go.wait()
        await super().edit(receipt, outgoing)


async def test_a_late_edit_of_a_placeholder_does_not_undo_that_it_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Slow(can=CAN), Room(can=CAN, name="phone")
    async with Rig(tmp_path, room=old, surfaces={"room": old, "phone": new}) as rig:
        moving = await begun(rig, "!hold here\n!text done", "here")
        await old.is_editing.wait()
        is_asked, editing = asyncio.Event(), Core.editing

        def ask(core: Core, receipt: Receipt) -> asyncio.Lock:
            is_asked.set()
            return editing(core, receipt)

        monkeypatch.setattr(Core, "editing", ask)
        wish = HandoffRequest(moving.thread or "", "phone:b", "ann", quiet=True)
        await rig.engine.handoffs.look((await rig.engine.handoffs.request(wish)).id, TIMEOUT)
        await is_asked.wait()  # its last edit is next
        old.go.set()
        await rig.delivered(f"{moving.turn}:placeholder:over")
        shown = [outgoing.text for message, outgoing in old.edits if message == "message-1"]
        assert shown[-1] == "→ moved to phone" and shown.count("→ moved to phone") == 1
        rig.scripted.holds.release("here")
        await rig.ended(moving.turn)
        assert [outgoing.text for message, outgoing in old.edits if message == "message-1"] == shown
