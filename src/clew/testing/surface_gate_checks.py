"""The checks of the surface kit about gates: what is shown of a gate, and what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Decision
from clew.model.messages import Accepted, Fate
from clew.model.threads import ThreadKind
from clew.model.views import NewThread
from clew.testing.scripted_model import script
from clew.testing.surface_stage import Daemon, Shown, Stage, cards, with_text
from clew.texts import chat_messages


async def a_button_answers_a_gate_and_its_card_is_updated(stage: Stage, folder: Path) -> None:
    """A button press has `pressed`, the card as `quoted` and the person's id; with `can.edit` the card then shows the
    answer without buttons."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.buttons:
            return
        await stage.say("!approve make alpha\n!text omega")
        [card] = cards(await stage.wait_shown(cards))
        assert "make alpha" in card.text
        await stage.press(card.id, card.buttons[0])
        await stage.wait_shown(lambda shown: with_text(shown, "omega"))
        pressed = clew.surface.received[-1]
        assert pressed.pressed and pressed.quoted == card.id and pressed.sender_id == stage.person
        if clew.surface.can.edit:
            await stage.wait_shown(
                lambda shown: all(not m.buttons and "allowed" in m.text for m in shown if m.id == card.id)
            )


async def a_card_whose_response_was_lost_is_redrawn_after_a_press(stage: Stage, folder: Path) -> None:
    """If the response to a card is lost, clew may send it again. A press on the first copy answers the gate, and no
    copy keeps its buttons: the press has the id of the message as `quoted`."""
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        if not can.buttons or not can.edit:
            return
        await stage.say("!hold here\n!approve make alpha\n!text omega")
        await clew.wait_held("here")
        await stage.wait_shown(lambda shown: with_text(shown, chat_messages.WORKING))
        await stage.lose_response_once()
        clew.agent.holds.release("here")
        copies = 1 if can.idempotency_window or can.read_back else 2
        shown = await stage.wait_shown(lambda shown: len(cards(shown)) == copies)
        first = cards(shown)[0]
        await stage.press(first.id, first.buttons[0])
        await stage.wait_shown(lambda shown: with_text(shown, "omega"))
        await stage.wait_shown(lambda shown: not cards(shown))


async def a_typed_word_answers_a_gate(stage: Stage, folder: Path) -> None:
    """A typed `n` answers the open gate."""
    async with Daemon(stage, folder) as clew:
        await stage.say("!approve make alpha\n!text omega")
        await stage.wait_shown(lambda shown: with_text(shown, "make alpha"))
        await stage.say("n")
        await stage.wait_shown(lambda shown: with_text(shown, "omega"))
        assert clew.surface.accepted[-1].fate is Fate.ANSWER


async def a_question_is_answered_where_it_was_sent(stage: Stage, folder: Path) -> None:
    """A thread that was started elsewhere asks at its notify target. There `y` answers it, and so does its code."""
    async with Daemon(stage, folder) as clew:
        await _send(stage, clew, "/help")  # on some platforms a program may write only to who wrote to it first
        for number, word in enumerate(("y", "{code} y")):
            command, end = f"make alpha{number}", f"omega{number}"
            task = f"!approve {command}\n!text {end}"
            target = f"{clew.surface.name}:{stage.target}"
            await clew.engine.threads.start(NewThread(f"task-{number}", task, kind=ThreadKind.TASK, notify=target))
            shown = await stage.wait_shown(lambda shown, command=command: with_text(shown, command))  # type: ignore[misc]
            [gate] = await clew.engine.gates.all()
            accepted = await _send(stage, clew, word.format(code=gate.code), beside=with_text(shown, command)[-1].id)
            assert accepted.fate is Fate.ANSWER, f"{word!r} was {accepted.fate}: {accepted.words}"
            await stage.wait_shown(lambda shown, end=end: with_text(shown, end))  # type: ignore[misc]


