"""Answers open gates by a rule that was made with the answer to another one. The rules look at files, so this happens
after the transaction that made the rule. A crash in between leaves the gates open: a person answers them."""

from __future__ import annotations

import asyncio
import logging

from clew.engine.core import Core
from clew.engine.gates.lifecycle import answer_gate
from clew.engine.gates.requests.inspection import is_command_in_folder
from clew.model.gates import Answer, Decision, Effect, Gate, GateState, Rule, Verdict
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import gates, rules, threads
from clew.texts import gate_messages

_log = logging.getLogger(__name__)


async def apply_new_rules(core: Core) -> None:
    """For each thread in which a rule was made since the last call. Whoever made the rule is told of that in any case,
    so a failure here is only logged."""
    while core.new_rules:
        thread = core.new_rules.pop()
        try:
            await _apply(core, thread)
        except Exception:
            _log.exception("the new rule was not applied to the open gates of thread %s", thread)


async def _apply(core: Core, name: str) -> None:
    def read(tx: Tx) -> tuple[Thread | None, list[Gate], list[Rule]]:
        thread = threads.get(tx, name)
        return thread, gates.open_in(tx, name), rules.of_scopes(tx, name, thread.workspace) if thread else []

    thread, waiting, known = await core.store.read(read)
    if thread is None or not waiting:
        return
    now = core.clock.now()
    if any(is_command_in_folder(gate.asked) for gate in waiting):
        verdicts = await asyncio.to_thread(_verdicts, thread, waiting, known, now)
    else:
        verdicts = _verdicts(thread, waiting, known, now)
    allowed = [(gate, verdict) for gate, verdict in verdicts if verdict.effect is Effect.ALLOW]
    if allowed:
        await core.store.write(lambda tx: _answer(tx, core, thread, known, allowed))


def _verdicts(thread: Thread, waiting: list[Gate], known: list[Rule], now: int) -> list[tuple[Gate, Verdict]]:
    from clew.engine.rules import decide

    return [
        (gate, decide.decide(gate.asked, thread.policy, thread.workspace, known, now, thread.id)) for gate in waiting
    ]


def _answer(tx: Tx, core: Core, thread: Thread, known: list[Rule], allowed: list[tuple[Gate, Verdict]]) -> None:
    if rules.of_scopes(tx, thread.id, thread.workspace) != known:
        tx.after(lambda: core.new_rules.add(thread.id))  # the rules have changed meanwhile
        return
    for gate, verdict in allowed:
        now = gates.get(tx, gate.id)
        if now is not None and now.state is GateState.OPEN:
            given = Answer(Decision.ACCEPT, judged=not verdict.is_exact)
            answer_gate(tx, core, now, given, gate_messages.by_rule(verdict.why))
