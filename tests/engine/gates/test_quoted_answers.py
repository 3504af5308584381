"""A typed reply that quotes a card means the gates of that card, and nothing else that is open."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from clew.engine.gates.cards import remind
from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Decision
from clew.model.messages import Attachment, Fate
from clew.store.tables import gates
from clew.testing.scripted_model import script
from tests.engine.gates.test_lifecycle import asked, executions
from tests.engine.gates.test_visibility import IN_PARTS, PHONE, Chat
from tests.helpers.rig import Rig, Room


async def _asks_one_by_one(rig: Rig) -> tuple[Chat, GateView, GateView]:
    """Two threads in one chat, each with a card; the newer one is bound there."""
    chat = Chat(rig)
    (first,) = await chat.asks("make")
    await chat.says("/new")
    rig.scripted.play = lambda request: (script.Approve(("deploy",)), script.Say("done"))
    await chat.says("go on please")
    await rig.until(lambda entry: rig.kinds().count("gate.opened") == 2)
    (second,) = [view for view in await rig.engine.gates.all() if view.id != first.id]
    await rig.delivered(f"{second.id}:ask")
    return chat, first, second


def _quote(rig: Rig, id: str) -> str:
    return f"message-{1 + [sent.id for sent in rig.room.sent].index(id)}"


@pytest.mark.parametrize("word", ["y", "1", "同意", "yes all"])
async def test_quoting_a_settled_card_allows_no_other_gate(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, first, second = await _asks_one_by_one(rig)
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        said = await chat.says(word, quoted=_quote(rig, f"{first.id}:ask"))
        assert said.fate is Fate.REFUSED
        assert word == "yes all" or first.code in said.words
        assert (await rig.engine.gates.one(second.id)).state == "open" and executions(rig) == []


@pytest.mark.parametrize("word", ["y", "yes all"])
async def test_a_quote_means_only_what_its_card_shows(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, first, second = await _asks_one_by_one(rig)
        said = await chat.says(word, quoted=_quote(rig, f"{first.id}:ask"))
        assert said.fate is Fate.ANSWER and said.thread == first.thread
        await rig.ended(first.turn)
        assert executions(rig) == ["make"]
        assert (await rig.engine.gates.one(second.id)).state == "open"


@pytest.mark.parametrize(("text", "is_answer"), [("n use b.txt", True), ("拒绝 改用 b.txt", True), ("no tests", False)])
async def test_a_quoted_no_may_have_a_reason(tmp_path: Path, text: str, is_answer: bool) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, first, _ = await _asks_one_by_one(rig)
        said = await chat.says(text, quoted=_quote(rig, f"{first.id}:ask"))
        found = await rig.store.read(lambda tx: gates.get(tx, first.id))
        reason = found.answer.reason if found is not None and found.answer is not None else ""
        assert (said.fate is Fate.ANSWER, reason) == (is_answer, text.split(maxsplit=1)[1] * is_answer)


async def test_a_quote_of_a_card_with_several_open_asks_which(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        first, second = await chat.asks("make", "deploy")
        card = _quote(rig, (await chat.gate(first)).card or "")
        said = await chat.says("y", quoted=card)
        assert said.fate is Fate.REFUSED and first.code in said.words and second.code in said.words
        await chat.says(f"{first.code} n")
        assert (await chat.says("y", quoted=card)).fate is Fate.ANSWER
        await rig.ended(first.turn)
        assert executions(rig) == ["deploy"]


@pytest.mark.parametrize("name", ["ask:part:1", "remind"])
async def test_a_quote_of_a_part_or_a_reminder_means_its_gate(tmp_path: Path, name: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks(IN_PARTS)
        row = await chat.gate(view)
        await rig.store.write(lambda tx: remind(tx, rig.engine._core, row))
        await rig.delivered(f"{view.id}:remind")
        await chat.says(f"{view.code} n")
        said = await chat.says("y", quoted=_quote(rig, f"{view.id}:{name}"))
        assert said.fate is Fate.REFUSED and view.code in said.words


async def test_text_that_quotes_a_settled_card_goes_to_the_agent(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, first, _ = await _asks_one_by_one(rig)
        await chat.says("n", quoted=_quote(rig, f"{first.id}:ask"))
        await rig.ended(first.turn)
        said = await chat.says("do it in another folder", quoted=_quote(rig, f"{first.id}:ask"))
        assert said.fate in (Fate.TURN, Fate.STEER) and said.thread == first.thread


async def test_a_quote_of_an_unknown_message_allows_nothing(tmp_path: Path) -> None:
    """For example a card whose receipt never arrived."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make")
        said = await chat.says("y", quoted="message-99")
        assert said.fate is not Fate.ANSWER and view.code in said.words
        assert (await rig.engine.gates.one(view.id)).state == "open"