async def a_long_gate_can_be_accepted_only_if_shown_completely(stage: Stage, folder: Path) -> None:
    """A request that is too long for a card is shown in parts. If it is too long for those too, nothing in the chat
    accepts it; the local client still can."""
    async with Daemon(stage, folder) as clew:
        limit = clew.surface.can.max_length or 1000
        for number, length in enumerate((2 * limit, 20 * limit), 1):
            command, end = _long(f"make{number}", length), f"omega{number}"
            gate, card = await _open_gate(stage, clew, command, end)
            is_complete = _shows_all(await stage.wait_shown(lambda shown: shown), command)
            assert is_complete or not _allow_buttons(card), (
                f"{_allow_buttons(card)} are on a card that does not show everything"
            )
            assert (await _send(stage, clew, gate.code)).fate is not Fate.ANSWER, (
                "the code alone must not answer the gate"
            )
            for word in ("y", "1", "yes all", f"{gate.code} y")[: 1 if is_complete else 4]:
                accepted = await _send(stage, clew, word)
                assert (accepted.fate is Fate.ANSWER) == is_complete, f"{word!r} was {accepted.fate}: {accepted.words}"
                assert is_complete or gate.code in accepted.words, accepted.words
            assert is_complete or f"clew approve {gate.code}" in accepted.words, (
                "the reply does not say how to accept it"
            )
            if not is_complete:
                await clew.engine.gates.answer(gate.code, AnswerGate(Decision.ACCEPT))
            await stage.wait_shown(lambda shown, end=end: with_text(shown, end))  # type: ignore[misc]


async def an_incomplete_gate_can_be_declined(stage: Stage, folder: Path) -> None:
    """A request that is not shown completely can be declined in the chat."""
    async with Daemon(stage, folder) as clew:
        command = _long("make", 20 * (clew.surface.can.max_length or 1000))
        _, card = await _open_gate(stage, clew, command, "omega")
        declining = [label for label in card.buttons if label.startswith("🚫")]
        assert declining or not clew.surface.can.buttons
        if declining:
            await stage.press(card.id, declining[0])
        else:
            assert (await _send(stage, clew, "n")).fate is Fate.ANSWER
        await stage.wait_shown(lambda shown: with_text(shown, "omega"))


async def allow_all_accepts_only_gates_shown_completely(stage: Stage, folder: Path) -> None:
    """Of two gates at once, "yes all" accepts only the one that is shown completely; the other has a card of its
    own."""
    async with Daemon(stage, folder) as clew:
        long = _long("make", 20 * (clew.surface.can.max_length or 1000))
        clew.agent.play = lambda request: (script.Approve(("make alpha", long)), script.Say("omega"))
        await stage.say("!text go")
        await stage.wait_shown(lambda shown: len(_cards(shown)) == (1 if clew.surface.can.max_length is None else 2))
        short, other = sorted(await clew.engine.gates.all(), key=lambda gate: len(gate.title))
        shown = await stage.wait_shown(lambda shown: shown)
        for card in _cards(shown):
            is_complete = _shows_all([card], long)
            assert is_complete or other.code not in card.text or not _allow_buttons(card)
        is_complete = _shows_all(shown, long)
        accepted = await _send(stage, clew, "yes all")
        assert accepted.fate is Fate.ANSWER
        waiting = [gate.code for gate in await clew.engine.gates.all()]
        assert waiting == ([] if is_complete else [other.code]) and (is_complete or other.code in accepted.words)
        if not is_complete:
            assert (await _send(stage, clew, f"{other.code} n")).fate is Fate.ANSWER
        await stage.wait_shown(lambda shown: with_text(shown, "omega"))
        assert short.code not in waiting


def _long(command: str, length: int) -> str:
    """Return a long command whose words all differ, with the harm in the middle."""
    words = [f"w{number}" for number in range(length // 6 + 1)]
    return " ".join([command, *words[: len(words) // 2], "harm", *words[len(words) // 2 :]])


async def _open_gate(stage: Stage, clew: Daemon, command: str, end: str) -> tuple[GateView, Shown]:
    """Let the agent ask to run the command and then say `end`. Return the gate and its card."""
    clew.agent.play = lambda request: (script.Approve((command,)), script.Say(end))
    before = len(_cards(await stage.wait_shown(lambda shown: True)))
    await stage.say("!text go")
    shown = await stage.wait_shown(lambda shown: len(_cards(shown)) > before)
    [gate] = await clew.engine.gates.all()
    return gate, _cards(shown)[-1]


async def _send(stage: Stage, clew: Daemon, text: str, beside: str | None = None) -> Accepted:
    """Send a message, and return what the inbox did with it."""
    message = await stage.say(text, beside=beside)
    await clew.surface.wait_until(lambda: message in clew.surface.accepted_ids)
    return clew.surface.accepted[clew.surface.accepted_ids.index(message)]


def _cards(shown: Sequence[Shown]) -> list[Shown]:
    return with_text(shown, "The agent asks to run a command")


def _shows_all(shown: Sequence[Shown], command: str) -> bool:
    return {word for message in shown for word in message.text.split()}.issuperset(command.split())


def _allow_buttons(card: Shown) -> list[str]:
    return [label for label in card.buttons if "llow" in label or "✅" in label]
