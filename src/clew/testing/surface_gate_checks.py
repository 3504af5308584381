"""The checks of the surface kit that are about gates: what is shown of one, and what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.model.gate_views import AnswerGate, GateView
from clew.model.gates import Decision
from clew.model.messages import Accepted, Fate
from clew.testing.scripted_model import script
from clew.testing.surface_stage import Daemon, Shown, Stage, with_text


async def a_gate_is_answered_by_a_button_and_redrawn(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.buttons:
            return
        await stage.say("!approve make alpha\n!text omega")
        shown = await stage.seen(lambda shown: [message for message in shown if message.buttons])
        [card] = [message for message in shown if message.buttons]
        assert "make alpha" in card.text
        await stage.press(card.id, card.buttons[0])
        await stage.seen(lambda shown: with_text(shown, "omega"))
        pressed = clew.surface.came[-1]
        assert pressed.pressed and pressed.quoted == card.id and pressed.sender_id == stage.person
        if clew.surface.can.edit:
            await stage.seen(lambda shown: all(not m.buttons and "allowed" in m.text for m in shown if m.id == card.id))


async def a_gate_is_answered_by_a_word(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        await stage.say("!approve make alpha\n!text omega")
        await stage.seen(lambda shown: with_text(shown, "make alpha"))
        await stage.say("n")
        await stage.seen(lambda shown: with_text(shown, "omega"))
        assert clew.surface.accepted[-1].fate is Fate.ANSWER


async def a_long_gate_is_allowed_only_if_all_of_it_is_shown(stage: Stage, folder: Path) -> None:
    """In parts if it is too long for a card; if it is too long for those, nothing there allows it, but the desk can."""
    async with Daemon(stage, folder) as clew:
        limit = clew.surface.can.max_length or 1000
        for number, length in enumerate((2 * limit, 20 * limit), 1):
            command, end = _long(f"make{number}", length), f"omega{number}"
            gate, card = await _asked(stage, clew, command, end)
            shown = _words(await stage.seen(lambda shown: shown))
            is_whole = all(word in shown for word in command.split())
            assert is_whole or not _allowing(card), f"{_allowing(card)} stand on a card that leaves something out"
            assert (await _said(stage, clew, gate.code)).fate is not Fate.ANSWER, "a code alone only shows its gate"
            for word in ("y", "1", "yes all", f"{gate.code} y")[: 1 if is_whole else 4]:
                accepted = await _said(stage, clew, word)
                assert (accepted.fate is Fate.ANSWER) == is_whole, f"{word!r} was {accepted.fate}: {accepted.words}"
                assert is_whole or gate.code in accepted.words, accepted.words
            assert is_whole or f"clew approve {gate.code}" in accepted.words, "it does not say how it can be allowed"
            if not is_whole:
                await clew.engine.waiting.answer(gate.code, AnswerGate(Decision.ACCEPT))
            await stage.seen(lambda shown, end=end: with_text(shown, end))  # type: ignore[misc]


async def a_gate_that_is_not_shown_whole_can_be_declined(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        command = _long("make", 20 * (clew.surface.can.max_length or 1000))
        _, card = await _asked(stage, clew, command, "omega")
        declining = [label for label in card.buttons if label.startswith("🚫")]
        assert declining or not clew.surface.can.buttons
        if declining:
            await stage.press(card.id, declining[0])
        else:
            assert (await _said(stage, clew, "n")).fate is Fate.ANSWER
        await stage.seen(lambda shown: with_text(shown, "omega"))


async def allow_all_means_only_what_is_shown_whole(stage: Stage, folder: Path) -> None:
    """Of two gates at once, the one that does not fit has a card of its own."""
    async with Daemon(stage, folder) as clew:
        long = _long("make", 20 * (clew.surface.can.max_length or 1000))
        clew.agent.play = lambda request: (script.Approve(("make alpha", long)), script.Say("omega"))
        await stage.say("!text go")
        await stage.seen(lambda shown: len(_cards(shown)) == (1 if clew.surface.can.max_length is None else 2))
        short, other = sorted(await clew.engine.waiting.all(), key=lambda gate: len(gate.title))
        shown = await stage.seen(lambda shown: shown)
        for card in _cards(shown):
            is_whole = all(word in _words([card]) for word in long.split())
            assert is_whole or other.code not in card.text or not _allowing(card)
        is_whole = all(word in _words(shown) for word in long.split())
        accepted = await _said(stage, clew, "yes all")
        assert accepted.fate is Fate.ANSWER
        waiting = [gate.code for gate in await clew.engine.waiting.all()]
        assert waiting == ([] if is_whole else [other.code]) and (is_whole or other.code in accepted.words)
        if not is_whole:
            assert (await _said(stage, clew, f"{other.code} n")).fate is Fate.ANSWER
        await stage.seen(lambda shown: with_text(shown, "omega"))
        assert short.code not in waiting


def _long(command: str, length: int) -> str:
    """Every word of it is another one, and the harm is in the middle."""
    words = [f"w{number}" for number in range(length // 6 + 1)]
    return " ".join([command, *words[: len(words) // 2], "harm", *words[len(words) // 2 :]])


async def _asked(stage: Stage, clew: Daemon, command: str, end: str) -> tuple[GateView, Shown]:
    """The agent asks to run it, and says `end` then; the gate and its card."""
    clew.agent.play = lambda request: (script.Approve((command,)), script.Say(end))
    before = len(_cards(await stage.seen(lambda shown: True)))
    await stage.say("!text go")
    shown = await stage.seen(lambda shown: len(_cards(shown)) > before)
    [gate] = await clew.engine.waiting.all()
    return gate, _cards(shown)[-1]


async def _said(stage: Stage, clew: Daemon, text: str) -> Accepted:
    """What became of it."""
    message = await stage.say(text)
    await clew.surface.until(lambda: message in clew.surface.taken)
    return clew.surface.accepted[clew.surface.taken.index(message)]


def _cards(shown: Sequence[Shown]) -> list[Shown]:
    return with_text(shown, "The agent asks to run a command")


def _words(shown: Sequence[Shown]) -> set[str]:
    return {word for message in shown for word in message.text.split()}


def _allowing(card: Shown) -> list[str]:
    return [label for label in card.buttons if "llow" in label or "✅" in label]
