"""Checks what every surface must do, with the real engine. See docs/how-to/surfaces/writing-one.md.

The author of a surface implements a `Stage` (`surface_stage`): the platform, or a fake of it, as a person sees it, with
methods to cause faults. Each of `CHECKS` takes a new stage and an empty folder, and raises AssertionError if the
surface fails it; a TimeoutError means that something expected never came. Abilities that the surface does not declare
(`SurfaceCan`) are not checked.

    @pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
    async def test_my_surface_conforms(check, tmp_path):
        await check(MyStage(), tmp_path)
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

from clew.model.delivery import DeliveryKind
from clew.model.messages import Fate
from clew.model.surface import Backlog, Outgoing, Units
from clew.support.clock import SystemClock
from clew.testing.scripted_model import script
from clew.testing.surface_gate_checks import (
    a_button_answers_a_gate_and_its_card_is_updated,
    a_card_whose_response_was_lost_is_redrawn_after_a_press,
    a_long_gate_can_be_accepted_only_if_shown_completely,
    a_question_is_answered_where_it_was_sent,
    a_typed_word_answers_a_gate,
    allow_all_accepts_only_gates_shown_completely,
    an_incomplete_gate_can_be_declined,
)
from clew.testing.surface_message_checks import (
    a_deleted_message_is_taken_back_while_it_is_queued,
    a_message_that_was_heard_is_marked,
    an_edit_changes_a_queued_message,
    the_answer_replies_to_its_question,
)
from clew.testing.surface_place_checks import (
    a_message_in_an_opened_thread_has_that_conversation,
    an_answer_whose_thread_was_deleted_goes_to_its_chat,
)
from clew.testing.surface_stage import (
    PICTURE,
    Daemon,
    Stage,
    start_working,
    wait_accepted,
    wait_answered,
    with_text,
)
from clew.texts import chat_messages

STOP = 2.0  # seconds in which a surface has to end
SLACK = 5  # factor for a busy machine
BUSY = 1.0  # seconds for which the platform asks clew to wait

Check = Callable[[Stage, Path], Awaitable[None]]


def named(check: Check) -> str:
    """Return the name of a check as words, for a test id."""
    return check.__name__.replace("_", " ")


async def a_message_is_committed_before_it_is_acknowledged(stage: Stage, folder: Path) -> None:
    """The surface acknowledges a message to the platform only after `Inbox.accept` has returned
    (`Backlog.PLATFORM`)."""
    hold = asyncio.Event()
    async with Daemon(stage, folder, hold=hold) as clew:
        if clew.surface.can.backlog is not Backlog.PLATFORM:
            return
        message = await stage.say("!text alpha")
        await clew.surface.wait_until(lambda: clew.surface.received)
        assert not await stage.is_acknowledged(message), "the message was acknowledged before it was committed"
        hold.set()
        await stage.wait_acknowledged(message)
        await wait_answered(stage, "alpha")


async def no_message_is_lost_if_killed_before_the_commit(stage: Stage, folder: Path) -> None:
    """A message that was received but not committed is answered by the next daemon. With `Backlog.PLATFORM` also the
    first one of a conversation."""
    can = stage.surface(SystemClock(), folder / "files").can
    if can.backlog is Backlog.NONE:
        return
    before = ["omega"] if can.backlog is Backlog.HISTORY else []
    for text in before:
        async with Daemon(stage, folder) as clew:
            await wait_accepted(stage, clew, await stage.say(f"!text {text}"))
            await wait_answered(stage, text)
    async with Daemon(stage, folder, hold=asyncio.Event()) as clew:
        await stage.say("!text alpha")
        await clew.surface.wait_until(lambda: clew.surface.received)
    async with Daemon(stage, folder):
        await wait_answered(stage, *before, "alpha")


async def a_redelivered_message_runs_once(stage: Stage, folder: Path) -> None:
    """A message that the platform sends again has the same id, so it does not run twice."""
    async with Daemon(stage, folder) as clew:
        message = await stage.say("!text alpha")
        await wait_accepted(stage, clew, message)
        await wait_answered(stage, "alpha")
    async with Daemon(stage, folder) as clew:
        await stage.redeliver(message)
        await clew.surface.wait_until(lambda: clew.surface.accepted)
        assert clew.surface.accepted[0].repeated, "the redelivered message has another id"
        await stage.say("!text beta")
        await wait_answered(stage, "alpha", "beta")


async def messages_sent_while_clew_is_down_are_answered(stage: Stage, folder: Path) -> None:
    """With a backlog, messages sent while no daemon runs are answered in order after the start."""
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        await wait_accepted(stage, clew, await stage.say("!text alpha"))
        await wait_answered(stage, "alpha")
    if can.backlog is Backlog.NONE:
        return
    await stage.say("!text beta")
    await stage.say("!text gamma")
    async with Daemon(stage, folder):
        await wait_answered(stage, "alpha", "beta", "gamma")


async def history_is_read_from_the_last_stored_message(stage: Stage, folder: Path) -> None:
    """With `Backlog.HISTORY`, each known conversation is read from its last stored message, and new messages wait until
    that is done: otherwise a kill in between would leave a gap."""
    async with Daemon(stage, folder) as clew:
        if clew.surface.can.backlog is not Backlog.HISTORY:
            return
        await wait_accepted(stage, clew, await stage.say("!text alpha"))
        await wait_accepted(stage, clew, await stage.say("hello", stranger=True))
        await wait_answered(stage, "alpha")
    missed = [await stage.say("!text beta"), await stage.say("!text gamma")]
    strange = await stage.say("hello?", stranger=True)
    hold = asyncio.Event()
    async with Daemon(stage, folder, hold=hold) as clew:
        await clew.surface.wait_until(lambda: clew.surface.received)
        missed.append(await stage.say("!text delta"))
        hold.set()
        await clew.surface.wait_until(
            lambda: strange in clew.surface.accepted_ids and missed[-1] in clew.surface.accepted_ids
        )
        assert [id for id in clew.surface.accepted_ids if id in missed] == missed, (
            "the missed messages were not accepted first"
        )
        await wait_answered(stage, "alpha", "beta", "gamma", "delta")


async def messages_keep_their_order(stage: Stage, folder: Path) -> None:
    """Messages of one conversation are accepted and answered in the order in which they were sent."""
    async with Daemon(stage, folder) as clew:
        said = [await stage.say(f"!text alpha{number}") for number in range(5)]
        await clew.surface.wait_until(lambda: len(clew.surface.accepted) == 5)
        assert [inbound.message_id for inbound in clew.surface.received] == said
        assert len({inbound.conversation for inbound in clew.surface.received}) == 1
        await wait_answered(stage, *(f"alpha{number}" for number in range(5)))


async def a_message_has_its_sender_and_conversation(stage: Stage, folder: Path) -> None:
    """An Inbound has the sender's id and name, is `direct`, and `resolve` finds its conversation."""
    async with Daemon(stage, folder) as clew:
        await stage.say("!text alpha")
        await wait_answered(stage, "alpha")
        [inbound] = clew.surface.received
        assert inbound.sender_id == stage.person and inbound.sender and inbound.direct and not inbound.pressed
        assert clew.surface.resolve(inbound.conversation.address) == inbound.conversation


