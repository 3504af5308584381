"""A clew in which people have worked for a day, to look at: written into its store as the engine leaves it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from clew.model import history
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.history import Deed
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import Thread, ThreadKind, ThreadStatus
from clew.model.turns import Origin, Problem, Turn, TurnState, Usage
from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.tables import bindings, deliveries, nodes, threads, turns
from clew.support.clock import SystemClock
from clew.support.home import Home

HOUR = 3_600_000
PHONE = Conversation("telegram", "4711")
DIFF = """--- a/app/retry.py
+++ b/app/retry.py
@@ -12,7 +12,9 @@ def fetch(url: str) -> Response:
     for attempt in range(TRIES):
         try:
             return client.get(url, timeout=TIMEOUT)
-        except Timeout:
-            continue
+        except Timeout as error:
+            log.warning("attempt %d timed out: %s", attempt, error)
+            sleep(backoff(attempt))
     raise Unreachable(url)
"""
ANSWER = """\
The test failed because `fetch` tried again **at once**: three tries were over in 40 ms, and the server needs a second.

| | before | now |
| --- | --: | --: |
| tries | 3 | 3 |
| longest wait | 0 s | 4 s |
| flaky runs in 200 | 31 | 0 |

It now waits 1, 2 and 4 s, and says so in the log. All 214 tests pass."""


@dataclass(frozen=True, slots=True)
class Talk:
    title: str
    said: str
    answer: str
    hours: float  # ago
    deeds: tuple[Deed, ...] = ()
    kind: ThreadKind = ThreadKind.CHAT
    minutes: float = 5
    problem: str | None = None
    on_phone: bool = False


DEEDS = (
    Deed("plan", "plan", "[x] find out why it fails\n[x] wait between the tries\n[x] run the tests 200 times"),
    Deed("command", "pytest -q tests/test_retry.py --count 200", "31 failed, 169 passed in 48 s\n", "failed", 1),
    Deed("change", "app/retry.py", DIFF, "completed"),
    Deed("command", "pytest -q", "214 passed in 61.03s\n", "completed", 0),
)
ASKED = "test_retry fails about once in six runs on CI. Find out why and fix it."
SLOW = Talk("为什么导出很慢？", "导出 10 万行要一分钟。", "每一行都单独提交。改成批量后只要 3 秒。", 6, on_phone=True)
NIGHTLY = Talk(
    "Check dependencies", "Look for advisories.", "", 3, kind=ThreadKind.TASK, problem="the registry is away"
)
TALKS = (
    Talk("Upgrade to Python 3.13", "Try our suite on 3.13.", "Two tests fail: both read a removed module.", 20),
    Talk("Release notes for 2.4", "Draft the notes from the log.", "The draft is in NOTES.md, 14 entries.", 9),
    SLOW,
    NIGHTLY,
    Talk("The flaky retry test", ASKED, ANSWER, 0.2, DEEDS, on_phone=True),
)
CHINESE_ANSWER = """\
测试失败是因为 `fetch` **立刻**就重试：三次尝试在 40 毫秒内用完，而服务器需要一秒。

| | 之前 | 现在 |
| --- | --: | --: |
| 尝试次数 | 3 | 3 |
| 最长等待 | 0 秒 | 4 秒 |
| 200 次中的失败 | 31 | 0 |

