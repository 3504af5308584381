"""What a switch to another agent adds before the first byte: the same turn on an agent that knows its thread, and on
one that is told 200 messages, alternately; without a model, so that nothing else is measured."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.report import Line
from clew.config.settings import Config, ThreadsConfig, TurnsConfig
from clew.model.threads import ThreadSettings
from clew.support.clock import SystemClock
from clew.testing.scripted_runtime import MemoryLedger, ScriptedRuntime
from tests.helpers.rig import Rig

TURNS = 100  # two messages each
ROUNDS = 15
MOST = 30.0  # milliseconds


async def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        plain, switched = await _measure(Path(folder))
    added = (statistics.median(switched) - statistics.median(plain)) * 1000
    return [
        Line("a turn until it starts", statistics.median(plain) * 1000, "ms"),
        Line("a switch adds, with a prelude of 200 messages", added, "ms", at_most=MOST),
    ]


async def _measure(folder: Path) -> tuple[list[float], list[float]]:
    clock = SystemClock()
    others = {f"agent{number}": ScriptedRuntime(clock, MemoryLedger()) for number in range(ROUNDS)}
    config = Config(threads=ThreadsConfig(runtime="scripted"), turns=TurnsConfig(prelude=1_000_000))
    plain: list[float] = []
    switched: list[float] = []
    async with Rig(folder, config=config, more=others) as rig:
        said = await rig.say("!text begin")
        thread = said.thread or ""
        for number in range(TURNS):
            await _first_byte(rig, f"!text {'some words of an answer ' * 8} {number}")
        for name in others:
            plain.append(await _first_byte(rig, "!text hello"))
            await rig.engine.threads.change(thread, None, ThreadSettings(runtime=name))
            switched.append(await _first_byte(rig, "!text hello"))
            await rig.engine.threads.change(thread, None, ThreadSettings(runtime="scripted"))
            await _first_byte(rig, "!text hello")  # it learns of that turn
    return plain, switched


async def _first_byte(rig: Rig, text: str) -> float:
    began = time.perf_counter()
    turn = (await rig.say(text)).turn
    await rig.started(turn)
    taken = time.perf_counter() - began
    await rig.ended(turn)
    await asyncio.sleep(0)
    return taken
