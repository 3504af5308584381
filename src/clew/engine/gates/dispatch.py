"""Sends answers to the runtime that asked. Each is sent at most once, and that is recorded before it is sent. What
becomes of an answer that was lost on the way is decided in `gates.settle_cut`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set
from functools import partial

from clew.engine.core import Core
from clew.engine.gates.lifecycle import answer_of, reopen_gate, unsent_answers, void_gate
from clew.model.gates import Answer, Gate, GateState
from clew.model.runtime import Session
from clew.store.tables import gates
from clew.support import crash
from clew.support.errors import BadInput, RuntimeTrouble
from clew.texts import gate_messages

_log = logging.getLogger(__name__)


async def send_answers(core: Core, turn: str, session: Session, asked: Set[str], wake: asyncio.Event) -> None:
    """Send answers as they arrive, until cancelled. Only requests in `asked` get one: after clew attached again, the
    runtime must repeat a request before it can take an answer."""
    while True:
        await wake.wait()
        wake.clear()
        try:
            for gate in await core.read_with_retry(lambda tx: unsent_answers(tx, turn)):
                if gate.ref in asked:
                    await _send_one(core, session, gate)
        except Exception:  # an answer must not be lost: try again
            _log.exception("cannot send an answer to turn %s now", turn)
            await core.clock.sleep(1.0)
            wake.set()


async def _send_one(core: Core, session: Session, gate: Gate) -> None:
    answer = answer_of(core, gate)
    if answer is None:  # a secret: the row can be read a moment before what follows its commit has run here
        await core.write_with_retry(lambda tx: None)  # commits are followed up in their order
        answer = answer_of(core, gate)
    if answer is None:
        await core.write_with_retry(partial(reopen_gate, core=core, gate=gate, warning=gate_messages.SECRET_LOST))
        return
    crash.point("gate.answered-not-sent")
    now = core.clock.now()
    if await core.write_with_retry(lambda tx: gates.mark_sending(tx, gate, now)):
        crash.point("gate.sending-not-sent")
        await _send(core, session, gate, answer)


async def _send(core: Core, session: Session, gate: Gate, answer: Answer) -> None:
    try:
        was_asked = await session.answer(gate.ref, answer)
    except BadInput as bad:  # nothing was sent
        await core.write_with_retry(partial(reopen_gate, core=core, gate=gate, warning=bad.words))
        return
    except RuntimeTrouble as trouble:
        _log.warning("the answer to %s may not have arrived: %s", gate.code, trouble.message)
        return
    crash.point("gate.sent-not-taken")
    if not was_asked and gate.state is GateState.ANSWERED:  # an expired gate stays expired
        await core.write_with_retry(partial(void_gate, core=core, gate=gate, why=gate_messages.GONE))
