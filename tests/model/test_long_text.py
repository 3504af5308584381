"""Texts of an agent: the cost of streaming one, and the cut of one that is too long."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import AsyncIterator, Callable
from functools import reduce
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.view.events import EventRenderer
from clew.client import events as client_events
from clew.config.settings import Config, ThreadsConfig, TurnsConfig
from clew.engine.live import Live
from clew.engine.progress import Progress, advance
from clew.model.events import Activity, ActivityKind, Event, Phase, TextDelta, TextDone, TurnEnded, TurnStarted
from clew.model.events.long_text import NOTICE_ROOM, GrowingText, shortened
from clew.model.runtime import Seat, Session, TurnRequest
from clew.model.turns import TurnState
from clew.runtimes.acp.turn import translate as acp
from clew.runtimes.codex import translate as codex
from clew.runtimes.process import LONGEST_LINE, Lines
from clew.support.clock import SystemClock
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from clew.testing.scripted_runtime.session import ScriptedSession
from tests.helpers.rig import Rig

LONGEST = 10_000
PIECE = "abc "
SHORT = Config(threads=ThreadsConfig(runtime="scripted"), turns=TurnsConfig(longest_text=LONGEST))

Take = Callable[[int], object]  # a piece, by its number


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


# The cost of streaming


def codex_text() -> Take:
    translation = codex.Translation("T")
    translation.feed("item/started", raw({"turnId": "T", "item": {"type": "agentMessage", "id": "m"}}))
    delta = raw({"turnId": "T", "itemId": "m", "delta": PIECE})
    return lambda number: translation.feed("item/agentMessage/delta", delta)


def acp_chunk(kind: str) -> Take:
    translation = acp.Translation("T")
    chunk = raw({"sessionUpdate": kind, "content": {"type": "text", "text": PIECE}})
    return lambda number: translation.feed(chunk)


def acp_text() -> Take:
    return acp_chunk("agent_message_chunk")


def acp_thought() -> Take:
    return acp_chunk("agent_thought_chunk")


def engine_text() -> Take:
    live = Live()
    return lambda number: live.text("thread", "turn", "item", number * len(PIECE), PIECE)


def cli_text() -> Take:
    story = EventRenderer()
    data = {"item": "item", "text": PIECE}
    return lambda number: story.take(
        client_events.Event("text", turn="turn", data={**data, "offset": number * len(PIECE)})
    )


def python_text() -> Take:
    texts = client_events.TextProgress()
    data = {"item": "item", "text": PIECE}
    return lambda number: texts.without_repeats(
        client_events.Event("text", turn="turn", data={**data, "offset": number * len(PIECE)})
    )


def allocated(take: Take, count: int) -> int:
    """Bytes allocated while `count` pieces are taken in, including those freed at once: a text that is copied for each
    piece allocates the square of its length. The result is the same on every run and machine."""
    tracemalloc.start()
    try:
        total = 0
        for number in range(count):
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            take(number)
            total += tracemalloc.get_traced_memory()[1] - before
        return total
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("made", [codex_text, acp_text, acp_thought, engine_text, cli_text, python_text])
def test_twice_the_pieces_cost_twice_as_much_not_four_times(made: Callable[[], Take]) -> None:
    few, many = allocated(made(), 10_000), allocated(made(), 20_000)
    assert many < 3 * few, f"{few:,} bytes for 10,000 pieces, {many:,} for 20,000"


def test_cost_of_command_output_does_not_grow_with_the_turn() -> None:
    def cost(count: int) -> int:
        acts = [Activity(f"a{number}", ActivityKind.COMMAND, Phase.STARTED, "make") for number in range(count)]
        progress = reduce(advance, acts, Progress())
        more = Activity("a0", ActivityKind.COMMAND, Phase.UPDATED, "make", PIECE)
        return allocated(lambda number: advance(progress, more), 100)

    few, many = cost(10), cost(1_000)
    assert many <= 2 * few + 10_000, f"{few:,} bytes beside 10 activities, {many:,} beside 1,000"


# Texts that are too long


@given(st.lists(st.text(st.characters(codec=None), max_size=400), max_size=60))
def test_streamed_and_complete_text_are_cut_at_the_same_place(pieces: list[str]) -> None:
    growing, longest = GrowingText(2_000), 2_000
    shown = "".join(map(growing.add, pieces))
    text = "".join(pieces)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert growing.whole() == shortened(text, longest) == shortened(shortened(text, longest), longest)
    assert growing.whole().startswith(shown) and growing.length == len(shown)
    assert len(growing.whole().encode("utf-8", "surrogatepass")) <= longest
    assert growing.is_cut == (size > longest) and (growing.whole() == text or growing.is_cut)
    assert bool(growing.news()) == growing.is_cut and not growing.news()


def test_a_text_one_byte_too_long_is_cut_between_two_characters() -> None:
    text = "线" * (2_001 // 3)
    assert shortened(text, 2_001) == text
    cut = shortened(f"{text}a", 2_001)
    kept = (2_001 - NOTICE_ROOM) // 3
    assert cut == f"{'线' * kept}\n\n[… ✂ {len(text) + 1 - kept:,} …]"


def test_the_notice_has_room_however_much_is_left_out() -> None:
    growing = GrowingText(10_000)
    growing._more = 10**15
    assert len(growing._notice().encode()) <= NOTICE_ROOM


def test_an_endless_line_of_an_agent_is_bounded_in_memory() -> None:
    lines, chunk = Lines(LONGEST_LINE), b"x" * (16 << 20)
    for _ in range(12):
        lines.feed(chunk)
    [line] = lines.feed(b'\n{"whole": true}')
    assert len(line) == LONGEST_LINE and lines.end() == [b'{"whole": true}']


async def test_a_turn_with_a_text_that_is_too_long_ends_well_and_says_what_is_missing(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=SHORT) as rig:
        said = await rig.say(f"!text {'word ' * LONGEST}")
        ended = await rig.ended(said.turn)
        assert ended.state == "completed" and len(ended.text.encode()) <= LONGEST
        assert ended.text.endswith("[… ✂ 40,399 …]")
        await rig.until(lambda entry: entry.kind == "delivery.sent")
        assert "✂ 40,399" in rig.room.texts[0]
        notice = await rig.saw("notice")
        assert notice.data["notice"] == "shortened" and "turns.longest_text" in str(notice.data["text"])


class Boundless(ScriptedRuntime):
    """A plugin runtime that ignores the limit."""

    async def open(self, seat: Seat) -> Session:
        return BoundlessSession(self, f"scripted-{seat.thread}", self._lost, seat)


class BoundlessSession(ScriptedSession):
    async def run(self, request: TurnRequest) -> AsyncIterator[Event]:
        text = "线" * LONGEST
        yield TurnStarted(request.turn)
        for number in range(0, LONGEST, 100):
            yield TextDelta("item", number, text[number : number + 100])
        yield TextDone("item", text)
        yield TurnEnded(TurnState.COMPLETED, text)


async def test_the_engine_bounds_text_that_the_runtime_does_not_bound(tmp_path: Path) -> None:
    runtime = Boundless(SystemClock(), FileLedger(tmp_path / "ledger"))
    async with Rig(tmp_path, config=SHORT, runtime=runtime) as rig:
        said = await rig.say("anything")
        ended = await rig.ended(said.turn)
        assert ended.state == "completed" and len(ended.text.encode()) <= LONGEST
        assert ended.text.endswith("[… ✂ 6,800 …]")


@pytest.mark.parametrize("pieces", [["a\r\nb\r\n"], ["a\r", "\nb\r", "\n"], ["a", "\r", "\n", "b", "\r\n"]])
def test_lines_end_with_a_newline_alone_however_the_text_arrives(pieces: list[str]) -> None:
    growing, shown = GrowingText(), ""
    for piece in pieces:
        assert growing.length == len(shown), "the offset of the next delta"
        shown += growing.add(piece)
    assert growing.whole() == shortened("".join(pieces)) == "a\nb\n"
    assert growing.whole().startswith(shown)


def test_a_return_within_a_line_stays_and_is_shown() -> None:
    growing = GrowingText()
    assert growing.add("50%\r") + growing.add("100%\r") == "50%\r100%"
    assert growing.whole() == "50%\r100%\r" == shortened("50%\r100%\r")