async def a_stranger_is_refused_and_nothing_runs(stage: Stage, folder: Path) -> None:
    """A message of a person who may not speak is refused and starts no turn."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat:
            return
        await wait_accepted(stage, clew, await stage.say("!text alpha", stranger=True))
        await stage.say("!text beta")
        shown = await wait_answered(stage, "beta")
        assert [accepted.fate for accepted in clew.surface.accepted] == [Fate.REFUSED, Fate.TURN]
        assert not with_text(shown, "alpha")


async def a_quote_goes_to_the_thread_of_the_quoted_message(stage: Stage, folder: Path) -> None:
    """A reply that quotes an older answer continues that answer's thread."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat:
            return
        await stage.say("!text alpha")
        [first] = with_text(await wait_answered(stage, "alpha"), "alpha")
        await stage.say("/new")
        await stage.say("!text beta")
        await wait_answered(stage, "alpha", "beta")
        await stage.say("!text gamma", quote=first.id)
        await wait_answered(stage, "alpha", "beta", "gamma")
        turns = [accepted.thread for accepted in clew.surface.accepted if accepted.fate is Fate.TURN]
        assert turns[0] == turns[2] != turns[1]


async def the_answer_is_a_new_message_after_the_placeholder(stage: Stage, folder: Path) -> None:
    """With `can.edit` a placeholder is shown while the agent works; the answer is a new message, and the placeholder
    disappears."""
    async with Daemon(stage, folder) as clew:
        before = await start_working(stage, clew)
        clew.agent.holds.release("here")
        [answer] = with_text(await wait_answered(stage, "alpha"), "alpha")
        if clew.surface.can.edit:
            assert answer.id not in [message.id for message in before]
            await stage.wait_shown(lambda shown: not with_text(shown, chat_messages.WORKING))