现在依次等待 1、2、4 秒，并写入日志。214 个测试全部通过。"""
CHINESE_TALKS = (
    Talk("升级到 Python 3.13", "用 3.13 跑一遍我们的测试。", "两个测试失败：都读取了一个已移除的模块。", 20),
    Talk("2.4 的发布说明", "根据日志起草发布说明。", "草稿在 NOTES.md，共 14 条。", 9),
    SLOW,
    Talk("检查依赖", "查找安全公告。", "", 3, kind=ThreadKind.TASK, problem="软件源连不上"),
    Talk(
        "偶尔失败的重试测试",
        "test_retry 在 CI 上大约每六次失败一次。找出原因并修好。",
        CHINESE_ANSWER,
        0.2,
        (Deed("plan", "plan", "[x] 找出失败的原因\n[x] 在两次尝试之间等待\n[x] 把测试跑 200 遍"), *DEEDS[1:]),
        on_phone=True,
    ),
)


def set_up(home: Home, talks: Sequence[Talk] = TALKS) -> str:
    """The thread that is worth a look."""
    return asyncio.run(_set_up(home, talks))


async def _set_up(home: Home, talks: Sequence[Talk]) -> str:
    home.prepare()
    clock = SystemClock()
    store = open_store(home.database, clock)
    try:
        await store.write(lambda tx: _a_day(tx, clock))
        names = [await store.write(lambda tx, talk=talk: _talked(tx, clock, talk)) for talk in talks]  # type: ignore[misc]
        return str(names[-1])
    finally:
        await asyncio.to_thread(store.close)


def _talked(tx: Tx, clock: SystemClock, talk: Talk) -> str:
    ended = clock.now() - int(talk.hours * HOUR)
    begun, name = ended - int(talk.minutes * 60_000), clock.ulid()
    status = ThreadStatus.IDLE if talk.kind is ThreadKind.CHAT else ThreadStatus.COMPLETED
    workspace = "/home/ann/app"
    thread = Thread(name, talk.kind, status, talk.title, "codex", workspace, begun, completed_at=None)
    threads.insert(tx, thread)
    head = nodes.append(tx, name, None, history.Started(name, begun, talk.kind, "codex", workspace))
    said, turn = PromptMessage(f"said-{name}", "ann", talk.said), clock.ulid()
    head = nodes.append(tx, name, head, history.Spoken(turn, begun, said.id, "ann", talk.said))
    problem = Problem("network", talk.problem) if talk.problem else None
    state, usage = (TurnState.FAILED if problem else TurnState.COMPLETED), Usage(18_400, 12_000, 2_310, 900, 20_710)
    outcome = history.Outcome(turn, ended, state, "codex", talk.answer, talk.deeds, problem, usage)
    nodes.append(tx, name, head, outcome)
    where = PHONE if talk.on_phone else None
    seq = threads.next_seq(tx, name)
    row = Turn(turn, name, seq, state, Origin.MESSAGE, (said,), where, begun, "codex")
    turns.insert_ended(tx, replace(row, started_at=begun + 400, ended_at=ended))
    threads.set_last_turn(tx, name, turn)
    _delivered(tx, name, turn, talk, ended, where)
    return name


def _delivered(tx: Tx, name: str, turn: str, talk: Talk, at: int, where: Conversation | None) -> None:
    state = DeliveryState.PENDING if where else DeliveryState.NO_TARGET
    body = talk.answer or talk.problem or ""
    deliveries.enqueue(
        tx, Delivery(f"{turn}:final", DeliveryKind.FINAL, name, turn, where, body, state, at, due_at=at, part=1)
    )
    if where is None:
        return
    bindings.bind(tx, Conversation("telegram", f"{where.address}-{name[-4:]}"), name, at)
    leaving = deliveries.claim_pending(tx, f"{turn}:final", "scene", at)
    assert leaving is not None
    deliveries.record_sent(tx, leaving, "8812", at + 180, where)


def _a_day(tx: Tx, clock: SystemClock) -> None:
    """Turns of a thread that is done with, so that the plots have something to show."""
    chance, now, name = random.Random(7), clock.now(), clock.ulid()
    done = Thread(name, ThreadKind.CHAT, ThreadStatus.COMPLETED, "Yesterday", "codex", "/", now, completed_at=now)
    threads.insert(tx, done)
    for half_hours in range(46, 0, -1):
        for _ in range(chance.randint(3, 14)):
            ended = now - int((half_hours - chance.random()) * HOUR / 2)
            asked = ended - int(chance.lognormvariate(10.3, 0.8))
            state = TurnState.FAILED if chance.random() < 0.04 else TurnState.COMPLETED
            seq = threads.next_seq(tx, name)
            turn = Turn(clock.ulid(), name, seq, state, Origin.MESSAGE, (), None, asked, "codex")
            turns.insert_ended(tx, replace(turn, started_at=asked, ended_at=ended))
