"""The cost of one piece of a streamed text when the text is long, compared with short. (j) Pieces of four characters,
as from an ACP agent and from Codex, and as the engine keeps them for watchers.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

import msgspec

from benchmarks.report import Line
from clew.engine.live import Live
from clew.runtimes.acp.turn import translate as acp
from clew.runtimes.codex import translate as codex

PIECE = "abc "
SHORT, LONG = 62_500, 500_000  # pieces: 250 KB and 2 MB
Take = Callable[[int], object]


def _acp() -> Take:
    translation = acp.Translation("T")
    chunk = _raw(sessionUpdate="agent_message_chunk", content={"type": "text", "text": PIECE})
    return lambda number: translation.feed(chunk)


def _codex() -> Take:
    translation = codex.Translation("T")
    translation.feed("item/started", _raw(turnId="T", item={"type": "agentMessage", "id": "m"}))
    delta = _raw(turnId="T", itemId="m", delta=PIECE)
    return lambda number: translation.feed("item/agentMessage/delta", delta)


def _engine() -> Take:
    live = Live()
    return lambda number: live.text("thread", "turn", "item", number * len(PIECE), PIECE)


def _raw(**value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def _each(made: Callable[[], Take], count: int) -> float:
    """Return the seconds for one piece."""
    take = made()
    began = time.perf_counter()
    for number in range(count):
        take(number)
    return (time.perf_counter() - began) / count


def _line(name: str, made: Callable[[], Take], rounds: int) -> Line:
    short, long = [], []
    for _ in range(rounds):
        short.append(_each(made, SHORT))
        long.append(_each(made, LONG))
    mine = statistics.median(long)
    what = f"a piece of a 2 MB text, {name}, to one of a 250 KB text"
    return Line(what, mine * 1e6, "µs", mine / statistics.median(short), at_most=1.5)


def measure(rounds: int = 3) -> list[Line]:
    ways = (("by ACP", _acp), ("by Codex", _codex), ("in the engine", _engine))
    return [_line(name, made, rounds) for name, made in ways]


if __name__ == "__main__":
    for line in measure():
        print(line, file=sys.stdout)