async def test_a_reply_thread_below_a_card_does_not_quote_it(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make")
        assert len(await asked(rig)) == 1
        assert (await chat.says("y", quoted="message-99", hangs=True)).fate is Fate.ANSWER
        await rig.ended(view.turn)


@pytest.mark.parametrize("word", ["y", "同意", "2", "yes all", "stop", "n"])
@pytest.mark.parametrize("what", ["own", "answer", "colleague's"])
async def test_a_quote_of_something_else_answers_no_gate(tmp_path: Path, word: str, what: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        await rig.allow("7")
        await rig.allow("8")
        rig.scripted.play = lambda request: (script.Say("Shall I also write docs?"),)
        first = await chat.says("hello", id="m-first")
        await rig.delivered(f"{first.turn}:final")
        answer = _quote(rig, f"{first.turn}:final")
        (view,) = await chat.asks("make deploy")
        await rig.say("lunch at 12?", id="m-lunch", sender_id="8")
        quoted = {"own": "m-first", "answer": answer, "colleague's": "m-lunch"}[what]
        said = await chat.says(word, quoted=quoted)
        assert said.fate in (Fate.TURN, Fate.STEER) and view.code in said.words
        assert (await rig.engine.gates.one(view.id)).state == "open" and executions(rig) == []
        assert (await chat.says(f"{view.code} y", quoted=quoted)).fate is Fate.ANSWER
        await rig.ended(view.turn)


async def test_a_secret_that_quotes_another_message_is_stored_nowhere(tmp_path: Path) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        await rig.allow("7")
        await chat.says("!secret The password?", id="m-first")
        await asked(rig)
        assert (await chat.says("hunter2", quoted="m-first")).fate is Fate.REFUSED
        assert (await chat.says("hunter2", quoted="message-99")).fate is Fate.REFUSED


@pytest.mark.parametrize(
    "said",
    [
        *(
            "/queue hunter2",
            "/new hunter2",
            "/fork hunter2",
            "/queue CODE hunter2",
            "/answer CODE hunter2",
            "/排队 hunter2",
        ),
        *("/answer hunter2", "/answer hunter2 again", "/approve hunter2", "/deny hunter2", "/queue B2C3 hunter2"),
    ],
)
async def test_a_secret_that_comes_with_a_command_is_stored_nowhere(tmp_path: Path, said: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view = Chat(rig), await _asks_secret(rig)
        refused = await chat.says(said.replace("CODE", view.code))
        assert refused.fate is Fate.REFUSED and f"clew answer {view.code}" in refused.words
        assert (await chat.says(f"{view.code} stop")).thread == view.thread  # and nothing has moved
        await rig.ended(view.turn)
    _nowhere(tmp_path, b"hunter2")


@pytest.mark.parametrize("said", ["hunter2", "CODE hunter2"])
@pytest.mark.parametrize("how", ["attachments", "relayed", "queue"])
async def test_a_secret_with_a_file_or_forwarded_is_stored_nowhere(tmp_path: Path, said: str, how: str) -> None:
    more: dict[str, object] = {how: True}
    if how == "attachments":
        more = {how: (Attachment("a.png", str(tmp_path / "a.png"), "image/png"),)}
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat, view = Chat(rig), await _asks_secret(rig)
        refused = await chat.says(said.replace("CODE", view.code), **more)
        assert refused.fate is Fate.REFUSED and f"clew answer {view.code}" in refused.words
        assert how != "attachments" or (await chat.says("", **more)).fate is Fate.STEER
    _nowhere(tmp_path, b"hunter2")


@pytest.mark.parametrize("said", ["b2c3 hunter2", "y B2C3 hunter2", "OLD hunter2", "B2C3D4F5G6H7", "B2C3D4F5G6H7 y"])
@pytest.mark.parametrize("how", [{}, {"quoted": "message-99"}, {"relayed": True}, {"queue": True}], ids=str)
async def test_a_secret_after_a_wrong_code_is_stored_nowhere(tmp_path: Path, said: str, how: dict[str, object]) -> None:
    """The code is mistyped, that of a settled gate, or is itself the secret."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        await rig.allow("7")
        await chat.says("!approve make\n!secret The password?")
        (first,) = await asked(rig)
        await rig.engine.gates.answer(first.code, AnswerGate(Decision.DECLINE))
        (view,) = await asked(rig, 2)
        refused = await chat.says(said.replace("OLD", first.code), **how)
        assert refused.fate is Fate.REFUSED and f"clew answer {view.code}" in refused.words
        assert first.code in (await chat.says(first.code)).words, "a code alone is no secret"
        assert "clew answer" not in (await chat.says(f"{first.code} y")).words
    _nowhere(tmp_path, b"hunter2")
    _nowhere(tmp_path, b"B2C3D4F5G6H7")


async def test_a_secret_in_a_chat_without_a_thread_is_stored_nowhere(tmp_path: Path) -> None:
    """It is asked there because the person is away."""
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        await rig.allow("7")
        await chat.says("/away")
        await rig.start("!secret The password?")
        (view,) = await asked(rig)
        await rig.delivered(f"{view.id}:ask")
        refused = await chat.says("hunter2")
        assert refused.fate is Fate.REFUSED and f"clew answer {view.code}" in refused.words and "/new" in refused.words
        assert (await chat.says("/new write the docs")).fate is Fate.TURN
    _nowhere(tmp_path, b"hunter2")


async def _asks_secret(rig: Rig) -> GateView:
    await rig.allow("7")
    await Chat(rig).says("!secret The password?")
    (view,) = await asked(rig)
    await rig.delivered(f"{view.id}:ask")
    return view


def _nowhere(folder: Path, secret: bytes) -> None:
    assert not [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


@pytest.mark.parametrize("how", ["pressed", "quoted"])
async def test_an_old_card_does_not_answer_a_new_gate_of_the_same_code(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes are reused after a day."""
    monkeypatch.setattr(importlib.import_module("clew.engine.gates.lifecycle"), "new_code", lambda tx, core: "K7Q2")
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (old,) = await chat.asks("make test")
        card = chat.card(old)
        await chat.says("n")
        await rig.ended(old.turn)
        rig.scripted.play = lambda request: (script.Approve(("make deploy",)), script.Say("done"))
        await chat.says("again please")
        await rig.until(lambda entry: rig.kinds().count("gate.opened") == 2)
        (new,) = await rig.engine.gates.all()
        await rig.delivered(f"{new.id}:ask")
        pressed = await chat.presses(card, "K7Q2 y") if how == "pressed" else None
        said = pressed or await chat.says("y", quoted=_quote(rig, card.id))
        assert said.fate is Fate.REFUSED and "K7Q2 was answered by ann" in said.words
        assert (await rig.engine.gates.one(new.id)).state == "open" and executions(rig) == []


@pytest.mark.parametrize("word", ["y", "CODE y", "yes all", "n", "1"])
async def test_relayed_text_is_for_the_agent_and_answers_nothing(tmp_path: Path, word: str) -> None:
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        chat = Chat(rig)
        (view,) = await chat.asks("make")
        said = await chat.says(word.replace("CODE", view.code), relayed=True)
        assert said.fate in (Fate.STEER, Fate.TURN) and said.thread == view.thread
        assert (await rig.engine.gates.one(view.id)).state == "open" and executions(rig) == []
