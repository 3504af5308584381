"""What every surface must do, tried with the real engine. See docs/how-to/surfaces/writing-one.md.

The author of a surface brings a `Stage`: the platform, or a fake of it, as a person sees it, and the means to disturb
it. Each of `CHECKS` takes a fresh stage and an empty folder, and raises AssertionError where the surface does not keep
its word. What a surface says that it cannot do (`SurfaceCan`) is not asked of it.

    @pytest.mark.parametrize("check", surface_kit.CHECKS, ids=surface_kit.named)
    async def test_it_keeps_its_word(check, tmp_path):
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
    a_gate_is_answered_by_a_button_and_redrawn,
    a_gate_is_answered_by_a_word,
    a_gate_that_is_not_shown_whole_can_be_declined,
    a_long_gate_is_allowed_only_if_all_of_it_is_shown,
    allow_all_means_only_what_is_shown_whole,
)
from clew.testing.surface_stage import PICTURE, Daemon, Stage, answered, taken, with_text, working
from clew.texts import messages

STOP = 2.0  # seconds in which a surface has to end
SLACK = 5  # times that, where the machine is busy
BUSY = 1.0  # seconds for which the platform takes nothing

Check = Callable[[Stage, Path], Awaitable[None]]


def named(check: Check) -> str:
    return check.__name__.replace("_", " ")


async def commits_before_it_acknowledges(stage: Stage, folder: Path) -> None:
    hold = asyncio.Event()
    async with Daemon(stage, folder, hold=hold) as clew:
        if clew.surface.can.backlog is not Backlog.PLATFORM:
            return
        message = await stage.say("!text alpha")
        await clew.surface.until(lambda: clew.surface.came)
        assert not await stage.is_acknowledged(message), "it acknowledged what was not committed"
        hold.set()
        await stage.acknowledged(message)
        await answered(stage, "alpha")


async def killed_before_the_commit_it_loses_nothing(stage: Stage, folder: Path) -> None:
    """Not even the first message of a conversation, where the platform keeps it."""
    can = stage.surface(SystemClock(), folder / "files").can
    if can.backlog is Backlog.NONE:
        return
    before = ["omega"] if can.backlog is Backlog.HISTORY else []
    for text in before:
        async with Daemon(stage, folder) as clew:
            await taken(stage, clew, await stage.say(f"!text {text}"))
            await answered(stage, text)
    async with Daemon(stage, folder, hold=asyncio.Event()) as clew:
        await stage.say("!text alpha")
        await clew.surface.until(lambda: clew.surface.came)
    async with Daemon(stage, folder):
        await answered(stage, *before, "alpha")


async def a_repeat_after_a_restart_runs_once(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        message = await stage.say("!text alpha")
        await taken(stage, clew, message)
        await answered(stage, "alpha")
    async with Daemon(stage, folder) as clew:
        await stage.repeat(message)
        await clew.surface.until(lambda: clew.surface.accepted)
        assert clew.surface.accepted[0].repeated, "the same message came under another name"
        await stage.say("!text beta")
        await answered(stage, "alpha", "beta")


async def what_was_said_while_clew_was_down_is_answered(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        await taken(stage, clew, await stage.say("!text alpha"))
        await answered(stage, "alpha")
    if can.backlog is Backlog.NONE:
        return
    await stage.say("!text beta")
    await stage.say("!text gamma")
    async with Daemon(stage, folder):
        await answered(stage, "alpha", "beta", "gamma")


async def every_conversation_is_read_on_from_where_it_was(stage: Stage, folder: Path) -> None:
    """What is said while that is done comes after it: a kill in between must not leave a gap that nobody sees."""
    async with Daemon(stage, folder) as clew:
        if clew.surface.can.backlog is not Backlog.HISTORY:
            return
        await taken(stage, clew, await stage.say("!text alpha"))
        await taken(stage, clew, await stage.say("hello", stranger=True))
        await answered(stage, "alpha")
    missed = [await stage.say("!text beta"), await stage.say("!text gamma")]
    strange = await stage.say("hello?", stranger=True)
    hold = asyncio.Event()
    async with Daemon(stage, folder, hold=hold) as clew:
        await clew.surface.until(lambda: clew.surface.came)
        missed.append(await stage.say("!text delta"))
        hold.set()
        await clew.surface.until(lambda: strange in clew.surface.taken and missed[-1] in clew.surface.taken)
        assert [id for id in clew.surface.taken if id in missed] == missed, "what was missed did not come first"
        await answered(stage, "alpha", "beta", "gamma", "delta")


async def messages_keep_their_order(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        said = [await stage.say(f"!text alpha{number}") for number in range(5)]
        await clew.surface.until(lambda: len(clew.surface.accepted) == 5)
        assert [inbound.message_id for inbound in clew.surface.came] == said
        assert len({inbound.conversation for inbound in clew.surface.came}) == 1
        await answered(stage, *(f"alpha{number}" for number in range(5)))


async def it_says_who_speaks(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        await stage.say("!text alpha")
        await answered(stage, "alpha")
        [inbound] = clew.surface.came
        assert inbound.sender_id == stage.person and inbound.sender and inbound.direct and not inbound.pressed
        assert clew.surface.resolve(inbound.conversation.address) == inbound.conversation


async def strangers_are_refused_and_nothing_runs(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat:
            return
        await taken(stage, clew, await stage.say("!text alpha", stranger=True))
        await stage.say("!text beta")
        shown = await answered(stage, "beta")
        assert [accepted.fate for accepted in clew.surface.accepted] == [Fate.REFUSED, Fate.TURN]
        assert not with_text(shown, "alpha")


async def a_quote_goes_to_the_thread_that_it_quotes(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat:
            return
        await stage.say("!text alpha")
        [first] = with_text(await answered(stage, "alpha"), "alpha")
        await stage.say("/new")
        await stage.say("!text beta")
        await answered(stage, "alpha", "beta")
        await stage.say("!text gamma", quote=first.id)
        await answered(stage, "alpha", "beta", "gamma")
        turns = [accepted.thread for accepted in clew.surface.accepted if accepted.fate is Fate.TURN]
        assert turns[0] == turns[2] != turns[1]


async def a_placeholder_then_the_answer_as_a_message_of_its_own(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        before = await working(stage, clew)
        clew.agent.holds.release("here")
        [answer] = with_text(await answered(stage, "alpha"), "alpha")
        if clew.surface.can.edit:
            assert answer.id not in [message.id for message in before]
            await stage.seen(lambda shown: not with_text(shown, messages.WORKING))


async def long_answers_come_in_parts(stage: Stage, folder: Path) -> None:
    """Joined, they are the answer."""
    async with Daemon(stage, folder) as clew:
        limit = clew.surface.can.max_length
        answer = " ".join(f"w{number}" for number in range(40 + (limit or 0) // 4))
        await stage.say(f"!text {answer}")
        await stage.seen(lambda shown: answer in " ".join(" ".join(message.text.split()) for message in shown))
        shown = await stage.seen(lambda shown: shown)
        parts = [message for message in shown if set(message.text.split()) & set(answer.split())]
        assert limit is None or len(parts) > 1


async def code_that_is_cut_is_whole_in_each_part(stage: Stage, folder: Path) -> None:
    """A fence is closed where a part ends and opened again in the next; no line is missing, and all are in order."""
    async with Daemon(stage, folder) as clew:
        lines = [f"line_{number}" for number in range(40 + (clew.surface.can.max_length or 0) // 8)]
        answer = "\n".join(["```python", *lines, "```", "", "omega"])
        clew.agent.play = lambda request: (script.Say(answer),)
        await stage.say("alpha")
        shown = await stage.seen(lambda shown: with_text(shown, "omega"))
        assert re.findall(r"line_\d+", "\n".join(message.text for message in shown)) == lines
        parts = [outgoing.text for outgoing in clew.surface.given if outgoing.kind is DeliveryKind.FINAL]
        assert len(parts) > 1 or clew.surface.can.max_length is None
        assert all(part.count("```") % 2 == 0 for part in parts)


async def what_the_agent_does_is_shown_no_faster_than_the_platform_bears(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.edit:
            return
        await stage.say("!hold one\n!shell a\n!hold two\n!shell b\n!hold three\n!text alpha")
        for seen, name in enumerate(("one", "two", "three")):
            await clew.held(name)
            await clew.surface.until(lambda seen=seen: len(clew.surface.edits) >= seen)  # type: ignore[misc]
            clew.agent.holds.release(name)
        await answered(stage, "alpha")
        times = [at for _, at in clew.surface.edits]
        assert all(later - at > 0.9 * clew.surface.can.edit_every for at, later in pairwise(times))


async def any_text_arrives(stage: Stage, folder: Path) -> None:
    surface = stage.surface(SystemClock(), folder / "files")
    can = surface.can
    longest = {Units.CHARACTERS: can.max_length or 5000, Units.UTF16: (can.max_length or 5000) // 2}
    knots = "🧶" * longest.get(can.units, (can.max_length or 5000) // 4)
    texts = ["", " \n", knots, "*`_[](", "a\0b\ud800", "\u202e\u200bדף 你好", "<b>&amp;", "/start @all"]
    async with Daemon(stage, folder) as clew:
        await stage.say("!text alpha")
        before = len(await answered(stage, "alpha"))
        where = clew.surface.came[0].conversation
        for number, text in enumerate(texts):
            await surface.send(Outgoing(f"odd-{number}", DeliveryKind.NOTICE, where, "", None, text))
        await stage.seen(lambda shown: len(shown) == before + len(texts))
    await surface.close()


async def what_the_agent_made_comes_behind_its_answer(stage: Stage, folder: Path) -> None:
    """A picture as one, anything else as a file."""
    (folder / "knot.png").write_bytes(PICTURE)
    (folder / "notes.txt").write_text("never lose the thread")
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.files:
            return
        await stage.say("!text alpha ![a knot](knot.png) and [notes](notes.txt)")
        shown = await stage.seen(lambda shown: sum(bool(message.attached) for message in shown) == 2)
        assert [message.attached for message in shown if message.attached] == ["image", "file"]
        [answer] = with_text(shown, "alpha")
        assert all(place > shown.index(answer) for place, message in enumerate(shown) if message.attached)


async def a_platform_that_is_busy_is_given_its_time(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        await working(stage, clew)
        await stage.busy(BUSY)
        began = asyncio.get_running_loop().time()
        clew.agent.holds.release("here")
        await answered(stage, "alpha")
        assert asyncio.get_running_loop().time() - began >= BUSY


async def a_send_in_doubt_is_settled(stage: Stage, folder: Path) -> None:
    """However it is settled, at most one message looks like a plain answer."""
    async with Daemon(stage, folder) as clew:
        can = clew.surface.can
        await working(stage, clew)
        await stage.lose_answer()
        clew.agent.holds.release("here")
        await stage.seen(lambda shown: with_text(shown, "alpha"))
        mark = messages.RECOVERED if can.edit else messages.POSSIBLE_REPEAT
        once = can.idempotency_window > 0 or can.read_back
        if not once:
            await stage.seen(lambda shown: with_text(shown, mark))
        await stage.say("!text beta")
        copies = with_text(await stage.seen(lambda shown: with_text(shown, "beta")), "alpha")
        plain = [copy for copy in copies if mark not in copy.text]
        assert len(plain) == 1 and len(copies) == (1 if once else 2), f"{len(copies)} copies, {len(plain)} plain"


async def after_a_cut_it_comes_back(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        await working(stage, clew)
        await stage.cut()
        clew.agent.holds.release("here")
        if clew.surface.can.backlog is not Backlog.NONE:
            await stage.say("!text beta")
        await stage.mend()
        await answered(stage, "alpha")
        if clew.surface.can.backlog is not Backlog.NONE:
            await answered(stage, "alpha", "beta")


async def it_stops_at_once(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        await taken(stage, clew, await stage.say("!text alpha"))
        await answered(stage, "alpha")
        began = asyncio.get_running_loop().time()
    took = asyncio.get_running_loop().time() - began
    assert took < STOP * SLACK, f"it took {took:.1f} s to end"


async def what_is_said_in_a_thread_that_it_opened_comes_from_there(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.threads:
            return
        await stage.say("!text alpha")
        await answered(stage, "alpha")
        parent = clew.surface.came[0].conversation
        opened = await clew.surface.open_thread(parent, "what is to be done")
        assert opened is not None and opened != parent and clew.surface.resolve(opened.address) == opened
        await stage.say("!text beta", where=opened)
        await answered(stage, "alpha", "beta")
        assert clew.surface.came[-1].conversation == opened and clew.surface.came[-1].in_thread


async def a_reply_in_a_fresh_thread_goes_on_with_the_answer_it_is_under(stage: Stage, folder: Path) -> None:
    async with Daemon(stage, folder) as clew:
        if not clew.surface.can.chat or not clew.surface.can.threads:
            return
        await stage.say("!text alpha")
        [first] = with_text(await answered(stage, "alpha"), "alpha")
        await stage.say("/new")
        await stage.say("!text beta")
        await answered(stage, "alpha", "beta")
        await stage.say("!text gamma", quote=first.id, fresh=True)
        await answered(stage, "alpha", "beta", "gamma")
        here, there = clew.surface.came[0].conversation, clew.surface.came[-1].conversation
        assert there != here and clew.surface.came[-1].in_thread
        turns = [accepted.thread for accepted in clew.surface.accepted if accepted.fate is Fate.TURN]
        assert turns[0] == turns[2] != turns[1], "it does not say where the quoted message stands"
        await stage.say("!text delta", where=there)
        await answered(stage, "alpha", "beta", "gamma", "delta")
        assert clew.surface.accepted[-1].thread == turns[0]


CHECKS: tuple[Check, ...] = (
    commits_before_it_acknowledges,
    killed_before_the_commit_it_loses_nothing,
    a_repeat_after_a_restart_runs_once,
    what_was_said_while_clew_was_down_is_answered,
    every_conversation_is_read_on_from_where_it_was,
    messages_keep_their_order,
    it_says_who_speaks,
    strangers_are_refused_and_nothing_runs,
    a_quote_goes_to_the_thread_that_it_quotes,
    a_placeholder_then_the_answer_as_a_message_of_its_own,
    long_answers_come_in_parts,
    code_that_is_cut_is_whole_in_each_part,
    what_the_agent_does_is_shown_no_faster_than_the_platform_bears,
    any_text_arrives,
    what_the_agent_made_comes_behind_its_answer,
    a_platform_that_is_busy_is_given_its_time,
    a_send_in_doubt_is_settled,
    after_a_cut_it_comes_back,
    it_stops_at_once,
    a_gate_is_answered_by_a_button_and_redrawn,
    a_gate_is_answered_by_a_word,
    a_long_gate_is_allowed_only_if_all_of_it_is_shown,
    a_gate_that_is_not_shown_whole_can_be_declined,
    allow_all_means_only_what_is_shown_whole,
    what_is_said_in_a_thread_that_it_opened_comes_from_there,
    a_reply_in_a_fresh_thread_goes_on_with_the_answer_it_is_under,
)
