"""What people do besides writing in rooms: start tasks, stop, resume, finish, fork, cancel, answer gates, add and
remove rules. Each action has an id and is retried until clew has answered it, through any number of crashes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from clew.engine.engine import Engine
from clew.engine.places.targets import HandoffRequest
from clew.model.gate_views import AnswerGate, GateView, NewRuleView
from clew.model.gates import Decision, Effect
from clew.model.threads import ThreadFilter, ThreadKind, ThreadSettings
from clew.model.views import NewThread
from clew.support.errors import BadInput, NotFound, Refused, StoreError
from tests.simulation.fake_platform import POCKET

KINDS = (
    *("task",) * 4,
    *("answer",) * 5,
    *("stop", "stop", "resume", "done", "fork", "cancel", "yes all", "rule", "unrule", "unqueue"),
    *("handoff",) * 4,
    *("take back", "wheel", "away", "back", "notify"),
)


@dataclass(slots=True)
class Act:
    at: float
    id: str
    kind: str
    pick: float  # index of a thread
    done: bool = False

    @property
    def words(self) -> str:
        """Return its message to the agent."""
        return {"task": f"errand {self.id}", "ask": f"errand {self.id}", "resume": "and now this"}.get(self.kind, "")


def plan(chance: random.Random, count: int, start: float, known: int) -> list[Act]:
    """Return the actions from `start` on, in addition to the `known` earlier ones."""
    return [
        Act(start + chance.random() * 40, f"act{number}", chance.choice(KINDS), chance.random())
        for number in range(known, known + count)
    ]


def switches(chance: random.Random, start: float, known: int) -> list[Act]:
    """Switches between two agents, and questions to the other one."""
    return [
        Act(start + chance.random() * 40, f"act{number}", chance.choice(("switch", "switch", "ask")), chance.random())
        for number in range(known, known + chance.randrange(5))
    ]


async def live(engine: Engine, acts: list[Act], tell: Callable[[str], None]) -> None:
    async with asyncio.TaskGroup() as group:
        for act in acts:
            if not act.done:
                group.create_task(_do(engine, act, tell))


async def _do(engine: Engine, act: Act, tell: Callable[[str], None]) -> None:
    await asyncio.sleep(max(0.0, act.at - asyncio.get_running_loop().time()))
    while not act.done:
        try:
            answer = await _act(engine, act)
        except StoreError:
            await asyncio.sleep(1.0)
            continue
        except (Refused, NotFound, BadInput) as refused:
            answer = f"refused: {refused.message}"
        tell(f"{act.id} {act.kind}: {answer}")
        act.done = True


async def _act(engine: Engine, act: Act) -> str:
    if act.kind == "task":
        where = f"simulated:room-{int(act.pick * 4)}"
        started = await engine.threads.start(NewThread(act.id, act.words, kind=ThreadKind.TASK, notify=where))
        return f"thread {started.thread}"
    if act.kind in ("answer", "rule", "unrule"):
        return await _at_gates(engine, act)
    if act.kind in ("away", "back"):
        return str(await engine.away.set(POCKET if act.kind == "away" else None))
    if act.kind == "notify":
        return f"{len(await engine.deliveries.notify(retry_failed=act.pick < 0.5))} tried"
    if act.kind == "take back":
        return await _take_back(engine)
    thread = await _some_thread(engine, act)
    if thread is None:
        return "nothing to do it to"
    match act.kind:
        case "switch":
            await engine.threads.change(thread, None, ThreadSettings(runtime=await _other(engine, thread)), "somebody")
        case "ask":
            await engine.threads.ask(thread, await _other(engine, thread), act.words, act.id, "somebody")
        case "stop":
            await engine.threads.stop(thread)
        case "resume":
            await engine.threads.resume(thread, act.words, act.id, "somebody")
        case "done":
            await engine.threads.done(thread)
        case "fork":
            await engine.threads.fork(thread, None, act.id)
        case "cancel":
            await engine.threads.cancel(thread)
        case "handoff":
            return (await engine.handoffs.request(_wish(act, thread))).id
        case "unqueue":
            return await _unqueue(engine, thread)
        case "wheel":
            await engine.threads.drive_locally(thread)
        case "yes all":
            await engine.gates.accept_all(thread, act.id)
    return thread


async def _other(engine: Engine, thread: str) -> str:
    """The agent that does not work on the thread now."""
    return "claude" if (await engine.threads.get(thread)).runtime == "codex" else "codex"


def _wish(act: Act, thread: str) -> HandoffRequest:
    """Hand off to the other surface and back, with or without a message."""
    target = POCKET if act.pick < 0.7 else f"simulated:room-{int(act.pick * 40) % 4}"
    return HandoffRequest(thread, target, act.id, say="and go on" if act.pick < 0.1 else "", quiet=act.pick > 0.4)


async def _take_back(engine: Engine) -> str:
    under_way = [row.id for row in await engine.handoffs.all(20) if row.ended_at is None]
    return (await engine.handoffs.take_back(under_way[0], "somebody")).id if under_way else "nothing is under way"


async def _unqueue(engine: Engine, thread: str) -> str:
    queued = await engine.threads.queue(thread)
    return (await engine.threads.unqueue(queued[-1].turn)).id if queued else "nothing is queued"


async def _at_gates(engine: Engine, act: Act) -> str:
    """Answer gates over the API, as a terminal does."""
    if act.kind == "rule":
        effect = Effect.ALLOW if act.pick < 0.7 else Effect.DENY
        pattern = "deploy *" if act.pick < 0.35 else "publish *"
        return (await engine.gates.add_rule(NewRuleView(effect, pattern, sender=act.id))).id
    if act.kind == "unrule":
        known = await engine.gates.rules()
        return (await engine.gates.remove_rule(known[0].id)).id if known else "nothing to remove"
    waiting = await engine.gates.all()
    gate = waiting[int(act.pick * len(waiting))] if waiting else None
    return (await engine.gates.answer(gate.code, _answer(gate, act))).code if gate else "nothing to answer"


def _answer(gate: GateView, act: Act) -> AnswerGate:
    if act.pick < 0.1:
        return AnswerGate(Decision.CANCEL, sender=act.id)
    if gate.questions:
        return AnswerGate(Decision.REPLY, replies=tuple(("1",) for _ in gate.questions), sender=act.id)
    extent = "thread" if act.pick > 0.8 else "once"
    return AnswerGate(Decision.ACCEPT if act.pick > 0.3 else Decision.DECLINE, extent, sender=act.id)


async def _some_thread(engine: Engine, act: Act) -> str | None:
    finished = act.kind == "resume"
    views = (await engine.threads.page(ThreadFilter(history=finished, limit=20))).threads
    return views[int(act.pick * len(views))].id if views else None
