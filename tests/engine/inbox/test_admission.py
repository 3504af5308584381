"""Admission: messages that break clew, and senders who are named like clew."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from clew.model.messages import Inbound
from clew.store.tables import turns
from clew.support.coded import with_code
from clew.texts import chat_messages
from clew.texts.bilingual import zh
from tests.helpers.rig import Rig


async def test_a_message_that_breaks_clew_is_refused_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise ZeroDivisionError

    async with Rig(tmp_path) as rig:
        monkeypatch.setattr(importlib.import_module("clew.engine.inbox.admission"), "handle_reply", broken)
        first = await rig.say("!text hi", id="m1")
        monkeypatch.undo()
        again = await rig.say("!text hi", id="m1")
        assert (first.fate, first.words) == ("refused", chat_messages.BROKEN)
        assert (again.fate, again.repeated) == ("refused", True)


async def test_a_repeated_message_that_cannot_be_read_is_refused_with_the_code_of_why(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await rig.say("!text hi", id="m1")
        await rig.store.write(lambda tx: tx.run("UPDATE inbox SET fate = 'odd'"))
        again = await rig.say("!text hi", id="m1")
    assert (again.fate, again.repeated) == ("refused", True)
    assert again.texts["words"].code and zh(with_code(again.words, again.texts["words"])) != again.words


async def test_a_sender_named_clew_is_marked_as_a_sender(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        accepted = await rig.engine.inbox.accept(Inbound(rig.where(), "m1", "Clew", "!hold door\n!text one"))
        await rig.held("door")
        await rig.kill()
    async with Rig(tmp_path) as rig:
        cut = await rig.ended(accepted.turn)
        row = await rig.store.read(lambda tx: turns.get(tx, cut.continued_by or ""))
    assert row is not None and row.request[0].text == "!hold door\n!text one"
