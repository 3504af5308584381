"""Giving people's answers to the runtime that asked: each leaves at most once, and that it leaves is written down
before it does. It never decides what an answer that was lost on the way means: that is `gates.settle_cut`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set
from functools import partial

from clew.engine.core import Core
from clew.engine.gates.gates import answer_of, ask_once_more, unsent, void
from clew.model.gates import Answer, Gate, GateState
from clew.model.runtime import Session
from clew.store.tables import gates
from clew.support import crash
from clew.support.errors import BadInput, RuntimeTrouble
from clew.texts import gate_messages

_log = logging.getLogger(__name__)


async def send_answers(core: Core, turn: str, session: Session, asked: Set[str], nudged: asyncio.Event) -> None:
    """As they come, until cancelled; only to what the runtime has `asked` since we follow it: after a restart of ours
    it has to ask once more before it can hear an answer."""
    while True:
        await nudged.wait()
        nudged.clear()
        try:
            for gate in await core.read_with_retry(lambda tx: unsent(tx, turn)):
                if gate.ref in asked:
                    await _send_one(core, session, gate)
        except Exception:  # an answer must not be lost: it is tried again
            _log.exception("an answer cannot be given to turn %s now", turn)
            await core.clock.sleep(1.0)
            nudged.set()


async def _send_one(core: Core, session: Session, gate: Gate) -> None:
    answer = answer_of(core, gate)
    if answer is None:
        await core.write_with_retry(partial(ask_once_more, core=core, gate=gate, warning=gate_messages.SECRET_LOST))
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
        await core.write_with_retry(partial(ask_once_more, core=core, gate=gate, warning=bad.message))
        return
    except RuntimeTrouble as trouble:
        _log.warning("whether the answer to %s arrived is in doubt: %s", gate.code, trouble.message)
        return
    crash.point("gate.sent-not-taken")
    if not was_asked and gate.state is GateState.ANSWERED:  # one that expired stays that
        await core.write_with_retry(partial(void, core=core, gate=gate, why=gate_messages.GONE))
