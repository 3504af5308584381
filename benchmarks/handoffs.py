"""(k) A handoff, from the request until the thread is bound and its first message is shown on a phone: the real daemon,
clew's Telegram surface, and the phone of the demo, all on loopback. For comparison: polling every two seconds."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.report import Line
from clew.cli.demo.phone import OWNER
from clew.cli.demo.stage import Helper
from clew.client.requests import new_message_id
from clew.process.start import ensure_daemon
from clew.process.stop import stop_daemon
from clew.support.home import Home
from tests.helpers.json_client import JsonClient as Client

HANDED, POLLED, EVERY = 50, 10, 2.0
BAR = 150.0  # milliseconds, median


def measure() -> list[Line]:
    phone = Helper("clew.cli.demo.phone")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder).resolve() / "clew")
        home.prepare()
        home.config.write_text(
            f'[threads]\nruntime = "scripted"\n[surfaces.telegram]\ntoken = "1:bench-{phone.pid}"\n'
            f'base_url = "{phone.url}"\nallow = ["{OWNER["id"]}"]\nhome = "{OWNER["id"]}"\n'
        )
        ensure_daemon(home, lambda line: None)
        try:
            client = Client(home)
            _hand(client, _thread(client))  # the first handoff opens connections
            woken = [_hand(client, _thread(client)) for _ in range(HANDED)]
            polled = [_noticed(client, _thread(client)) for _ in range(POLLED)]
        finally:
            stop_daemon(home, 5.0, lambda line: None)
            phone.end()
    return [
        Line("a handoff, request to bound and shown, median", statistics.median(woken), "ms", at_most=BAR),
        Line("the same, slowest of fifty", max(woken), "ms"),
        Line("the same, seen by a look every 2 s, median", statistics.median(polled), "ms"),
    ]


def _thread(client: Client) -> str:
    accepted = client.post("threads", body={"message_id": new_message_id(), "text": "!text hello"})
    for event in client.raw_events(accepted["thread"], 0):
        if event.kind == "turn.ended":
            break
    return str(accepted["thread"])


def _hand(client: Client, thread: str) -> float:
    began = time.perf_counter()
    asked = client.post("handoffs", body={"thread": thread, "target": "telegram", "quiet": True})
    done = client.get("handoffs", asked["id"], wait=60)
    assert done["state"] == "completed", done
    return (time.perf_counter() - began) * 1000


def _noticed(client: Client, thread: str) -> float:
    """Return when a poll every two seconds notices it."""
    began = time.perf_counter()
    asked = client.post("handoffs", body={"thread": thread, "target": "telegram", "quiet": True})
    while True:
        time.sleep(EVERY - time.time() % EVERY)
        if client.get("handoffs", asked["id"])["ended_at"] is not None:
            return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    for line in measure():
        print(line)