async def a_long_answer_is_split_into_parts(stage: Stage, folder: Path) -> None:
    """An answer longer than `can.max_length` is sent in parts that together are the answer."""
    async with Daemon(stage, folder) as clew:
        limit = clew.surface.can.max_length
        answer = " ".join(f"w{number}" for number in range(40 + (limit or 0) // 4))
        await stage.say(f"!text {answer}")
        await stage.wait_shown(lambda shown: answer in " ".join(" ".join(message.text.split()) for message in shown))
        shown = await stage.wait_shown(lambda shown: shown)
        parts = [message for message in shown if set(message.text.split()) & set(answer.split())]
        assert limit is None or len(parts) > 1


async def each_part_has_complete_code_fences(stage: Stage, folder: Path) -> None:
    """If code is split, each part closes its fence and the next one opens it again; no line is missing."""
    async with Daemon(stage, folder) as clew:
        lines = [f"line_{number}" for number in range(40 + (clew.surface.can.max_length or 0) // 8)]
        answer = "\n".join(["```python", *lines, "```", "", "omega"])
        clew.agent.play = lambda request: (script.Say(answer),)
        await stage.say("alpha")
        shown = await stage.wait_shown(lambda shown: with_text(shown, "omega"))
        assert re.findall(r"line_\d+", "\n".join(message.text for message in shown)) == lines
        parts = [outgoing.text for outgoing in clew.surface.sent if outgoing.kind is DeliveryKind.FINAL]
        assert len(parts) > 1 or clew.surface.can.max_length is None
        assert all(part.count("```") % 2 == 0 for part in parts)


async def edits_respect_the_minimum_interval(stage: Stage, folder: Path) -> None:
    """Two edits of the placeholder are at least `can.edit_every` seconds apart."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.edit:
            return
        await stage.say("!hold one\n!shell a\n!hold two\n!shell b\n!hold three\n!text alpha")
        for seen, name in enumerate(("one", "two", "three")):
            await clew.wait_held(name)
            await clew.surface.wait_until(lambda seen=seen: len(clew.surface.edits) >= seen)  # type: ignore[misc]
            clew.agent.holds.release(name)
        await wait_answered(stage, "alpha")
        times = [at for _, at in clew.surface.edits]
        assert all(later - at > 0.9 * clew.surface.can.edit_every for at, later in pairwise(times))


async def the_placeholder_shows_what_is_being_written(stage: Stage, folder: Path) -> None:
    """While the agent only writes, the placeholder is edited too: with the time and, with `can.stream`, the text."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.edit or not clew.surface.can.chat:
            return
        await stage.say("!text beta\n!hold here\n!text alpha")
        await clew.wait_held("here")
        await clew.surface.wait_until(lambda: len(clew.surface.edits) >= 2)
        if clew.surface.can.stream:
            await clew.surface.wait_until(lambda: any("beta" in live for live in clew.surface.live))
        clew.agent.holds.release("here")
        await wait_answered(stage, "alpha")


async def a_button_of_the_placeholder_stops_its_turn(stage: Stage, folder: Path) -> None:
    """The placeholder has a button that stops the turn; after that it has none."""
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        if not (can.edit and can.chat and can.buttons):
            return
        [placeholder] = with_text(await start_working(stage, clew), chat_messages.WORKING)
        assert placeholder.buttons == (chat_messages.STOP_BUTTON,)
        await stage.press(placeholder.id, placeholder.buttons[0])
        await clew.surface.wait_until(lambda: clew.surface.accepted[-1].fate is Fate.COMMAND)
        await stage.wait_shown(
            lambda shown: [m for m in shown if m.id == placeholder.id and "⏹" in m.text and not m.buttons]
        )


async def any_text_can_be_sent(stage: Stage, folder: Path) -> None:
    """Empty, long, odd and markup-like texts are all sent."""
    surface = stage.surface(SystemClock(), folder / "files")
    can = surface.can
    longest = {Units.CHARACTERS: can.max_length or 5000, Units.UTF16: (can.max_length or 5000) // 2}
    knots = "🧶" * longest.get(can.units, (can.max_length or 5000) // 4)
    texts = ["", " \n", knots, "*`_[](", "a\0b\ud800", "\u202e\u200bדף 你好", "<b>&amp;", "/start @all"]
    async with Daemon(stage, folder) as clew:
        await stage.say("!text alpha")
        before = len(await wait_answered(stage, "alpha"))
        where = clew.surface.received[0].conversation
        for number, text in enumerate(texts):
            await surface.send(Outgoing(f"odd-{number}", DeliveryKind.NOTICE, where, "", None, text))
        await stage.wait_shown(lambda shown: len(shown) == before + len(texts))
    await surface.close()


async def files_follow_the_answer(stage: Stage, folder: Path) -> None:
    """With `can.files`, files that the answer links to are sent after it: a picture as an image, any other as a
    file."""
    (folder / "knot.png").write_bytes(PICTURE)
    (folder / "notes.txt").write_text("never lose the thread")
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.files:
            return
        await stage.say("!text alpha ![a knot](knot.png) and [notes](notes.txt)")
        shown = await stage.wait_shown(lambda shown: sum(bool(message.attached) for message in shown) == 2)
        assert [message.attached for message in shown if message.attached] == ["image", "file"]
        [answer] = with_text(shown, "alpha")
        assert all(place > shown.index(answer) for place, message in enumerate(shown) if message.attached)


async def retry_after_is_respected(stage: Stage, folder: Path) -> None:
    """If the platform says to retry after some seconds, the surface waits that long."""
    async with Daemon(stage, folder) as clew:
        await start_working(stage, clew)
        await stage.rate_limit_once(BUSY)
        began = asyncio.get_running_loop().time()
        clew.agent.holds.release("here")
        await wait_answered(stage, "alpha")
        assert asyncio.get_running_loop().time() - began >= BUSY


async def a_send_in_doubt_shows_at_most_one_plain_answer(stage: Stage, folder: Path) -> None:
    """If the response to a send is lost, the answer is shown once, or its second copy is marked as a possible repeat or
    as recovered."""
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        await start_working(stage, clew)
        await stage.lose_response_once()
        clew.agent.holds.release("here")
        await stage.wait_shown(lambda shown: with_text(shown, "alpha"))
        mark = chat_messages.RECOVERED if can.edit else chat_messages.POSSIBLE_REPEAT
        once = can.idempotency_window > 0 or can.read_back
        if not once:
            await stage.wait_shown(lambda shown: with_text(shown, mark))
        await stage.say("!text beta")
        copies = with_text(await stage.wait_shown(lambda shown: with_text(shown, "beta")), "alpha")
        plain = [copy for copy in copies if mark not in copy.text]
        assert len(plain) == 1 and len(copies) == (1 if once else 2), f"{len(copies)} copies, {len(plain)} plain"


async def it_reconnects_after_the_platform_was_unreachable(stage: Stage, folder: Path) -> None:
    """After an outage the surface sends what is due and, with a backlog, receives what was said meanwhile."""
    async with Daemon(stage, folder) as clew:
        await start_working(stage, clew)
        await stage.disconnect()
        clew.agent.holds.release("here")
        if clew.surface.can.backlog is not Backlog.NONE:
            await stage.say("!text beta")
        await stage.reconnect()
        await wait_answered(stage, "alpha")
        if clew.surface.can.backlog is not Backlog.NONE:
            await wait_answered(stage, "alpha", "beta")


async def it_stops_quickly(stage: Stage, folder: Path) -> None:
    """The surface ends within `STOP` seconds after it is cancelled."""
    async with Daemon(stage, folder) as clew:
        await wait_accepted(stage, clew, await stage.say("!text alpha"))
        await wait_answered(stage, "alpha")
        began = asyncio.get_running_loop().time()
    took = asyncio.get_running_loop().time() - began
    assert took < STOP * SLACK, f"it took {took:.1f} s to end"


async def a_reply_in_a_new_thread_continues_the_quoted_answer(stage: Stage, folder: Path) -> None:
    """The first message in a new platform thread below an answer continues that answer's thread, and so do the next
    ones there."""
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat or not clew.surface.can.threads:
            return
        await stage.say("!text alpha")
        [first] = with_text(await wait_answered(stage, "alpha"), "alpha")
        await stage.say("/new")
        await stage.say("!text beta")
        await wait_answered(stage, "alpha", "beta")
        await stage.say("!text gamma", quote=first.id, fresh=True)
        await wait_answered(stage, "alpha", "beta", "gamma")
        here, there = clew.surface.received[0].conversation, clew.surface.received[-1].conversation
        assert there != here and clew.surface.received[-1].in_thread
        turns = [accepted.thread for accepted in clew.surface.accepted if accepted.fate is Fate.TURN]
        assert turns[0] == turns[2] != turns[1], (
            "the Inbound does not say where the quoted message is (`quoted`, `quoted_in`)"
        )
        await stage.say("!text delta", where=there)
        await wait_answered(stage, "alpha", "beta", "gamma", "delta")
        assert clew.surface.accepted[-1].thread == turns[0]


CHECKS: tuple[Check, ...] = (
    a_message_is_committed_before_it_is_acknowledged,
    no_message_is_lost_if_killed_before_the_commit,
    a_redelivered_message_runs_once,
    messages_sent_while_clew_is_down_are_answered,
    history_is_read_from_the_last_stored_message,
    messages_keep_their_order,
    a_message_has_its_sender_and_conversation,
    a_stranger_is_refused_and_nothing_runs,
    a_quote_goes_to_the_thread_of_the_quoted_message,
    the_answer_is_a_new_message_after_the_placeholder,
    the_answer_replies_to_its_question,
    a_message_that_was_heard_is_marked,
    an_edit_changes_a_queued_message,
    a_deleted_message_is_taken_back_while_it_is_queued,
    a_long_answer_is_split_into_parts,
    each_part_has_complete_code_fences,
    edits_respect_the_minimum_interval,
    the_placeholder_shows_what_is_being_written,
    a_button_of_the_placeholder_stops_its_turn,
    any_text_can_be_sent,
    files_follow_the_answer,
    retry_after_is_respected,
    a_send_in_doubt_shows_at_most_one_plain_answer,
    it_reconnects_after_the_platform_was_unreachable,
    it_stops_quickly,
    a_button_answers_a_gate_and_its_card_is_updated,
    a_card_whose_response_was_lost_is_redrawn_after_a_press,
    a_typed_word_answers_a_gate,
    a_question_is_answered_where_it_was_sent,
    a_long_gate_can_be_accepted_only_if_shown_completely,
    an_incomplete_gate_can_be_declined,
    allow_all_accepts_only_gates_shown_completely,
    a_message_in_an_opened_thread_has_that_conversation,
    an_answer_whose_thread_was_deleted_goes_to_its_chat,
    a_reply_in_a_new_thread_continues_the_quoted_answer,
)
