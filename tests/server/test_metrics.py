"""`/metrics`: every value that alerts need, and never the text of a message."""

from __future__ import annotations

import re

from clew.server.metrics import _histogram, render
from clew.support.histogram import Histogram
from tests.server.conftest import Api


async def test_open_work_is_counted(api: Api) -> None:
    held = await api.start("!hold here", title="a secret plan")
    gate = await api.start("!approve deploy")
    await api.runtime.holds.held("here")
    await _until(api, gate["thread"], "gate.opened")
    text = (await api.client.get("/metrics")).text
    figures = dict(re.findall(r"^(clew_\S+) (\S+)$", text, re.MULTILINE))
    assert figures['clew_turns{state="running"}'] == "1" and figures['clew_turns{state="waiting"}'] == "1"
    assert figures["clew_gates_open"] == "1" and float(figures["clew_gate_oldest_seconds"]) >= 0
    assert figures['clew_messages_total{fate="turn"}'] == "2"
    assert int(figures["clew_store_bytes"]) > 0 and "secret" not in text and held["thread"] not in text


def test_latency_buckets_are_cumulative() -> None:
    spread = Histogram()
    for seconds in (0.05, 0.3, 0.3, 7.0, 9_999.0):
        spread.add(seconds)
    lines = render([_histogram("clew_x", "X.", spread)]).splitlines()
    assert 'clew_x_bucket{le="0.1"} 1' in lines and 'clew_x_bucket{le="0.5"} 3' in lines
    assert 'clew_x_bucket{le="30"} 4' in lines and 'clew_x_bucket{le="+Inf"} 5' in lines
    assert lines[-2:] == ["clew_x_sum 10006.65", "clew_x_count 5"]


async def test_metrics_are_in_prometheus_format(api: Api) -> None:
    answer = await api.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in answer.text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) clew_\w+ .+|clew_\w+(\{\w+="[^"]*"\})? -?[0-9.e+-]+', line), line


async def _until(api: Api, thread: str, kind: str) -> None:
    with api.engine.live.subscribe(thread) as subscription:
        while not await api.engine.gates.of_thread(thread):
            await subscription.batch()
